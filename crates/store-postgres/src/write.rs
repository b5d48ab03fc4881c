//! Commit and revert, and data from contracts. A revert removes exactly what the commit added.

mod approvals;
mod codes;
mod commit;
mod copy;
mod day;
mod holders;
mod internal;
mod log_packs;
mod logs;
mod metadata;
mod nfts;
mod prefetch;
mod ranks;
mod revert;
mod step;
mod tails;

use std::hash::Hash;

use domain::{Address, B256};
use foldhash::fast::RandomState;
use quick_cache::{
    OptionsBuilder, UnitWeighter,
    unsync::{Cache, DefaultLifecycle},
};
use store::CurrentDay;

use self::logs::LogSource;
pub(crate) use self::{
    codes::list_pending_codes,
    copy::runs as copy_runs,
    holders::{list_audits, list_pending_balances, save_audits, save_balances},
    internal::{internal_frontier, skip_internal},
    metadata::{folded, save_token_metadata},
    prefetch::style_from,
    ranks::rank_holders,
};
use crate::lists::{AddressId, List, Tail};

type Lru<K, V> = Cache<K, V, UnitWeighter, RandomState>;

/// What the writer remembers between commits. All of it follows from the database.
pub(crate) struct WriteState {
    addresses: Lru<Address, AddressId>,
    topics: Lru<B256, u64>,
    log_sources: Lru<LogSource, u64>,
    tails: Lru<(List, u64), Tail>,
    /// Addresses whose code is known or pending.
    known_codes: Lru<AddressId, ()>,
    /// The last token listed for a refresh: the next round continues after it.
    last_refreshed: Option<AddressId>,
    /// That of the tip; None if it has to be searched.
    day: Option<CurrentDay>,
}

impl std::fmt::Debug for WriteState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WriteState").field("addresses", &self.addresses.len()).finish_non_exhaustive()
    }
}

impl WriteState {
    pub(crate) fn new(cache_entries: usize) -> Self {
        Self {
            addresses: lru(cache_entries),
            topics: lru(cache_entries),
            // Far fewer are in use: one for each event of a contract.
            log_sources: lru(cache_entries / 4),
            tails: lru(cache_entries),
            known_codes: lru(cache_entries),
            last_refreshed: None,
            day: None,
        }
    }

    /// After a failure or a revert, everything is read again.
    pub(crate) fn clear(&mut self) {
        self.addresses.clear();
        self.topics.clear();
        self.log_sources.clear();
        self.tails.clear();
        self.known_codes.clear();
        self.last_refreshed = None;
        self.day = None;
    }
}

fn lru<K: Eq + Hash, V>(capacity: usize) -> Lru<K, V> {
    let capacity = capacity.max(1);
    let mut options = OptionsBuilder::new();
    options.estimated_items_capacity(capacity).weight_capacity(capacity as u64).ghost_allocation(0.0);
    #[expect(clippy::expect_used, reason = "fails only without a capacity")]
    let options = options.build().expect("both capacities are set");
    Cache::with_options(options, UnitWeighter, RandomState::default(), DefaultLifecycle::default())
}
