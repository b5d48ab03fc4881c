//! The canonical chain: its blocks, lookup tables and the states of the latest blocks.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use alloy_eips::{BlockId, BlockNumberOrTag};
use alloy_primitives::B256;

use crate::{
    archive::{Archive, ArchiveError},
    block::{Inclusion, MinedBlock},
    config::{DevChainConfig, MIN_HISTORY},
    evm::AncestorHashes,
    state::WorldState,
};

/// Distance of the tags `safe` and `finalized` from the head.
const SAFE_DISTANCE: u64 = 32;
const FINALIZED_DISTANCE: u64 = 64;

/// Blocks whose JSON is cached: several clients request the newest ones.
const JSON_CACHE_BLOCKS: usize = 32;

/// How many blocks are kept in memory, with the states after them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HistoryLimit {
    blocks: usize,
    /// Does not reduce them below [`MIN_HISTORY`].
    bytes: usize,
}

/// Why the state of a block is unavailable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StateUnavailable {
    #[error("header not found")]
    UnknownBlock,
    #[error("missing trie node: state of block {number} is pruned, the oldest available is {oldest}")]
    Pruned { number: u64, oldest: u64 },
    #[error("genesis is not traceable")]
    Genesis,
}

/// A block with the state after it.
#[derive(Debug, Clone)]
pub(crate) struct Snapshot {
    pub(crate) block: Arc<MinedBlock>,
    pub(crate) world: WorldState,
    pub(crate) ancestors: AncestorHashes,
}

/// A block with the state before it, to execute it again.
#[derive(Debug)]
pub(crate) struct BlockInput {
    pub(crate) block: Arc<MinedBlock>,
    pub(crate) world: WorldState,
    pub(crate) ancestors: AncestorHashes,
}

#[derive(Debug)]
pub(crate) struct Ledger {
    /// The blocks before `recent`.
    archive: Archive,
    /// The head, and before it the blocks that a reorg may revert and the one below them.
    recent: VecDeque<RecentBlock>,
    /// Of `recent`.
    recent_bytes: usize,
    /// Of all blocks, by number.
    hashes: Vec<B256>,
    numbers: HashMap<B256, usize>,
    /// The number of the block and the index of each transaction of `recent`.
    inclusions: HashMap<B256, (usize, usize)>,
    limit: HistoryLimit,
}

/// A block in memory.
#[derive(Debug)]
struct RecentBlock {
    block: Arc<MinedBlock>,
    /// The state after it.
    world: WorldState,
    /// Memory of the block and of what it changed in the state.
    bytes: usize,
}

impl HistoryLimit {
    pub(crate) fn new(config: &DevChainConfig) -> Self {
        Self { blocks: config.history.max(MIN_HISTORY), bytes: config.history_bytes }
    }

    fn exceeded_by(self, recent: usize, bytes: usize) -> bool {
        let revertible = recent.saturating_sub(1);
        revertible > self.blocks || (revertible > MIN_HISTORY && bytes > self.bytes)
    }
}

impl Ledger {
    pub(crate) fn new(genesis: MinedBlock, world: WorldState, limit: HistoryLimit) -> Self {
        let mut ledger = Self {
            archive: Archive::default(),
            recent: VecDeque::new(),
            recent_bytes: 0,
            hashes: Vec::new(),
            numbers: HashMap::new(),
            inclusions: HashMap::new(),
            limit,
        };
        ledger.append(genesis, world);
        ledger
    }

    pub(crate) fn append(&mut self, block: MinedBlock, world: WorldState) -> Arc<MinedBlock> {
        let block = Arc::new(block);
        let number = self.hashes.len();
        self.hashes.push(block.hash());
        self.numbers.insert(block.hash(), number);
        for (index, mined) in block.transactions.iter().enumerate() {
            self.inclusions.insert(mined.hash(), (number, index));
        }
        let bytes = block.memory() + world.unshared_bytes();
        self.recent_bytes += bytes;
        self.recent.push_back(RecentBlock { block: Arc::clone(&block), world, bytes });
        if let Some(older) = self.recent.iter().rev().nth(JSON_CACHE_BLOCKS) {
            older.block.json.retire();
        }
        self.archive_oldest();
        block
    }

    /// Moves the oldest blocks from memory to the archive, as far as the limit requires.
    fn archive_oldest(&mut self) {
        while self.limit.exceeded_by(self.recent.len(), self.recent_bytes)
            && let Some(oldest) = self.recent.front()
        {
            if let Err(error) = self.archive.push(&oldest.block) {
                let number = oldest.block.number();
                tracing::warn!(%error, number, "no temporary file for old blocks: they stay in memory, free disk space");
                return;
            }
            self.recent_bytes -= oldest.bytes;
            for mined in &oldest.block.transactions {
                self.inclusions.remove(&mined.hash());
            }
            self.recent.pop_front();
        }
    }

