//! Caches shared by all readers of a store: rows that do not change until a block is reverted, and checkpoints.

use std::sync::{Arc, PoisonError, RwLock};

use domain::BlockNumber;
use quick_cache::sync::Cache;
use store::{CacheUse, StateVersion};

use super::{checkpoints::CheckpointCache, conditions::Condition};
use crate::{
    engine::Epoch,
    keys::AddressId,
    meta::Tip,
    rows::{AddressRow, BlockRow},
    shared_work::SharedWork,
};

/// Bytes per cached row, with its key and the entry of the cache.
const ADDRESS_BYTES: u64 = 100;
const BLOCK_BYTES: u64 = 300;

/// Keys contain the epoch, so that a revert needs no invalidation.
#[derive(Debug)]
pub(crate) struct ReadCaches {
    pub(super) checkpoints: CheckpointCache,
    pub(crate) walks: SharedWork<Vec<Condition>>,
    pub(super) addresses: Cache<(Epoch, AddressId), AddressRow>,
    pub(super) blocks: Cache<(Epoch, BlockNumber), Arc<BlockRow>>,
    /// That of a version of the index: each request needs it several times.
    tip: RwLock<Option<(StateVersion, Option<Tip>)>>,
}

impl ReadCaches {
    /// Half of the bytes are for checkpoints, and a quarter each for rows of addresses and of blocks.
    pub(crate) fn new(bytes: u64) -> Self {
        let entries = |entry_bytes: u64| usize::try_from(bytes / 4 / entry_bytes).unwrap_or(usize::MAX);
        Self {
            checkpoints: CheckpointCache::new(bytes / 2),
            walks: SharedWork::default(),
            addresses: Cache::new(entries(ADDRESS_BYTES)),
            blocks: Cache::new(entries(BLOCK_BYTES)),
            tip: RwLock::default(),
        }
    }

    /// The tip of a version, if it is known. The inner value is None if that version has no block.
    pub(crate) fn tip_of(&self, version: StateVersion) -> Option<Option<Tip>> {
        let tip = self.tip.read().unwrap_or_else(PoisonError::into_inner);
        tip.filter(|(of, _)| *of == version).map(|(_, tip)| tip)
    }

    pub(crate) fn keep_tip(&self, version: StateVersion, tip: Option<Tip>) {
        *self.tip.write().unwrap_or_else(PoisonError::into_inner) = Some((version, tip));
    }

    /// The index was emptied: what was read before is not valid any more. Rows have the epoch in their keys.
    pub(crate) fn start_over(&self) {
        self.checkpoints.start_over();
    }

    pub(crate) fn uses(&self) -> Vec<CacheUse> {
        vec![
            CacheUse { cache: "address_rows", hits: self.addresses.hits(), misses: self.addresses.misses() },
            CacheUse { cache: "block_rows", hits: self.blocks.hits(), misses: self.blocks.misses() },
        ]
    }
}
