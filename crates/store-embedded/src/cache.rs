//! Hash maps: a fast one, and a bounded cache that evicts entries not used recently.

use std::{collections::HashMap, hash::Hash};

use foldhash::fast::RandomState;

/// Keys come from the chain, so anyone can choose them; the random seed is enough against chosen collisions, and the
/// hash is much faster than the standard one.
pub(crate) type FastMap<K, V> = HashMap<K, V, RandomState>;

/// A cache of two generations: an entry that is used moves to the young one; when that is full, the old generation is
/// dropped and the young one becomes old. No order is kept, so a lookup costs one hash.
#[derive(Debug)]
pub(crate) struct AgedCache<K, V> {
    young: FastMap<K, V>,
    old: FastMap<K, V>,
    generation_size: usize,
}

impl<K: Eq + Hash, V> AgedCache<K, V> {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { young: FastMap::default(), old: FastMap::default(), generation_size: (capacity / 2).max(1) }
    }

    pub(crate) fn insert(&mut self, key: K, value: V) {
        if self.young.len() >= self.generation_size {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, value);
    }

    /// Removes an entry; the caller inserts it again after use.
    pub(crate) fn take(&mut self, key: &K) -> Option<V> {
        let old = self.old.remove(key);
        self.young.remove(key).or(old)
    }

    pub(crate) fn clear(&mut self) {
        self.young.clear();
        self.old.clear();
    }

    pub(crate) fn retain(&mut self, keep: impl Fn(&K, &V) -> bool) {
        self.young.retain(|key, value| keep(key, value));
        self.old.retain(|key, value| keep(key, value));
    }
}

impl<K: Eq + Hash + Clone, V: Copy> AgedCache<K, V> {
    pub(crate) fn get(&mut self, key: &K) -> Option<V> {
        if let Some(value) = self.young.get(key) {
            return Some(*value);
        }
        let value = self.old.remove(key)?;
        self.insert(key.clone(), value);
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn used_entries_stay_and_unused_ones_are_evicted() {
        let mut cache = AgedCache::new(8);
        cache.insert(0, "kept");
        for key in 1..100 {
            cache.insert(key, "passing");
            assert_eq!(cache.get(&0), Some("kept"));
            assert!(cache.young.len() + cache.old.len() <= 9);
        }
        assert_eq!(cache.get(&1), None);
    }
}
