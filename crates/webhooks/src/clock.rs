use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use domain::UnixMillis;

/// The current Unix time; 0 if the system clock is set before 1970.
///
/// Follows the runtime's clock, which a simulation pauses and advances. Outside of simulations it equals the system time.
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
