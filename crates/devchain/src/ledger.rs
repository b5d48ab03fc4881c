//! The canonical chain: its blocks, lookup tables and the states of the latest blocks.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use alloy_eips::{BlockId, BlockNumberOrTag};
use alloy_primitives::B256;

use crate::{
    block::{Inclusion, JsonCache, MinedBlock},
    evm::AncestorHashes,
    state::WorldState,
};

/// Distance of the tags `safe` and `finalized` from the head.
const SAFE_DISTANCE: u64 = 32;
const FINALIZED_DISTANCE: u64 = 64;

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
    blocks: Vec<Arc<MinedBlock>>,
    /// The states after the latest blocks, that of the head last.
    states: VecDeque<WorldState>,
    numbers: HashMap<B256, usize>,
    inclusions: HashMap<B256, (usize, usize)>,
    history: usize,
    /// Below this number only headers are kept.
    pruned: usize,
}

impl Ledger {
    pub(crate) fn new(genesis: MinedBlock, world: WorldState, history: usize) -> Self {
        let mut ledger = Self {
            blocks: Vec::new(),
            states: VecDeque::new(),
            numbers: HashMap::new(),
            inclusions: HashMap::new(),
            history,
            pruned: 0,
        };
        ledger.append(genesis, world);
        ledger
    }

    pub(crate) fn append(&mut self, block: MinedBlock, world: WorldState) -> Arc<MinedBlock> {
        let block = Arc::new(block);
        let number = self.blocks.len();
        self.numbers.insert(block.hash(), number);
        for (index, mined) in block.transactions.iter().enumerate() {
            self.inclusions.insert(mined.hash(), (number, index));
        }
        self.blocks.push(Arc::clone(&block));
        self.states.push_back(world);
        // The state of the head, and one for each block that a reorg may revert.
        if self.states.len() > self.history + 1 {
            self.states.pop_front();
            if let Some(retired) = self.blocks.iter().rev().nth(self.states.len()) {
                retired.json.retire();
            }
        }
        block
    }

    /// Removes the latest blocks and returns them, oldest first.
    ///
    /// The depth must not exceed [`Ledger::max_reorg_depth`].
    pub(crate) fn truncate(&mut self, depth: usize) -> Vec<Arc<MinedBlock>> {
        let removed = self.blocks.split_off(self.blocks.len() - depth);
        self.states.truncate(self.states.len() - depth);
        for block in &removed {
            self.numbers.remove(&block.hash());
            for mined in &block.transactions {
                self.inclusions.remove(&mined.hash());
            }
        }
        removed
    }

    /// Keeps only headers below a block, but never prunes blocks that a reorg may revert.
    pub(crate) fn prune_transactions_below(&mut self, number: u64) {
        let end = usize::try_from(number).unwrap_or(usize::MAX).min(self.oldest_state()).max(self.pruned);
        for block in self.blocks.iter_mut().take(end).skip(self.pruned) {
            for mined in &block.transactions {
                self.inclusions.remove(&mined.hash());
            }
            let (header, size) = (block.header.clone(), block.size);
            let json = JsonCache::default();
            *block = Arc::new(MinedBlock { header, transactions: Vec::new(), size, json });
        }
        self.pruned = end;
    }

    /// How many blocks can be reverted with the state below them still available.
    pub(crate) fn max_reorg_depth(&self) -> usize {
        self.states.len() - 1
    }

    #[expect(clippy::indexing_slicing, reason = "the genesis block is never removed")]
    pub(crate) fn head(&self) -> &Arc<MinedBlock> {
        &self.blocks[self.blocks.len() - 1]
    }

    #[expect(clippy::indexing_slicing, reason = "the state of the head is always there")]
    pub(crate) fn world(&self) -> &WorldState {
        &self.states[self.states.len() - 1]
    }

    pub(crate) fn by_number(&self, number: u64) -> Option<&Arc<MinedBlock>> {
        self.blocks.get(usize::try_from(number).ok()?)
    }

    pub(crate) fn by_hash(&self, hash: &B256) -> Option<&Arc<MinedBlock>> {
        self.blocks.get(*self.numbers.get(hash)?)
    }

    pub(crate) fn by_tag(&self, tag: BlockNumberOrTag) -> Option<&Arc<MinedBlock>> {
        let head = self.head().number();
        self.by_number(match tag {
            BlockNumberOrTag::Latest | BlockNumberOrTag::Pending => head,
            BlockNumberOrTag::Earliest => 0,
            BlockNumberOrTag::Safe => head.saturating_sub(SAFE_DISTANCE),
            BlockNumberOrTag::Finalized => head.saturating_sub(FINALIZED_DISTANCE),
            BlockNumberOrTag::Number(number) => number,
        })
    }

    pub(crate) fn by_id(&self, id: BlockId) -> Option<&Arc<MinedBlock>> {
        match id {
            BlockId::Hash(hash) => self.by_hash(&hash.block_hash),
            BlockId::Number(tag) => self.by_tag(tag),
        }
    }

    pub(crate) fn inclusion(&self, transaction: &B256) -> Option<Inclusion> {
        let &(number, index) = self.inclusions.get(transaction)?;
        Some(Inclusion { block: Arc::clone(self.blocks.get(number)?), index })
    }

    pub(crate) fn snapshot(&self, id: BlockId) -> Result<Snapshot, StateUnavailable> {
        let block = self.by_id(id).ok_or(StateUnavailable::UnknownBlock)?;
        let number = block.number();
        let world = self.state_after(number)?.clone();
        Ok(Snapshot { block: Arc::clone(block), world, ancestors: self.ancestors_of(number) })
    }

    /// The genesis block is no execution, so it has no input.
    pub(crate) fn input_of(&self, id: BlockId) -> Result<BlockInput, StateUnavailable> {
        let block = self.by_id(id).ok_or(StateUnavailable::UnknownBlock)?;
        let number = block.number();
        let parent = number.checked_sub(1).ok_or(StateUnavailable::Genesis)?;
        let world = self.state_after(parent)?.clone();
        Ok(BlockInput { block: Arc::clone(block), world, ancestors: self.ancestors_of(number) })
    }

    fn state_after(&self, number: u64) -> Result<&WorldState, StateUnavailable> {
        let oldest = self.oldest_state();
        usize::try_from(number)
            .ok()
            .and_then(|number| number.checked_sub(oldest))
            .and_then(|offset| self.states.get(offset))
            .ok_or(StateUnavailable::Pruned { number, oldest: oldest as u64 })
    }

    /// The ancestor hashes visible to a block with this number.
    pub(crate) fn ancestors_of(&self, number: u64) -> AncestorHashes {
        let first = number.saturating_sub(AncestorHashes::MAX_LENGTH);
        let hashes = (first..number).map_while(|ancestor| self.by_number(ancestor)).map(|block| block.hash()).collect();
        AncestorHashes::new(first, hashes)
    }

    fn oldest_state(&self) -> usize {
        self.blocks.len() - self.states.len()
    }
}
