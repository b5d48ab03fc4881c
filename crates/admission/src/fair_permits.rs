use std::{
    collections::{HashMap, VecDeque},
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::future::BoxFuture;
use tokio::sync::oneshot;

/// How many may work at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PermitBounds {
    pub total: usize,
    /// The share that one client cannot exceed. Below the total, so that there is always one for somebody else.
    pub per_client: usize,
    /// Waiting requests of one client.
    pub waiting_per_client: usize,
}

/// The client has as many waiting requests as it may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyWaiting;

/// A limited number of permits to work, shared fairly between clients: a permit that becomes free goes to the waiting client
/// that holds the fewest.
///
/// A permit is held for one unit of work, never while a client reads: then no client can hold up others by being slow.
pub struct FairPermits<K: Hash + Eq + Copy>(Arc<Shared<K>>);

struct Shared<K> {
    bounds: PermitBounds,
    state: Mutex<State<K>>,
}

struct State<K> {
    free: usize,
    held: HashMap<K, usize>,
    /// In the order of arrival.
    waiting: VecDeque<Waiting<K>>,
}

struct Waiting<K> {
    client: K,
    wake: oneshot::Sender<()>,
}

/// Permission to work, released when dropped.
pub struct Permit<K: Hash + Eq + Copy> {
    shared: Arc<Shared<K>>,
    client: K,
}

/// A place in the queue: given up when dropped, with the permit if it has come already.
struct Place<K: Hash + Eq + Copy> {
    shared: Arc<Shared<K>>,
    client: K,
    woken: oneshot::Receiver<()>,
}

impl<K: Hash + Eq + Copy> FairPermits<K> {
    #[must_use]
    pub fn new(bounds: PermitBounds) -> Self {
        let state = State { free: bounds.total.max(1), held: HashMap::new(), waiting: VecDeque::new() };
        Self(Arc::new(Shared { bounds, state: Mutex::new(state) }))
    }

    /// Waits for a permit.
    ///
    /// # Errors
    /// If too many requests of the client wait already.
    pub fn acquire(&self, client: K) -> BoxFuture<'_, Result<Permit<K>, TooManyWaiting>>
    where
        K: Send + Sync,
    {
        Box::pin(async move {
            let Some(mut place) = self.0.join(client)? else { return Ok(self.permit(client)) };
            // The sender is dropped only with the queue, whose owner this is.
            let _ = (&mut place.woken).await;
            Ok(self.permit(client))
        })
    }

    fn permit(&self, client: K) -> Permit<K> {
        Permit { shared: Arc::clone(&self.0), client }
    }
}

impl<K: Hash + Eq + Copy> Shared<K> {
    fn state(&self) -> MutexGuard<'_, State<K>> {
        // No code that may panic runs while the counts are inconsistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// None if the client has a permit now.
    fn join(self: &Arc<Self>, client: K) -> Result<Option<Place<K>>, TooManyWaiting> {
        let mut state = self.state();
        if state.free > 0 && state.held_by(&client) < self.bounds.per_client {
            state.take(client);
            return Ok(None);
        }
        state.waiting.retain(|waiting| !waiting.wake.is_closed());
        if state.waiting.iter().filter(|waiting| waiting.client == client).count() >= self.bounds.waiting_per_client {
            return Err(TooManyWaiting);
        }
        let (wake, woken) = oneshot::channel();
        state.waiting.push_back(Waiting { client, wake });
        Ok(Some(Place { shared: Arc::clone(self), client, woken }))
    }

    fn release(&self, client: K) {
        let mut state = self.state();
        state.give_back(client);
        while state.free > 0 {
            let Some(next) = state.next(self.bounds.per_client) else { return };
            let client = next.client;
            state.take(client);
            // One that gave up meanwhile got nothing.
            if next.wake.send(()).is_err() {
                state.give_back(client);
            }
        }
    }
}

impl<K: Hash + Eq + Copy> State<K> {
    fn held_by(&self, client: &K) -> usize {
        self.held.get(client).copied().unwrap_or_default()
    }

    fn take(&mut self, client: K) {
        self.free -= 1;
        *self.held.entry(client).or_default() += 1;
    }

    fn give_back(&mut self, client: K) {
        self.free += 1;
        if let Some(held) = self.held.get_mut(&client) {
            *held -= 1;
            if *held == 0 {
                self.held.remove(&client);
            }
        }
    }

