//! Continuous traffic in real time.

use std::time::Duration;

use futures::future::BoxFuture;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use super::Traffic;

/// Submits transactions and mines a block at every interval, until cancelled.
pub fn run(mut traffic: Traffic, interval: Duration, cancel: CancellationToken) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let mut ticks = tokio::time::interval(interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = cancel.cancelled() => return,
                _ = ticks.tick() => {}
            }
            // An empty block is better than a stalled chain; the next step starts from the then current
            // state.
            if let Err(error) = traffic.step() {
                tracing::warn!(error = &error as &dyn std::error::Error, "cannot generate traffic for this block");
            }
            traffic.chain.mine(Some(unix_time::seconds()));
        }
    })
}
