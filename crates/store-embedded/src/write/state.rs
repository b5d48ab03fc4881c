use std::sync::Arc;

use domain::B256;
use store::CurrentDay;

use super::{addresses::AddressIds, dictionary::Dictionary};
use crate::{cache::AgedCache, keys::AddressId, lists::Tails, rows::LogSource, verified_contracts::Listing};

/// The writer's state between batches.
#[derive(Debug)]
pub(crate) struct WriteState {
    cache_entries: usize,
    pub(super) tails: Tails,
    pub(super) addresses: AddressIds,
    pub(super) topics: Dictionary<B256>,
    pub(super) log_sources: Dictionary<LogSource>,
    /// Addresses whose code is known or pending.
    pub(super) known_codes: AgedCache<AddressId, ()>,
    /// The last token listed for a refresh: the next round continues after it.
    pub(super) last_refreshed: Option<AddressId>,
    /// That of the tip; None if it has to be searched.
    pub(super) day: Option<CurrentDay>,
    /// Shared with the verified contracts: their list follows the code at their addresses.
    pub(super) listing: Arc<Listing>,
}

impl WriteState {
    pub(crate) fn new(cache_entries: usize, listing: Arc<Listing>) -> Self {
        Self {
            cache_entries,
            tails: Tails::new(cache_entries),
            addresses: AddressIds::new(cache_entries),
            topics: Dictionary::new(cache_entries),
            // Far fewer are in use: one for each event of a contract.
            log_sources: Dictionary::new(cache_entries / 4),
            known_codes: AgedCache::new(cache_entries),
            last_refreshed: None,
            day: None,
            listing,
        }
    }

    /// Forgets all rows.
    pub(super) fn clear(&mut self) {
        *self = Self::new(self.cache_entries, Arc::clone(&self.listing));
    }

    /// The batch is committed.
    pub(super) fn mark_committed(&mut self) {
        self.tails.mark_committed();
        self.addresses.mark_committed();
        self.topics.mark_committed();
        self.log_sources.mark_committed();
    }

    /// The batch failed.
    pub(super) fn discard_changes(&mut self) {
        self.tails.discard_changes();
        self.addresses.discard_changes();
        self.topics.discard_changes();
        self.log_sources.discard_changes();
        self.known_codes.clear();
    }
}
