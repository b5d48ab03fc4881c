//! Fetches that are running: one for each NFT, few for each token, and few in total.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use domain::{Address, U256};
use tokio::{sync::watch, time::timeout};

/// A host that does not respond holds a slot for seconds, so one token gets only some of them.
const SLOTS: usize = 8;
const SLOTS_PER_TOKEN: usize = 2;

type Key = (Address, U256);
type Running<T> = HashMap<Key, watch::Receiver<Option<T>>>;

pub(super) struct InFlight<T> {
    running: Mutex<Running<T>>,
}

impl<T: Clone + Send + Sync + 'static> InFlight<T> {
    pub(super) fn new() -> Self {
        Self { running: Mutex::default() }
    }

    /// Joins the fetch of this NFT, or starts it. It continues if the caller stops waiting. None if all slots are taken, or
    /// the result takes longer than `patience`.
    pub(super) async fn run(
        self: &Arc<Self>,
        key: Key,
        patience: Duration,
        fetch: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let mut result = self.join_or_start(key, fetch)?;
        let finished = timeout(patience, result.wait_for(Option::is_some)).await.ok()?;
        // An error means that the fetch panicked.
        finished.ok()?.clone()
    }

    fn join_or_start(
        self: &Arc<Self>,
        key: Key,
        fetch: impl Future<Output = T> + Send + 'static,
    ) -> Option<watch::Receiver<Option<T>>> {
        let mut running = self.lock();
        if let Some(result) = running.get(&key) {
            return Some(result.clone());
        }
        if running.len() >= SLOTS || running.keys().filter(|(token, _)| *token == key.0).count() >= SLOTS_PER_TOKEN {
            return None;
        }
        let (sender, result) = watch::channel(None);
        running.insert(key, result.clone());
        let slot = Slot { of: Arc::clone(self), key };
        tokio::spawn(async move {
            let done = fetch.await;
            // Free before it is announced, so that whoever waited can start the next one.
            drop(slot);
            sender.send_replace(Some(done));
        });
        Some(result)
    }

    fn lock(&self) -> MutexGuard<'_, Running<T>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Freed when dropped, also if the fetch panics.
struct Slot<T: Clone + Send + Sync + 'static> {
    of: Arc<InFlight<T>>,
    key: Key,
}

impl<T: Clone + Send + Sync + 'static> Drop for Slot<T> {
    fn drop(&mut self) {
        self.of.lock().remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::pending,
        sync::atomic::{AtomicUsize, Ordering},
    };

    use super::*;

    const LONG: Duration = Duration::from_secs(60);
    const NOW: Duration = Duration::ZERO;

    fn key(token: u8, id: u64) -> Key {
        (Address::repeat_byte(token), U256::from(id))
    }

    #[tokio::test]
    async fn requests_for_the_same_nft_share_one_fetch() {
        let (in_flight, fetches) = (Arc::new(InFlight::new()), Arc::new(AtomicUsize::new(0)));
        let (release, released) = watch::channel(false);
        let fetch = || {
            let (fetches, mut released) = (Arc::clone(&fetches), released.clone());
            in_flight.run(key(1, 1), LONG, async move {
                fetches.fetch_add(1, Ordering::Relaxed);
                released.wait_for(|released| *released).await.unwrap();
                7
            })
        };
        let (one, two, ()) = tokio::join!(fetch(), fetch(), async {
            release.send_replace(true);
        });
        assert_eq!((one, two, fetches.load(Ordering::Relaxed)), (Some(7), Some(7), 1));
        assert!(in_flight.lock().is_empty());
    }

    #[tokio::test]
    async fn a_token_and_all_tokens_have_a_limited_number_of_slots() {
        let in_flight = Arc::new(InFlight::<u8>::new());
        for token in 1..=4 {
            for id in 0..5 {
                assert_eq!(in_flight.run(key(token, id), NOW, pending()).await, None);
            }
            assert_eq!(in_flight.lock().len(), usize::from(token) * SLOTS_PER_TOKEN);
        }
        assert_eq!(in_flight.run(key(9, 0), LONG, async { 1 }).await, None, "without waiting");
        assert_eq!(in_flight.lock().len(), SLOTS);
    }

    #[tokio::test]
    async fn a_fetch_that_panics_frees_its_slot() {
        let in_flight = Arc::new(InFlight::<u8>::new());
        let panicking = async { panic!("for the test") };
        assert_eq!(in_flight.run(key(1, 1), LONG, panicking).await, None);
        assert_eq!(in_flight.run(key(1, 1), LONG, async { 1 }).await, Some(1));
    }
}
