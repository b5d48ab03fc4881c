//! Runs work that may block on the disk without stalling the async runtime.

use std::sync::atomic::{AtomicUsize, Ordering};

use store::{BoxError, StoreError};
use tokio::{runtime::Handle, sync::oneshot};

/// Runtime threads that reads never occupy, so that connections are accepted and health checks answered while the disk
/// stalls.
const RESERVED_THREADS: usize = 2;

/// Runs `work` on the blocking pool.
pub(crate) async fn run_blocking<T, E>(work: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<T, E>
where
    T: Send + 'static,
    E: From<StoreError> + Send + 'static,
{
    let (done, result) = oneshot::channel();
    // The receiver is gone if the caller no longer waits.
    run_task(Box::new(move || drop(done.send(work())))).await?;
    result.await.map_err(|stopped| StoreError::Backend(BoxError::from(stopped)))?
}

/// One kind of task for all work: a task of its own type would be compiled for each closure.
async fn run_task(work: Box<dyn FnOnce() + Send>) -> Result<(), StoreError> {
    tokio::task::spawn_blocking(work).await.map_err(|stopped| StoreError::Backend(BoxError::from(stopped)))
}

/// Limits how many reads run directly on runtime threads.
#[derive(Debug, Default)]
pub(crate) struct ReadSlots {
    taken: AtomicUsize,
}

impl ReadSlots {
    /// Takes a slot until it is dropped; None if too many runtime threads are reading already.
    pub(crate) fn take(&self) -> Option<ReadSlot<'_>> {
        let threads = Handle::try_current().map_or(0, |runtime| runtime.metrics().num_workers());
        self.take_of(threads.saturating_sub(RESERVED_THREADS))
    }

    fn take_of(&self, slots: usize) -> Option<ReadSlot<'_>> {
        let slot = ReadSlot(self);
        // Dropped again at once if no slot is free.
        (self.taken.fetch_add(1, Ordering::AcqRel) < slots).then_some(slot)
    }
}

pub(crate) struct ReadSlot<'a>(&'a ReadSlots);

impl Drop for ReadSlot<'_> {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_slot_is_free_again() {
        let slots = ReadSlots::default();
        let first = slots.take_of(2);
        let second = slots.take_of(2);
        assert!(first.is_some() && second.is_some());
        assert!(slots.take_of(2).is_none());
        drop(first);
        assert!(slots.take_of(2).is_some());
    }

    #[tokio::test]
    async fn a_runtime_with_few_threads_has_no_read_slots() {
        assert!(ReadSlots::default().take().is_none());
    }
}
