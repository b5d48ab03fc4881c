//! Idle compiler processes, kept for the next source of their version. Each uses about 200 MB, so their number, memory and
//! idle time are limited.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::{Duration, Instant},
};

use super::worker::Worker;

/// Memory assumed for a worker if it cannot be measured.
const ASSUMED_BYTES: u64 = 256 << 20;

/// Limits of idle workers.
#[derive(Debug, Clone, Copy)]
pub struct IdleLimits {
    pub workers: usize,
    /// Memory of all idle workers.
    pub bytes: u64,
    pub time: Duration,
}

impl Default for IdleLimits {
    fn default() -> Self {
        Self { workers: 3, bytes: 1 << 30, time: Duration::from_secs(300) }
    }
}

#[derive(Debug)]
pub(super) struct IdleWorkers {
    limits: IdleLimits,
    waiting: Arc<Mutex<Waiting>>,
}

#[derive(Debug, Default)]
struct Waiting {
    /// Oldest first.
    workers: Vec<Idle>,
    /// Whether the expiry task is running.
    expiring: bool,
}

#[derive(Debug)]
struct Idle {
    worker: Worker,
    since: Instant,
    bytes: u64,
}

impl IdleWorkers {
    pub(super) fn new(limits: IdleLimits) -> Self {
        Self { limits, waiting: Arc::default() }
    }

    /// An idle worker that has loaded this compiler.
    pub(super) fn take(&self, soljson: &Path) -> Option<Worker> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.workers.retain_mut(|idle| idle.worker.is_running());
        let index = waiting.workers.iter().rposition(|idle| idle.worker.soljson() == soljson)?;
        Some(waiting.workers.remove(index).worker)
    }

    /// Adds a worker and evicts the oldest ones over the limits. A dropped worker is terminated.
    pub(super) fn put(&self, worker: Worker) {
        let bytes = worker.resident_bytes().unwrap_or(ASSUMED_BYTES);
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if bytes > self.limits.bytes || self.limits.workers == 0 {
            return;
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.workers.push(Idle { worker, since: Instant::now(), bytes });
        while waiting.workers.len() > self.limits.workers || waiting.bytes() > self.limits.bytes {
            waiting.workers.remove(0);
        }
        if !waiting.expiring {
            waiting.expiring = true;
            runtime.spawn(expire(Arc::downgrade(&self.waiting), self.limits.time));
        }
    }

    /// The process ids of idle workers, for tests.
    #[cfg(test)]
    pub(super) fn processes(&self) -> Vec<u32> {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.workers.iter().map(|idle| idle.worker.process()).collect()
    }
}

impl Waiting {
    fn bytes(&self) -> u64 {
        self.workers.iter().map(|idle| idle.bytes).sum()
    }
}

/// Terminates workers that have been idle too long; returns when none is left.
async fn expire(waiting: Weak<Mutex<Waiting>>, time: Duration) {
    loop {
        let next = {
            let Some(waiting) = waiting.upgrade() else { return };
            let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.workers.retain(|idle| idle.since.elapsed() < time);
            let Some(oldest) = waiting.workers.first() else {
                waiting.expiring = false;
                return;
            };
            oldest.since + time
        };
        tokio::time::sleep_until(next.into()).await;
    }
}
