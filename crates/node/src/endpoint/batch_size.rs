//! How many calls a node takes in one batch.

use std::sync::atomic::{AtomicUsize, Ordering};

const MAX_CALLS: usize = 50;
/// Accepted batches of the current size after which a larger one is tried again: the error may have had another cause.
const ACCEPTED: usize = 1_000;

/// Halved whenever the node rejects a batch, and doubled again after many accepted ones.
#[derive(Debug)]
pub(crate) struct BatchSize {
    size: AtomicUsize,
    accepted: AtomicUsize,
}

impl Default for BatchSize {
    fn default() -> Self {
        Self { size: AtomicUsize::new(MAX_CALLS), accepted: AtomicUsize::new(0) }
    }
}

impl BatchSize {
    /// The most calls in one batch. 1: no batches.
    pub(crate) fn get(&self) -> usize {
        self.size.load(Ordering::Relaxed)
    }

    /// A batch of `calls` was rejected. Returns the new size.
    pub(crate) fn rejected(&self, calls: usize) -> usize {
        let smaller = (calls / 2).max(1);
        self.accepted.store(0, Ordering::Relaxed);
        self.size.fetch_min(smaller, Ordering::Relaxed).min(smaller)
    }

    /// A batch was accepted, or calls were sent one by one. One below the current size proves nothing.
    pub(crate) fn accepted(&self, calls: usize) {
        let size = self.get();
        if size >= MAX_CALLS || calls < size || self.accepted.fetch_add(1, Ordering::Relaxed) + 1 < ACCEPTED {
            return;
        }
        self.accepted.store(0, Ordering::Relaxed);
        self.size.fetch_max((size * 2).min(MAX_CALLS), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rejected_size_is_halved_and_tried_again_after_many_accepted_batches() {
        let batch = BatchSize::default();
        assert_eq!(batch.rejected(50), 25);
        assert_eq!(batch.rejected(25), 12);
        (0..10 * ACCEPTED).for_each(|_| batch.accepted(3));
        assert_eq!(batch.get(), 12, "shorter batches prove nothing");
        (0..ACCEPTED).for_each(|_| batch.accepted(12));
        assert_eq!(batch.get(), 24);
        batch.accepted(24);
        assert_eq!(batch.rejected(24), 12);
        (0..10 * ACCEPTED).for_each(|_| batch.accepted(50));
        assert_eq!(batch.get(), MAX_CALLS);
    }

    #[test]
    fn a_node_without_batches_is_asked_again_now_and_then() {
        let batch = BatchSize::default();
        while batch.get() > 1 {
            batch.rejected(batch.get());
        }
        (0..ACCEPTED).for_each(|_| batch.accepted(1));
        assert_eq!(batch.get(), 2);
    }
}
