//! The time since 1970. No other crate reads the system clock: the lint `disallowed_methods` says so.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The time since 1970; zero if the clock is set to an earlier time.
#[must_use]
pub fn now() -> Duration {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[must_use]
pub fn seconds() -> u64 {
    now().as_secs()
}

#[must_use]
pub fn millis() -> u64 {
    u64::try_from(now().as_millis()).unwrap_or(u64::MAX)
}
