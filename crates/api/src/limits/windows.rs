use std::{
    collections::{HashMap, VecDeque},
    hash::{BuildHasher, Hash, RandomState},
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::pass_log::{Moment, PassLog};

/// So many that two requests seldom wait for one another.
const SHARDS: usize = 64;
/// Logs looked at, to see whether they may go, for each one that is added: more than one, so that a table shrinks back
/// after a crowd has gone.
const LOOKED_AT: usize = 2;
/// Logs looked at before a full table is taken for full.
const LOOKED_AT_WHEN_FULL: usize = 8;

/// How much is remembered at most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Callers with a log of their own.
    pub(crate) own: usize,
    /// Logs that the others share.
    pub(crate) shared: usize,
}

/// The logs of many callers, in bounded memory.
///
/// Only a log in which nothing counts any more is dropped, so nobody gets rid of what counts against him by calling
/// from elsewhere too. A caller for whom there is no room shares a log with others, which is stricter than one of his
/// own, never laxer; when there is room he takes its content along.
pub(crate) struct Windows<K> {
    shards: Box<[Mutex<Shard<K>>]>,
    shared: Box<[Mutex<PassLog>]>,
    /// Keyed at random, so that nobody can choose with whom he shares.
    hasher: RandomState,
}

struct Shard<K> {
    logs: HashMap<K, PassLog>,
    /// Every key of `logs` once, in the order in which they are to be looked at.
    to_look_at: VecDeque<K>,
    capacity: usize,
}

impl<K: Hash + Eq + Copy> Windows<K> {
    pub(crate) fn new(bounds: Bounds) -> Self {
        let capacity = bounds.own.div_ceil(SHARDS);
        let shard = || Mutex::new(Shard { logs: HashMap::new(), to_look_at: VecDeque::new(), capacity });
        Self {
            shards: (0..SHARDS).map(|_| shard()).collect(),
            shared: (0..bounds.shared.max(1)).map(|_| Mutex::default()).collect(),
            hasher: RandomState::new(),
        }
    }

    /// Hands over the log that counts for a caller, alone.
    pub(crate) fn with<R>(&self, key: K, now: Moment, decide: impl FnOnce(&mut PassLog) -> R) -> R {
        let hash = usize::try_from(self.hasher.hash_one(key) >> 1).unwrap_or(0);
        let mut shard = lock(&self.shards[hash % SHARDS]);
        if let Some(log) = shard.logs.get_mut(&key) {
            return decide(log);
        }
        shard.drop_forgotten(LOOKED_AT, now);
        if shard.is_full() {
            shard.drop_forgotten(LOOKED_AT_WHEN_FULL, now);
        }
        let mut shared = lock(&self.shared[hash / SHARDS % self.shared.len()]);
        shared.forget_old(now);
        if shard.is_full() {
            return decide(&mut shared);
        }
        // What counts in the shared log may be this caller's.
        let own = shared.clone();
        drop(shared);
        shard.to_look_at.push_back(key);
        decide(shard.logs.entry(key).or_insert(own))
    }

    /// A look at the log of a caller that changes nothing and remembers nobody.
    pub(crate) fn peek<R>(&self, key: K, look: impl FnOnce(&mut PassLog) -> R) -> R {
        let hash = usize::try_from(self.hasher.hash_one(key) >> 1).unwrap_or(0);
        let log = lock(&self.shards[hash % SHARDS]).logs.get(&key).cloned();
        look(&mut log.unwrap_or_default())
    }

    #[cfg(test)]
    pub(crate) fn remembered(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).logs.len()).sum()
    }
}

impl<K: Hash + Eq + Copy> Shard<K> {
    fn is_full(&self) -> bool {
        self.logs.len() >= self.capacity
    }

    fn drop_forgotten(&mut self, count: usize, now: Moment) {
        for _ in 0..count.min(self.to_look_at.len()) {
            let Some(key) = self.to_look_at.pop_front() else { return };
            if let Some(log) = self.logs.get_mut(&key) {
                log.forget_old(now);
                if log.is_empty() {
                    self.logs.remove(&key);
                } else {
                    self.to_look_at.push_back(key);
                }
            }
        }
        // A crowd that has gone should not leave its seats behind.
        if self.logs.capacity() > 64 && self.logs.len() < self.logs.capacity() / 8 {
            self.logs.shrink_to(2 * self.logs.len());
            self.to_look_at.shrink_to(2 * self.logs.len());
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

    fn pass(windows: &Windows<u64>, key: u64, limit: u32, now: u64) -> bool {
        windows.with(key, Moment(now), |log| {
            let free = log.standing(limit, Moment(now)).remaining > 0;
            if free {
                log.record(Moment(now));
            }
            free
        })
    }

    #[test]
    fn a_crowd_neither_grows_the_table_nor_clears_anybody_of_what_counts() {
        let windows = Windows::new(Bounds { own: 1_000, shared: 16 });
        for _ in 0..3 {
            assert!(pass(&windows, 0, 3, 0));
        }
        for key in 1..100_000 {
            pass(&windows, key, 3, key);
        }
        assert!(windows.remembered() <= 1_024, "{}", windows.remembered());
        assert!(!pass(&windows, 0, 3, 100_000), "the crowd has cleared a caller");
    }

    #[test]
    fn when_the_crowd_has_gone_its_place_is_free() {
        let windows = Windows::new(Bounds { own: 1_000, shared: 16 });
        for key in 0..10_000 {
            pass(&windows, key, 3, key);
        }
        for key in 20_000..20_300 {
            assert!(pass(&windows, key, 1, 61 * SECOND + key));
        }
        for key in 30_000..30_300 {
            assert!(pass(&windows, key, 1, 122 * SECOND + key));
        }
        assert!(windows.remembered() <= 1_000);
    }

    #[test]
    fn no_caller_in_a_crowd_ever_gets_more_than_the_limit() {
        let windows = Windows::new(Bounds { own: 64, shared: 4 });
        let mut passed: HashMap<u64, Vec<u64>> = HashMap::new();
        let mut state = 1_u64;
        for step in 0..200_000_u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (key, now) = (state >> 33 & 0x3ff, step * SECOND / 50);
            if pass(&windows, key, 3, now) {
                passed.entry(key).or_default().push(now);
            }
        }
        for times in passed.values() {
            assert!(times.windows(4).all(|four| four[3] - four[0] > 60 * SECOND), "{times:?}");
        }
        assert!(passed.values().map(Vec::len).sum::<usize>() > 1_000);
    }

    #[test]
    fn a_look_remembers_nobody() {
        let windows: Windows<u64> = Windows::new(Bounds { own: 64, shared: 4 });
        assert_eq!(windows.peek(7, |log| log.standing(5, Moment(0)).remaining), 5);
        assert_eq!(windows.remembered(), 0);
        pass(&windows, 7, 5, 0);
        assert_eq!(windows.peek(7, |log| log.standing(5, Moment(0)).remaining), 4);
    }
}
