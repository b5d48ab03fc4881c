use std::time::{Duration, SystemTime, UNIX_EPOCH};

use domain::UnixMillis;

/// The time since 1970. A clock set before that is as wrong as one set at it.
pub(crate) fn now() -> UnixMillis {
    millis(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

pub(crate) fn millis(duration: Duration) -> UnixMillis {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
