//! Commit and revert. A revert removes exactly what the commit added.

mod addresses;
mod approvals;
mod codes;
mod commit;
mod day;
mod dictionary;
mod holders;
mod internal;
mod logs;
mod metadata;
mod nfts;
mod overwrite;
mod ranks;
mod revert;
pub(crate) mod start_over;
mod tokens;
mod trades;

use std::sync::Arc;

use addresses::AddressIds;
use dictionary::Dictionary;
use domain::B256;
use store::CurrentDay;

use crate::{cache::AgedCache, keys::AddressId, lists::Tails, rows::LogSource, verified_contracts::Listing};

/// The writer's state between batches.
#[derive(Debug)]
pub(crate) struct WriteState {
    cache_entries: usize,
    tails: Tails,
    addresses: AddressIds,
    topics: Dictionary<B256>,
    log_sources: Dictionary<LogSource>,
    /// Addresses whose code is known or pending.
    known_codes: AgedCache<AddressId, ()>,
    /// The last token listed for a refresh: the next round continues after it.
    last_refreshed: Option<AddressId>,
    /// That of the tip; None if it has to be searched.
    day: Option<CurrentDay>,
    /// Shared with the verified contracts: their list follows the code at their addresses.
    listing: Arc<Listing>,
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
    fn clear(&mut self) {
        *self = Self::new(self.cache_entries, Arc::clone(&self.listing));
    }
}
