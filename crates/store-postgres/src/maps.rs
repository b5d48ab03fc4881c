//! Hash maps: a fast one, and a bounded cache.

use std::{collections::HashMap, hash::Hash};

use foldhash::fast::RandomState;
use quick_cache::{
    OptionsBuilder, UnitWeighter,
    unsync::{Cache, DefaultLifecycle},
};

/// Keys come from the chain, so anyone can choose them: the random seed is enough against chosen collisions.
pub(crate) type FastMap<K, V> = HashMap<K, V, RandomState>;

pub(crate) type Lru<K, V> = Cache<K, V, UnitWeighter, RandomState>;

pub(crate) fn lru<K: Eq + Hash, V>(capacity: usize) -> Lru<K, V> {
    let capacity = capacity.max(1);
    let mut options = OptionsBuilder::new();
    options.estimated_items_capacity(capacity).weight_capacity(capacity as u64).ghost_allocation(0.0);
    #[expect(clippy::expect_used, reason = "fails only without a capacity")]
    let options = options.build().expect("both capacities are set");
    Cache::with_options(options, UnitWeighter, RandomState::default(), DefaultLifecycle::default())
}