    /// Removes the latest blocks and returns them, oldest first.
    ///
    /// The depth must not exceed [`Ledger::max_reorg_depth`].
    pub(crate) fn truncate(&mut self, depth: usize) -> Vec<Arc<MinedBlock>> {
        let removed = self.recent.split_off(self.recent.len() - depth);
        self.hashes.truncate(self.hashes.len() - depth);
        let removed = removed.into_iter().map(|removed| {
            self.recent_bytes -= removed.bytes;
            self.numbers.remove(&removed.block.hash());
            for mined in &removed.block.transactions {
                self.inclusions.remove(&mined.hash());
            }
            removed.block
        });
        removed.collect()
    }

    /// How many blocks can be reverted with the state below them still available.
    pub(crate) fn max_reorg_depth(&self) -> usize {
        self.recent.len() - 1
    }

    pub(crate) fn head(&self) -> &Arc<MinedBlock> {
        &self.newest().block
    }

    pub(crate) fn world(&self) -> &WorldState {
        &self.newest().world
    }

    #[expect(clippy::indexing_slicing, reason = "the head is always in memory")]
    fn newest(&self) -> &RecentBlock {
        &self.recent[self.recent.len() - 1]
    }

    pub(crate) fn find(&self, id: BlockId) -> Result<Option<Arc<MinedBlock>>, ArchiveError> {
        self.number_of(id).map_or(Ok(None), |number| self.block(number))
    }

    pub(crate) fn find_inclusion(&self, transaction: &B256) -> Result<Option<Inclusion>, ArchiveError> {
        let recent = self.inclusions.get(transaction).and_then(|&(number, index)| {
            let block = Arc::clone(&self.recent(number)?.block);
            Some(Inclusion { block, index })
        });
        recent.map_or_else(|| self.archive.find(transaction), |found| Ok(Some(found)))
    }

    fn block(&self, number: usize) -> Result<Option<Arc<MinedBlock>>, ArchiveError> {
        if let Some(recent) = self.recent(number) {
            return Ok(Some(Arc::clone(&recent.block)));
        }
        let Ok(number) = u32::try_from(number) else { return Ok(None) };
        Ok(self.archive.read(number)?.map(Arc::new))
    }

    fn recent(&self, number: usize) -> Option<&RecentBlock> {
        self.recent.get(number.checked_sub(self.archive.len())?)
    }

    /// The number of an existing block.
    fn number_of(&self, id: BlockId) -> Option<usize> {
        let head = self.head().number();
        let number = match id {
            BlockId::Hash(hash) => return self.numbers.get(&hash.block_hash).copied(),
            BlockId::Number(BlockNumberOrTag::Latest | BlockNumberOrTag::Pending) => head,
            BlockId::Number(BlockNumberOrTag::Earliest) => 0,
            BlockId::Number(BlockNumberOrTag::Safe) => head.saturating_sub(SAFE_DISTANCE),
            BlockId::Number(BlockNumberOrTag::Finalized) => head.saturating_sub(FINALIZED_DISTANCE),
            BlockId::Number(BlockNumberOrTag::Number(number)) => number,
        };
        usize::try_from(number).ok().filter(|number| *number < self.hashes.len())
    }

    pub(crate) fn snapshot(&self, id: BlockId) -> Result<Snapshot, StateUnavailable> {
        let number = self.number_of(id).ok_or(StateUnavailable::UnknownBlock)?;
        let RecentBlock { block, world, .. } = self.with_state(number)?;
        Ok(Snapshot { block: Arc::clone(block), world: world.clone(), ancestors: self.ancestors_of(number) })
    }

    /// The genesis block is no execution, so it has no input.
    pub(crate) fn input_of(&self, id: BlockId) -> Result<BlockInput, StateUnavailable> {
        let number = self.number_of(id).ok_or(StateUnavailable::UnknownBlock)?;
        let parent = number.checked_sub(1).ok_or(StateUnavailable::Genesis)?;
        let world = self.with_state(parent)?.world.clone();
        let block = Arc::clone(&self.with_state(number)?.block);
        Ok(BlockInput { block, world, ancestors: self.ancestors_of(number) })
    }

    fn with_state(&self, number: usize) -> Result<&RecentBlock, StateUnavailable> {
        let oldest = self.archive.len() as u64;
        self.recent(number).ok_or(StateUnavailable::Pruned { number: number as u64, oldest })
    }

    /// The ancestor hashes visible to the next block.
    pub(crate) fn next_ancestors(&self) -> AncestorHashes {
        self.ancestors_of(self.hashes.len())
    }

    /// The ancestor hashes visible to a block with this number.
    fn ancestors_of(&self, number: usize) -> AncestorHashes {
        let first = number.saturating_sub(AncestorHashes::MAX_LENGTH);
        let hashes = self.hashes.get(first..number).unwrap_or_default();
        AncestorHashes::new(first as u64, hashes.to_vec())
    }
}
