//! The canonical chain: its blocks, their indexes and the states of the newest ones.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use alloy_eips::{BlockId, BlockNumberOrTag};
use alloy_primitives::B256;

use crate::{
    block::{Inclusion, MinedBlock, ServedJson},
    evm::AncestorHashes,
    state::WorldState,
};

/// How far the tags `safe` and `finalized` stay behind the head.
const SAFE_DISTANCE: u64 = 32;
const FINALIZED_DISTANCE: u64 = 64;

/// Why there is no state to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StateUnavailable {
    #[error("header not found")]
    UnknownBlock,
    #[error("missing trie node: state of block {number} is pruned, the oldest kept is {oldest}")]
    Pruned { number: u64, oldest: u64 },
}

/// A block with the state after it.
#[derive(Debug, Clone)]
pub(crate) struct Snapshot {
    pub(crate) block: Arc<MinedBlock>,
    pub(crate) world: WorldState,
    pub(crate) ancestors: AncestorHashes,
}

#[derive(Debug)]
pub(crate) struct Ledger {
    blocks: Vec<Arc<MinedBlock>>,
    /// The states after the newest blocks, the head's last.
    states: VecDeque<WorldState>,
    numbers: HashMap<B256, usize>,
    inclusions: HashMap<B256, (usize, usize)>,
    history: usize,
    /// Below this number only headers are left.
    forgotten: usize,
}

impl Ledger {
    pub(crate) fn new(genesis: MinedBlock, world: WorldState, history: usize) -> Self {
        let mut ledger = Self {
            blocks: Vec::new(),
            states: VecDeque::new(),
            numbers: HashMap::new(),
            inclusions: HashMap::new(),
            history,
            forgotten: 0,
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
        // The head's own state, and one for each block that a reorganisation may take away.
        if self.states.len() > self.history + 1 {
            self.states.pop_front();
            self.blocks[self.oldest_state() - 1].served.retire();
        }
        block
    }

    /// Takes the newest blocks off, oldest first.
    ///
    /// The depth must be within [`Ledger::reorganisable`].
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

    /// Leaves only headers below a block, and below all that may be reorganised.
    pub(crate) fn forget_transactions_below(&mut self, number: u64) {
        let end = usize::try_from(number).unwrap_or(usize::MAX).min(self.oldest_state()).max(self.forgotten);
        for block in &mut self.blocks[self.forgotten..end] {
            for mined in &block.transactions {
                self.inclusions.remove(&mined.hash());
            }
            let (header, size) = (block.header.clone(), block.size);
            let served = ServedJson::default();
            *block = Arc::new(MinedBlock { header, transactions: Vec::new(), size, served });
        }
        self.forgotten = end;
    }

    /// How many blocks can be taken off with the state below them still known.
    pub(crate) fn reorganisable(&self) -> usize {
        self.states.len() - 1
    }

    pub(crate) fn head(&self) -> &Arc<MinedBlock> {
        &self.blocks[self.blocks.len() - 1]
    }

    pub(crate) fn world(&self) -> &WorldState {
        &self.states[self.states.len() - 1]
    }

    pub(crate) fn by_number(&self, number: u64) -> Option<&Arc<MinedBlock>> {
        self.blocks.get(usize::try_from(number).ok()?)
    }

    pub(crate) fn by_hash(&self, hash: &B256) -> Option<&Arc<MinedBlock>> {
        self.numbers.get(hash).map(|&number| &self.blocks[number])
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
        Some(Inclusion { block: Arc::clone(&self.blocks[number]), index })
    }

    pub(crate) fn snapshot(&self, id: BlockId) -> Result<Snapshot, StateUnavailable> {
        let block = self.by_id(id).ok_or(StateUnavailable::UnknownBlock)?;
        let number = block.number();
        let oldest = self.oldest_state();
        let world = usize::try_from(number)
            .ok()
            .and_then(|number| number.checked_sub(oldest))
            .and_then(|offset| self.states.get(offset))
            .ok_or(StateUnavailable::Pruned { number, oldest: oldest as u64 })?;
        Ok(Snapshot { block: Arc::clone(block), world: world.clone(), ancestors: self.ancestors_of(number) })
    }

    /// The hashes that a block with this number sees.
    pub(crate) fn ancestors_of(&self, number: u64) -> AncestorHashes {
        let first = number.saturating_sub(AncestorHashes::REACH);
        let hashes = (first..number).map_while(|ancestor| self.by_number(ancestor)).map(|block| block.hash()).collect();
        AncestorHashes::new(first, hashes)
    }

    fn oldest_state(&self) -> usize {
        self.blocks.len() - self.states.len()
    }
}
