use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::{Duration, Instant},
};

use domain::UnixMillis;

/// Milliseconds to add to the system time.
static CORRECTION: AtomicI64 = AtomicI64::new(0);
/// Smaller differences may be due to the duration of the query.
const MAX_IGNORED: i64 = 1_000;
/// Differences from here on are logged.
const MIN_REPORTED: i64 = 10_000;

/// Uses the clock of the database, which is ahead of this machine's by some milliseconds: processes that send webhooks share
/// the times at which messages are due, and receivers reject signatures of another time.
pub fn correct_clock(ahead: i64) {
    let correction = if ahead.abs() < MAX_IGNORED { 0 } else { ahead };
    let before = CORRECTION.swap(correction, Ordering::Relaxed);
    if correction.abs() >= MIN_REPORTED && (correction - before).abs() >= MIN_REPORTED {
        tracing::warn!(
            seconds = -correction / 1_000,
            "the clock of this machine differs from the database's, which is used for webhooks"
        );
    }
}

/// The current Unix time; 0 if the system clock is set before 1970.
///
/// Follows the runtime's clock, which a simulation pauses and advances. Outside of simulations it equals the system time.
pub(crate) fn now() -> UnixMillis {
    let (real, timers) = (Instant::now(), tokio::time::Instant::now().into_std());
    let system = unix_time::now();
    let ahead = timers.saturating_duration_since(real);
    let behind = real.saturating_duration_since(timers);
    millis((system + ahead).saturating_sub(behind)).saturating_add_signed(CORRECTION.load(Ordering::Relaxed))
}

pub(crate) fn millis(duration: Duration) -> UnixMillis {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
