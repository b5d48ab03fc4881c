//! Traffic that goes on by the clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use super::Traffic;

/// Puts transactions into the pool and mines a block of them at every interval, until told to stop.
pub async fn run(mut traffic: Traffic, interval: Duration, cancel: CancellationToken) {
    let mut ticks = tokio::time::interval(interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = cancel.cancelled() => return,
            _ = ticks.tick() => {}
        }
        // A block without these transactions is better than a chain that stands still: the next
        // step starts from whatever the chain then holds.
        if let Err(error) = traffic.step() {
            tracing::warn!(error = &error as &dyn std::error::Error, "no traffic for this block");
        }
        traffic.chain.mine(Some(seconds_now()));
    }
}

fn seconds_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map(|elapsed| elapsed.as_secs()).unwrap_or_default()
}
