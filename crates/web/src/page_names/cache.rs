use std::time::Instant;

use domain::Address;
use quick_cache::sync::Cache;

use crate::view::Known;

const CACHED_ADDRESSES: usize = 20_000;

/// What was known about an address, and when.
#[derive(Debug, Clone)]
pub(crate) struct CachedName {
    pub(super) known: Known,
    pub(super) read_at: Instant,
    /// The number of verifications at that time: a newer one may be of this address.
    pub(super) verifications: u64,
}

pub(crate) fn name_cache() -> Cache<Address, CachedName> {
    Cache::new(CACHED_ADDRESSES)
}
