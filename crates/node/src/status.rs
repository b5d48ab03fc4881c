use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::RefusedBlock;
use tokio::time::Instant;

/// How the client gets on with its node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeStatus {
    /// Whether the newest request was answered. False until the first one was.
    pub reachable: bool,
    /// The endpoint in use, without its secrets.
    pub endpoint: String,
    /// How many requests may be under way at that endpoint now.
    pub concurrency_limit: usize,
    /// Requests a second that this endpoint takes, as far as it has refused more; None: no limit is known.
    pub requests_per_second: Option<u64>,
    /// Requests sent since the start, a batch counted once.
    pub requests: u64,
    /// Calls that had to be made again.
    pub retries: u64,
    /// Answers that did not stand the checks.
    pub refused_answers: u64,
    /// The block that was refused last, until a node gives it as it ought to be.
    pub refused_block: Option<RefusedBlock>,
    /// Blocks that were taken although a part of them could not be proven.
    pub unproven_blocks: u64,
}

/// What is counted while the client works.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) reachable: AtomicBool,
    pub(crate) requests: AtomicU64,
    pub(crate) retries: AtomicU64,
    pub(crate) refused_answers: AtomicU64,
    /// When the oldest request was sent since the last answer of any endpoint.
    unanswered_since: Mutex<Option<Instant>>,
}

impl Counters {
    pub(crate) fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn asked(&self) {
        Self::count(&self.requests);
        self.unanswered_since.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(Instant::now);
    }

    pub(crate) fn answered(&self) {
        self.reachable.store(true, Ordering::Relaxed);
        *self.unanswered_since.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    pub(crate) fn unanswered_for(&self) -> Option<Duration> {
        self.unanswered_since.lock().unwrap_or_else(PoisonError::into_inner).map(|since| since.elapsed())
    }
}
