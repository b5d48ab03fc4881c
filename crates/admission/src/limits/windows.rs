use std::{
    collections::{HashMap, VecDeque},
    hash::{BuildHasher, Hash, RandomState},
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::request_log::{Moment, RequestLog};

/// Many, so that two requests rarely wait for the same lock.
const SHARDS: usize = 64;
/// Logs checked for expiry when one is added: more than one, so that the table shrinks after a burst of clients.
const CHECKED: usize = 2;
/// Logs checked for expiry before a table is considered full.
const CHECKED_WHEN_FULL: usize = 8;

/// The maximum number of logs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Callers that have their own log.
    pub(crate) own: usize,
    /// Logs shared by all other callers.
    pub(crate) shared: usize,
}

/// The request logs of many callers, in bounded memory.
///
/// A log is dropped only once all its requests have expired, so a flood of other clients cannot reset a caller's limit. If
/// the table is full, a caller shares a log with others, which is stricter than its own, never laxer. Once there is room,
/// the caller's own log starts as a copy of the shared one.
pub(crate) struct Windows<K> {
    shards: Box<[Mutex<Shard<K>>]>,
    shared: Box<[Mutex<RequestLog>]>,
    /// Randomly seeded, so that a caller cannot choose which log it shares.
    hasher: RandomState,
}

struct Shard<K> {
    logs: HashMap<K, RequestLog>,
    /// Every key of `logs` once, in the order in which they are checked for expiry.
    to_check: VecDeque<K>,
    capacity: usize,
}

impl<K: Hash + Eq + Copy> Windows<K> {
    pub(crate) fn new(bounds: Bounds) -> Self {
        let capacity = bounds.own.div_ceil(SHARDS);
        let shard = || Mutex::new(Shard { logs: HashMap::new(), to_check: VecDeque::new(), capacity });
        Self {
            shards: (0..SHARDS).map(|_| shard()).collect(),
            shared: (0..bounds.shared.max(1)).map(|_| Mutex::default()).collect(),
            hasher: RandomState::new(),
        }
    }

    /// Calls `decide` with the log of a caller, under its lock.
    pub(crate) fn with<R>(&self, key: K, now: Moment, decide: impl FnOnce(&mut RequestLog) -> R) -> R {
        let hash = usize::try_from(self.hasher.hash_one(key) >> 1).unwrap_or(0);
        let mut shard = self.shard(hash);
        if let Some(log) = shard.logs.get_mut(&key) {
            return decide(log);
        }
        shard.drop_expired(CHECKED, now);
        if shard.is_full() {
            shard.drop_expired(CHECKED_WHEN_FULL, now);
        }
        #[expect(
            clippy::indexing_slicing,
            reason = "there is at least one, and the index is a remainder of their number"
        )]
        let mut shared = lock(&self.shared[hash / SHARDS % self.shared.len()]);
        shared.drop_expired(now);
        if shard.is_full() {
            return decide(&mut shared);
        }
        // Requests in the shared log may be this caller's.
        let own = shared.clone();
        drop(shared);
        shard.to_check.push_back(key);
        decide(shard.logs.entry(key).or_insert(own))
    }

    /// Reads the log of a caller without creating one.
    pub(crate) fn peek<R>(&self, key: K, read: impl FnOnce(&mut RequestLog) -> R) -> R {
        let hash = usize::try_from(self.hasher.hash_one(key) >> 1).unwrap_or(0);
        let log = self.shard(hash).logs.get(&key).cloned();
        read(&mut log.unwrap_or_default())
    }

    #[expect(clippy::indexing_slicing, reason = "the index is a remainder of the number of shards")]
    fn shard(&self, hash: usize) -> MutexGuard<'_, Shard<K>> {
        lock(&self.shards[hash % SHARDS])
    }

    #[cfg(test)]
    pub(crate) fn logs(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).logs.len()).sum()
    }
}

impl<K: Hash + Eq + Copy> Shard<K> {
    fn is_full(&self) -> bool {
        self.logs.len() >= self.capacity
    }

    fn drop_expired(&mut self, count: usize, now: Moment) {
        for _ in 0..count.min(self.to_check.len()) {
            let Some(key) = self.to_check.pop_front() else { return };
            if let Some(log) = self.logs.get_mut(&key) {
                log.drop_expired(now);
                if log.is_empty() {
                    self.logs.remove(&key);
                } else {
                    self.to_check.push_back(key);
                }
            }
        }
        // Return the memory of a past burst of clients.
        if self.logs.capacity() > 64 && self.logs.len() < self.logs.capacity() / 8 {
            self.logs.shrink_to(2 * self.logs.len());
            self.to_check.shrink_to(2 * self.logs.len());
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn allow(windows: &Windows<u64>, key: u64, limit: u32, now: u64) -> bool {
        windows.with(key, Moment(now), |log| {
            let allowed = log.state(limit, 1, Moment(now)).remaining > 0;
            if allowed {
                log.record(1, Moment(now));
            }
            allowed
        })
    }

    #[test]
    fn many_clients_neither_grow_the_table_nor_reset_a_limit() {
        let windows = Windows::new(Bounds { own: 1_000, shared: 16 });
        for _ in 0..3 {
            assert!(allow(&windows, 0, 3, 0));
        }
        for key in 1..100_000 {
            allow(&windows, key, 3, key);
        }
        assert!(windows.logs() <= 1_024, "{}", windows.logs());
        assert!(!allow(&windows, 0, 3, 100_000), "the limit of the first caller was reset");
    }

    #[test]
    fn expired_logs_make_room_for_new_clients() {
        let windows = Windows::new(Bounds { own: 1_000, shared: 16 });
        for key in 0..10_000 {
            allow(&windows, key, 3, key);
        }
        for key in 20_000..20_300 {
            assert!(allow(&windows, key, 1, 61 * SECOND + key));
        }
        for key in 30_000..30_300 {
            assert!(allow(&windows, key, 1, 122 * SECOND + key));
        }
        assert!(windows.logs() <= 1_000);
    }

    #[test]
    fn no_caller_exceeds_its_limit_while_logs_are_shared() {
        let windows = Windows::new(Bounds { own: 64, shared: 4 });
        let mut passed: HashMap<u64, Vec<u64>> = HashMap::new();
        let mut state = 1_u64;
        for step in 0..200_000_u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (key, now) = (state >> 33 & 0x3ff, step * SECOND / 50);
            if allow(&windows, key, 3, now) {
                passed.entry(key).or_default().push(now);
            }
        }
        for times in passed.values() {
            assert!(times.windows(4).all(|four| four[3] - four[0] > 60 * SECOND), "{times:?}");
        }
        assert!(passed.values().map(Vec::len).sum::<usize>() > 1_000);
    }

    #[test]
    fn peek_does_not_create_a_log() {
        let windows: Windows<u64> = Windows::new(Bounds { own: 64, shared: 4 });
        assert_eq!(windows.peek(7, |log| log.state(5, 1, Moment(0)).remaining), 5);
        assert_eq!(windows.logs(), 0);
        allow(&windows, 7, 5, 0);
        assert_eq!(windows.peek(7, |log| log.state(5, 1, Moment(0)).remaining), 4);
    }
}
