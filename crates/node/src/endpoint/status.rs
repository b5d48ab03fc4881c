use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

use crate::{endpoint::metrics::MethodMetrics, verify::RejectedBlock};

/// Status and counters of the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeStatus {
    /// Whether the latest request was answered. False until the first one was.
    pub reachable: bool,
    /// The endpoint in use, without its secrets.
    pub endpoint: String,
    /// Current limit of concurrent requests at that endpoint.
    pub concurrency_limit: usize,
    /// Learned rate limit of that endpoint; None: no limit is known.
    pub requests_per_second: Option<u64>,
    /// Requests sent since the start, a batch counted once.
    pub requests: u64,
    /// Calls that were retried.
    pub retries: u64,
    /// Responses that failed the checks.
    pub rejected_responses: u64,
    /// The last block that was rejected, until a node returns a valid one.
    pub rejected_block: Option<RejectedBlock>,
    /// Blocks that were accepted although a part of them could not be proven.
    pub unproven_blocks: u64,
}

/// Status and calls of one endpoint.
#[derive(Debug, Clone)]
pub struct EndpointStatus {
    /// Without its secrets, so two endpoints may have the same name.
    pub name: String,
    /// Neither suspended nor of another chain.
    pub is_up: bool,
    /// Whether its head lags well behind another endpoint.
    pub is_behind: bool,
    pub calls: Vec<(&'static str, Arc<MethodMetrics>)>,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) reachable: AtomicBool,
    pub(crate) requests: AtomicU64,
    pub(crate) retries: AtomicU64,
    pub(crate) rejected_responses: AtomicU64,
    /// When the oldest request since the last response of any endpoint was sent.
    silent_since: Mutex<Option<Instant>>,
}

impl Counters {
    pub(crate) fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn record_request(&self) {
        Self::count(&self.requests);
        self.silent_since.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(Instant::now);
    }

    pub(crate) fn record_response(&self) {
        self.reachable.store(true, Ordering::Relaxed);
        *self.silent_since.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    pub(crate) fn silent_for(&self) -> Option<Duration> {
        self.silent_since.lock().unwrap_or_else(PoisonError::into_inner).map(|since| since.elapsed())
    }
}
