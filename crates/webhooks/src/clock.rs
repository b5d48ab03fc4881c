use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use domain::UnixMillis;

/// The time since 1970. A clock set before that is as wrong as one set at it.
///
/// Timers go by the runtime's clock, which a simulation stops and moves on by itself: this one goes with it. Elsewhere the
/// two are the same, and this is the system's time.
pub(crate) fn now() -> UnixMillis {
    let (real, timers) = (Instant::now(), tokio::time::Instant::now().into_std());
    let system = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let ahead = timers.saturating_duration_since(real);
    let behind = real.saturating_duration_since(timers);
    millis((system + ahead).saturating_sub(behind))
}

pub(crate) fn millis(duration: Duration) -> UnixMillis {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
