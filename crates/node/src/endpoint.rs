//! One endpoint of a node, and the choice among several: connections, limits, health and failover.

mod batch_size;
mod batches;
pub(crate) mod breaker;
pub(crate) mod call;
mod capabilities;
mod chain;
pub(crate) mod failover;
mod failure_share;
pub(crate) mod health;
mod hedging;
pub(crate) mod jitter;
pub(crate) mod lane;
mod limiter;
pub(crate) mod metrics;
mod rate;
mod request_errors;
pub(crate) mod retry;
mod silence;
pub(crate) mod status;
pub(crate) mod survey;
pub(crate) mod upstream;
