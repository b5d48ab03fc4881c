//! Commit and revert: a pair. What the first puts in, the second takes out, and nothing else.

mod addresses;
mod commit;
mod facts;
mod holders;
mod overwrite;
mod ranks;
mod revert;
mod tokens;
mod trades;

use crate::lists::Tails;
use addresses::AddressIds;

/// What the writer keeps in memory between batches.
#[derive(Debug)]
pub(crate) struct WriteState {
    tails: Tails,
    addresses: AddressIds,
}

impl WriteState {
    pub(crate) fn new(cache_entries: usize) -> Self {
        Self { tails: Tails::new(cache_entries), addresses: AddressIds::new(cache_entries) }
    }
}
