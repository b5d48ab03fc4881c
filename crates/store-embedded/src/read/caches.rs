//! Caches shared by queries: rows that do not change until a block is reverted.

use std::sync::Arc;

use domain::BlockNumber;
use quick_cache::sync::Cache;

use super::{CheckpointCache, Condition};
use crate::{
    engine::Epoch,
    keys::AddressId,
    rows::{AddressRow, BlockRow},
    shared_work::SharedWork,
};

/// About 100 bytes each.
const ADDRESSES: usize = 1 << 16;
/// About 300 bytes each.
const BLOCKS: usize = 1 << 14;

/// Shared by all queries. Keys contain the epoch, so that a revert needs no invalidation.
#[derive(Debug)]
pub(crate) struct ReadCaches {
    pub(super) checkpoints: CheckpointCache,
    pub(crate) walks: SharedWork<Vec<Condition>>,
    pub(super) addresses: Cache<(Epoch, AddressId), AddressRow>,
    pub(super) blocks: Cache<(Epoch, BlockNumber), Arc<BlockRow>>,
}

impl Default for ReadCaches {
    fn default() -> Self {
        Self {
            checkpoints: CheckpointCache::default(),
            walks: SharedWork::default(),
            addresses: Cache::new(ADDRESSES),
            blocks: Cache::new(BLOCKS),
        }
    }
}
