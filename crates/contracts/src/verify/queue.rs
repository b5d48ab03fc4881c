use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Lets so many in at once and so many wait, first come first served.
#[derive(Debug)]
pub(super) struct Queue {
    places: Arc<Semaphore>,
    turns: Arc<Semaphore>,
}

/// A turn. It ends when it is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    _place: OwnedSemaphorePermit,
    _turn: OwnedSemaphorePermit,
}

impl Queue {
    pub(super) fn new(at_once: usize, waiting: usize) -> Self {
        let at_once = at_once.max(1);
        Self { places: Arc::new(Semaphore::new(at_once + waiting)), turns: Arc::new(Semaphore::new(at_once)) }
    }

    /// Waits for a turn; None where too many wait already.
    pub(super) async fn enter(&self) -> Option<Turn> {
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        let turn = Arc::clone(&self.turns).acquire_owned().await.ok()?;
        Some(Turn { _place: place, _turn: turn })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn so_many_at_once_so_many_waiting_and_no_more() {
        let queue = Arc::new(Queue::new(1, 2));
        let first = queue.enter().await.unwrap();
        let waiting: Vec<_> = (0..2)
            .map(|_| {
                let queue = Arc::clone(&queue);
                tokio::spawn(async move { queue.enter().await })
            })
            .collect();
        tokio::task::yield_now().await;
        assert!(queue.enter().await.is_none(), "a third one does not wait");
        drop(first);
        for waited in waiting {
            drop(waited.await.unwrap().expect("a turn"));
        }
        assert!(queue.enter().await.is_some());
    }
}
