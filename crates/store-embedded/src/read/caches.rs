//! What readings have met and later ones will meet again: rows that stay as they are until a block is taken back.

use std::sync::Arc;

use domain::BlockNumber;
use quick_cache::sync::Cache;

use super::{CheckpointCache, Condition};
use crate::engine::Epoch;
use crate::keys::AddressId;
use crate::rows::{AddressRow, BlockRow};
use crate::shared_work::SharedWork;

/// Some 100 bytes each.
const ADDRESSES: usize = 1 << 16;
/// Some 300 bytes each.
const BLOCKS: usize = 1 << 14;

/// Shared by all readings. Keyed by the epoch too, so that nothing has to be cleared when blocks are taken back.
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
