use std::time::{Duration, SystemTime, UNIX_EPOCH};

use domain::UnixMillis;

/// The time since 1970; zero if the clock is set to an earlier time.
pub(crate) fn unix_now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

pub(crate) fn unix_millis_now() -> UnixMillis {
    u64::try_from(unix_now().as_millis()).unwrap_or(u64::MAX)
}
