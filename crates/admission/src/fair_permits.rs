use std::{
    collections::{HashMap, VecDeque},
    hash::Hash,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::{Duration, Instant},
};

use futures::future::BoxFuture;
use tokio::sync::oneshot;

/// What a client has used counts half after this time.
const HALF_LIFE: Duration = Duration::from_secs(1);
/// Less is forgotten.
const NEGLIGIBLE: Duration = Duration::from_micros(50);
/// Clients whose use is remembered. Beyond, all are equal again.
const REMEMBERED: usize = 1 << 16;

/// How many may work at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PermitBounds {
    pub total: usize,
    /// The share that one client cannot exceed. Below the total, so that there is always one for somebody else, unless permits are
    /// held for milliseconds.
    pub per_client: usize,
    /// Waiting requests of one client.
    pub waiting_per_client: usize,
    /// If all permits are held for longer than this, nobody waits for them any longer: those who hold them are stuck.
    pub stuck_after: Option<Duration>,
}

/// The client has as many waiting requests as it may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyWaiting;

/// A limited number of permits to work, shared fairly between clients: a permit that becomes free goes to the waiting client
/// that holds the fewest, and of several to the one that held permits for the shortest time lately.
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
    /// How long clients held permits lately.
    used: HashMap<K, Duration>,
    halved: Instant,
    /// When a permit was last taken or given back.
    moved: Instant,
    /// In the order of arrival; no entry is empty.
    waiting: HashMap<K, VecDeque<Waiting>>,
    /// Of the next one that waits.
    number: u64,
}

struct Waiting {
    number: u64,
    wake: oneshot::Sender<()>,
}

/// Permission to work, released when dropped.
pub struct Permit<K: Hash + Eq + Copy> {
    shared: Arc<Shared<K>>,
    client: K,
    since: Instant,
}

/// A place in the queue: given up when dropped, with the permit if it has come already.
pub(crate) struct Place<K: Hash + Eq + Copy> {
    shared: Arc<Shared<K>>,
    client: K,
    number: u64,
    woken: oneshot::Receiver<()>,
}

impl<K: Hash + Eq + Copy> FairPermits<K> {
    #[must_use]
    pub fn new(bounds: PermitBounds) -> Self {
        let now = Instant::now();
        let state = State {
            free: bounds.total.max(1),
            held: HashMap::new(),
            used: HashMap::new(),
            halved: now,
            moved: now,
            waiting: HashMap::new(),
            number: 0,
        };
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
            let mut place = None;
            std::future::poll_fn(|context| self.poll_acquire(client, &mut place, context)).await
        })
    }

    /// The same in pieces. `place` is None at first, and kept between the calls.
    pub(crate) fn poll_acquire(
        &self,
        client: K,
        place: &mut Option<Place<K>>,
        context: &mut Context<'_>,
    ) -> Poll<Result<Permit<K>, TooManyWaiting>> {
        let waiting = match place {
            Some(waiting) => waiting,
            None => match self.0.join(client) {
                Ok(None) => return Poll::Ready(Ok(self.permit(client))),
                Ok(Some(joined)) => place.insert(joined),
                Err(refused) => return Poll::Ready(Err(refused)),
            },
        };
        // The sender is dropped only with the queue, whose owner this is.
        let _ = std::task::ready!(Pin::new(&mut waiting.woken).poll(context));
        *place = None;
        Poll::Ready(Ok(self.permit(client)))
    }

    fn permit(&self, client: K) -> Permit<K> {
        Permit { shared: Arc::clone(&self.0), client, since: Instant::now() }
    }
}

impl<K: Hash + Eq + Copy> Clone for FairPermits<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
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
        if state.free == 0 && self.bounds.stuck_after.is_some_and(|stuck| state.moved.elapsed() > stuck) {
            state.free = self.bounds.total;
            self.hand_out(&mut state);
        }
        if state.free > 0 && state.held_by(&client) < self.bounds.per_client {
            state.take(client);
            return Ok(None);
        }
        let (wake, woken) = oneshot::channel();
        let number = state.number;
        let waiting = state.waiting.entry(client).or_default();
        if waiting.len() >= self.bounds.waiting_per_client {
            return Err(TooManyWaiting);
        }
        waiting.push_back(Waiting { number, wake });
        state.number += 1;
        Ok(Some(Place { shared: Arc::clone(self), client, number, woken }))
    }

    fn release(&self, client: K, used: Duration) {
        let mut state = self.state();
        state.give_back(client, self.bounds.total);
        state.count(client, used);
        self.hand_out(&mut state);
    }

    fn hand_out(&self, state: &mut State<K>) {
        while state.free > 0 {
            let Some((client, next)) = state.next(self.bounds.per_client) else { return };
            state.take(client);
            // One that gave up meanwhile got nothing.
            if next.wake.send(()).is_err() {
                state.give_back(client, self.bounds.total);
            }
        }
    }

    fn leave(&self, client: K, number: u64) {
        let mut state = self.state();
        let Some(waiting) = state.waiting.get_mut(&client) else { return };
        waiting.retain(|waiting| waiting.number != number);
        if waiting.is_empty() {
            state.waiting.remove(&client);
        }
    }
}

impl<K: Hash + Eq + Copy> State<K> {
    fn held_by(&self, client: &K) -> usize {
        self.held.get(client).copied().unwrap_or_default()
    }

    fn take(&mut self, client: K) {
        self.free -= 1;
        self.moved = Instant::now();
        *self.held.entry(client).or_default() += 1;
    }

    fn give_back(&mut self, client: K, total: usize) {
        // There are more for a while after all were stuck.
        self.free = (self.free + 1).min(total.max(1));
        self.moved = Instant::now();
        if let Some(held) = self.held.get_mut(&client) {
            *held -= 1;
            if *held == 0 {
                self.held.remove(&client);
            }
        }
    }

    fn count(&mut self, client: K, used: Duration) {
        if self.moved.saturating_duration_since(self.halved) > HALF_LIFE {
            self.halved = self.moved;
            self.used.retain(|_, used| {
                *used /= 2;
                *used > NEGLIGIBLE
            });
        }
        if self.used.len() >= REMEMBERED {
            self.used.clear();
        }
        *self.used.entry(client).or_default() += used;
    }

    /// The next request of the client that holds the fewest permits and used them least, if it is below its share.
    fn next(&mut self, per_client: usize) -> Option<(K, Waiting)> {
        let waiting = self.waiting.iter().filter_map(|(client, waiting)| {
            let used = self.used.get(client).copied().unwrap_or_default();
            Some((self.held_by(client), used, waiting.front()?.number, *client))
        });
        let allowed = waiting.filter(|(held, ..)| *held < per_client);
        let (.., client) = allowed.min_by_key(|(held, used, number, _)| (*held, *used, *number))?;
        let waiting = self.waiting.get_mut(&client)?;
        let next = waiting.pop_front();
        if waiting.is_empty() {
            self.waiting.remove(&client);
        }
        next.map(|next| (client, next))
    }
}

impl<K: Hash + Eq + Copy> Drop for Permit<K> {
    fn drop(&mut self) {
        self.shared.release(self.client, self.since.elapsed());
    }
}

impl<K: Hash + Eq + Copy> Drop for Place<K> {
    fn drop(&mut self) {
        // Closed first: then no permit can come any more.
        self.woken.close();
        match self.woken.try_recv() {
            Ok(()) => self.shared.release(self.client, Duration::ZERO),
            Err(_) => self.shared.leave(self.client, self.number),
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
        FairPermits::new(PermitBounds { total, per_client, waiting_per_client: 3, stuck_after: None })
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