    /// The first request of the client that holds the fewest permits, if it is below its share.
    fn next(&mut self, per_client: usize) -> Option<Waiting<K>> {
        let waiting = self.waiting.iter().enumerate().map(|(index, waiting)| (self.held_by(&waiting.client), index));
        let (_, index) = waiting.filter(|(held, _)| *held < per_client).min()?;
        self.waiting.remove(index)
    }
}

impl<K: Hash + Eq + Copy> Drop for Permit<K> {
    fn drop(&mut self) {
        self.shared.release(self.client);
    }
}

impl<K: Hash + Eq + Copy> Drop for Place<K> {
    fn drop(&mut self) {
        // Closed first: then no permit can come any more.
        self.woken.close();
        if self.woken.try_recv().is_ok() {
            self.shared.release(self.client);
        }
    }
}

impl<K: Hash + Eq + Copy> std::fmt::Debug for FairPermits<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FairPermits").field("bounds", &self.0.bounds).finish_non_exhaustive()
    }
}

impl<K: Hash + Eq + Copy> std::fmt::Debug for Permit<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Permit").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permits(total: usize, per_client: usize) -> FairPermits<u32> {
        FairPermits::new(PermitBounds { total, per_client, waiting_per_client: 3 })
    }

    fn counts(permits: &FairPermits<u32>) -> (usize, usize) {
        let state = permits.0.state();
        (state.free, state.held.values().sum())
    }

    #[tokio::test]
    async fn one_client_cannot_take_all_permits() {
        let permits = permits(8, 2);
        let held = [permits.acquire(1).await.unwrap(), permits.acquire(1).await.unwrap()];
        let mut third = permits.acquire(1);
        assert!(poll_once(&mut third).is_none(), "it has its share");
        let other = permits.acquire(2).await.unwrap();
        drop(held);
        assert!(poll_once(&mut third).is_some());
        drop((third, other));
        assert_eq!(counts(&permits), (8, 0));
    }

    #[tokio::test]
    async fn a_free_permit_goes_to_the_client_with_the_fewest() {
        let permits = permits(3, 3);
        let mut held: Vec<_> = Vec::new();
        for _ in 0..3 {
            held.push(permits.acquire(1).await.unwrap());
        }
        let mut greedy: Vec<_> = (0..3).map(|_| permits.acquire(1)).collect();
        assert!(greedy.iter_mut().all(|one| poll_once(one).is_none()));
        let mut late = permits.acquire(2);
        assert!(poll_once(&mut late).is_none());
        held.pop();
        let late = poll_once(&mut late).expect("although three requests of the other client came before");
        assert!(greedy.iter_mut().all(|one| poll_once(one).is_none()));
        drop(greedy);
        drop((late, held));
        assert_eq!(counts(&permits), (3, 0));
    }

    #[tokio::test]
    async fn who_gives_up_leaves_no_permit_behind() {
        let permits = permits(1, 1);
        let held = permits.acquire(1).await.unwrap();
        let mut gone = permits.acquire(2);
        let mut next = permits.acquire(3);
        assert!(poll_once(&mut gone).is_none() && poll_once(&mut next).is_none());
        drop(held);
        // It was woken, but it does not look any more.
        drop(gone);
        assert!(poll_once(&mut next).is_some());
        drop(next);
        assert_eq!(counts(&permits), (1, 0));
    }

    #[tokio::test]
    async fn few_requests_of_a_client_wait() {
        let permits = permits(1, 1);
        let _held = permits.acquire(1).await.unwrap();
        let mut waiting: Vec<_> = (0..3).map(|_| permits.acquire(2)).collect();
        assert!(waiting.iter_mut().all(|one| poll_once(one).is_none()));
        assert_eq!(permits.acquire(2).await.err(), Some(TooManyWaiting));
        waiting.pop();
        assert!(poll_once(&mut permits.acquire(2)).is_none(), "one gave up");
        assert!(poll_once(&mut permits.acquire(3)).is_none(), "others wait on their own");
    }

    /// The result of a future that is polled once.
    fn poll_once<T>(future: &mut BoxFuture<'_, Result<T, TooManyWaiting>>) -> Option<T> {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match future.as_mut().poll(&mut context) {
            std::task::Poll::Ready(done) => Some(done.unwrap()),
            std::task::Poll::Pending => None,
        }
    }
}
