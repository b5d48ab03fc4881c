use domain::{Address, B256};
use store::CurrentDay;

use super::log_source::LogSource;
use crate::{
    lists::{AddressId, ListTable, Tail},
    maps::{Lru, lru},
};

/// What the writer caches between commits. All of it follows from the database.
pub(crate) struct WriteState {
    pub(super) addresses: Lru<Address, AddressId>,
    pub(super) topics: Lru<B256, u64>,
    pub(super) log_sources: Lru<LogSource, u64>,
    pub(super) tails: Lru<(ListTable, u64), Tail>,
    /// Addresses whose code is known or pending.
    pub(super) known_codes: Lru<AddressId, ()>,
    /// The last token listed for a refresh: the next round continues after it.
    pub(super) last_refreshed: Option<AddressId>,
    /// That of the tip; None if it has to be searched.
    pub(super) day: Option<CurrentDay>,
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
