use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use super::CompileError;

/// CPU time for all compilations of one verification.
#[derive(Debug)]
pub(crate) struct CpuBudget {
    limit: Duration,
    /// Microseconds.
    used: AtomicU64,
}

impl CpuBudget {
    pub(crate) fn new(limit: Duration) -> Self {
        Self { limit, used: AtomicU64::new(0) }
    }

    pub(crate) fn left(&self) -> Duration {
        self.limit.saturating_sub(Duration::from_micros(self.used.load(Ordering::Relaxed)))
    }

    pub(super) fn charge(&self, time: Duration) {
        self.used.fetch_add(u64::try_from(time.as_micros()).unwrap_or(u64::MAX >> 1), Ordering::Relaxed);
    }

    pub(super) fn exhausted(&self) -> CompileError {
        CompileError::BudgetExhausted { limit: self.limit }
    }
}
