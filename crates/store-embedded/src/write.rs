//! Commit and revert: a pair. What the first puts in, the second takes out, and nothing else.

mod addresses;
mod codes;
mod commit;
mod facts;
mod holders;
mod overwrite;
mod ranks;
mod revert;
mod tokens;
mod trades;

use std::sync::Arc;

use crate::cache::AgedCache;
use crate::keys::AddressId;
use crate::lists::Tails;
use crate::verified_contracts::Listing;
use addresses::AddressIds;

/// What the writer keeps in memory between batches.
#[derive(Debug)]
pub(crate) struct WriteState {
    tails: Tails,
    addresses: AddressIds,
    /// Addresses whose code is known, or asked for.
    known_codes: AgedCache<AddressId, ()>,
    /// The token that was last given out to be asked again: the next round goes on behind it.
    last_refreshed: Option<AddressId>,
    /// Shared with those who verify: the list of verified contracts follows the code at their addresses.
    listing: Arc<Listing>,
}

impl WriteState {
    pub(crate) fn new(cache_entries: usize, listing: Arc<Listing>) -> Self {
        Self {
            tails: Tails::new(cache_entries),
            addresses: AddressIds::new(cache_entries),
            known_codes: AgedCache::new(cache_entries),
            last_refreshed: None,
            listing,
        }
    }
}
