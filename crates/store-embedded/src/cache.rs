//! Hash maps: a fast one, and a bounded cache.

use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
};

use foldhash::fast::RandomState;
use quick_cache::{
    OptionsBuilder, UnitWeighter,
    unsync::{Cache, DefaultLifecycle},
};

/// Keys come from the chain, so anyone can choose them; the random seed is enough against chosen collisions, and the
/// hash is much faster than the standard one.
pub(crate) type FastMap<K, V> = HashMap<K, V, RandomState>;

/// A set of such keys.
pub(crate) type FastSet<K> = HashSet<K, RandomState>;

/// The keys of a set, sorted.
pub(crate) fn sorted<K: Ord>(set: FastSet<K>) -> Vec<K> {
    let mut keys: Vec<K> = set.into_iter().collect();
    keys.sort_unstable();
    keys
}

/// A bounded cache for one thread.
#[derive(Debug)]
pub(crate) struct AgedCache<K, V>(Cache<K, V, UnitWeighter, RandomState>);

impl<K: Eq + Hash, V> AgedCache<K, V> {
    /// For entries that are looked up. Most are used by a few blocks in a row and then no more, so the part of the cache
    /// that keeps entries used often is small.
    pub(crate) fn new(capacity: usize) -> Self {
        Self::with_hot_share(capacity, 0.2)
    }

    /// For entries that are taken for each use and inserted again: evicts those inserted first, which are the least
    /// recently used. Without a hot part, since a use that takes an entry does not count as one.
    pub(crate) fn of_taken(capacity: usize) -> Self {
        Self::with_hot_share(capacity, 0.0)
    }

    fn with_hot_share(capacity: usize, share: f64) -> Self {
        let capacity = capacity.max(1);
        let mut options = OptionsBuilder::new();
        options.estimated_items_capacity(capacity).weight_capacity(capacity as u64);
        // No memory for keys that were evicted.
        options.hot_allocation(share).ghost_allocation(0.0);
        #[expect(clippy::expect_used, reason = "fails only without a capacity")]
        let options = options.build().expect("both capacities are set");
        Self(Cache::with_options(options, UnitWeighter, RandomState::default(), DefaultLifecycle::default()))
    }

    pub(crate) fn insert(&mut self, key: K, value: V) {
        self.0.insert(key, value);
    }

    /// Removes an entry; the caller inserts it again after use.
    pub(crate) fn take(&mut self, key: &K) -> Option<V> {
        self.0.remove(key).map(|(_, value)| value)
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn retain(&mut self, keep: impl Fn(&K, &V) -> bool) {
        self.0.retain(keep);
    }
}

impl<K: Eq + Hash, V: Copy> AgedCache<K, V> {
    pub(crate) fn get(&mut self, key: &K) -> Option<V> {
        self.0.get(key).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_that_are_looked_up_stay_and_others_are_evicted() {
        let mut cache = AgedCache::new(8);
        cache.insert(0, "used");
        for key in 1..100 {
            cache.insert(key, "unused");
            assert_eq!(cache.get(&0), Some("used"));
            assert!(cache.0.len() <= 8);
        }
        assert_eq!((1..100).filter_map(|key| cache.get(&key)).count(), 7);
    }

    #[test]
    fn entries_taken_recently_stay_and_others_are_evicted() {
        let mut cache = AgedCache::of_taken(100);
        for key in 0..10_000 {
            cache.insert(key, key);
            if key % 50 == 49 {
                for used in 0..10 {
                    let value = cache.take(&used).unwrap();
                    assert_eq!(cache.take(&used), None);
                    cache.insert(used, value);
                }
            }
            assert!(cache.0.len() <= 100);
        }
        let old = (10..9_800).filter(|key| cache.take(key).is_some()).count();
        assert!(old <= 1, "{old} unused entries are left");
    }
}
