//! Work that may wait for the disk, done where waiting does no harm.

use std::sync::atomic::{AtomicUsize, Ordering};

use store::{BoxError, StoreError};
use tokio::runtime::Handle;

/// Threads of the runtime that reads never take: so that, whatever the disk does, connections are accepted and health is
/// told.
const LEFT_FREE: usize = 2;

/// Runs something on a thread that may block.
pub(crate) async fn aside<T, E>(work: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<T, E>
where
    T: Send + 'static,
    E: From<StoreError> + Send + 'static,
{
    tokio::task::spawn_blocking(work).await.map_err(|stopped| StoreError::Backend(BoxError::from(stopped)))?
}

/// Places for reads on the threads of the runtime itself.
#[derive(Debug, Default)]
pub(crate) struct ReadingPlaces {
    taken: AtomicUsize,
}

impl ReadingPlaces {
    /// A place, for as long as it is held; None where too many of the threads that serve are reading already.
    pub(crate) fn take(&self) -> Option<Place<'_>> {
        let threads = Handle::try_current().map_or(0, |runtime| runtime.metrics().num_workers());
        self.take_of(threads.saturating_sub(LEFT_FREE))
    }

    fn take_of(&self, places: usize) -> Option<Place<'_>> {
        let place = Place(self);
        // Given back at once where there was none.
        (self.taken.fetch_add(1, Ordering::AcqRel) < places).then_some(place)
    }
}

pub(crate) struct Place<'a>(&'a ReadingPlaces);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_free_again_when_its_holder_has_gone() {
        let places = ReadingPlaces::default();
        let first = places.take_of(2);
        let second = places.take_of(2);
        assert!(first.is_some() && second.is_some());
        assert!(places.take_of(2).is_none());
        drop(first);
        assert!(places.take_of(2).is_some());
    }

    #[tokio::test]
    async fn a_runtime_with_few_threads_has_no_place_for_reads() {
        assert!(ReadingPlaces::default().take().is_none());
    }
}
