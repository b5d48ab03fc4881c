use alloy_primitives::{Address, B256};

/// The height of a block.
pub type BlockNumber = u64;

/// One block of one branch: its height alone would not tell the branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlockRef {
    pub number: BlockNumber,
    pub hash: B256,
}

/// How a caller names a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockId {
    Number(BlockNumber),
    Hash(B256),
}

/// What tells one chain from every other. Two chains may share an id (private nets do), never a genesis block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainIdentity {
    pub chain_id: u64,
    pub genesis_hash: B256,
}

/// A block's header, as far as the explorer keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    pub number: BlockNumber,
    pub hash: B256,
    pub parent_hash: B256,
    /// Unix seconds.
    pub timestamp: u64,
    pub miner: Address,
    pub tx_count: u32,
    pub gas_used: u64,
    pub gas_limit: u64,
    /// Absent before EIP-1559.
    pub base_fee_per_gas: Option<u128>,
    /// Bytes of the encoded block.
    pub size: u64,
}

impl Block {
    #[must_use]
    pub fn id(&self) -> BlockRef {
        BlockRef { number: self.number, hash: self.hash }
    }
}
