use alloy_primitives::{Address, B256};

use crate::difference::differing;

/// The height of a block.
pub type BlockNumber = u64;

/// Identifies a block: the height alone does not identify the branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlockRef {
    pub number: BlockNumber,
    pub hash: B256,
}

/// A block by number or by hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockId {
    Number(BlockNumber),
    Hash(B256),
}

/// Identifies a chain. Private networks may share a chain id, but never the genesis block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainIdentity {
    pub chain_id: u64,
    pub genesis_hash: B256,
}

impl std::fmt::Display for ChainIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "chain {} with genesis {}", self.chain_id, self.genesis_hash)
    }
}

/// The stored fields of a block header.
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
    /// None before EIP-1559.
    pub base_fee_per_gas: Option<u128>,
    /// Size of the encoded block in bytes; 0, which no block has, if the node did not tell it.
    pub size: u64,
}

impl Block {
    /// A block with three transactions, for tests.
    #[must_use]
    pub fn sample() -> Self {
        Self {
            number: 17,
            hash: B256::repeat_byte(0xab),
            parent_hash: B256::repeat_byte(0x01),
            timestamp: 1_794_700_800,
            miner: Address::repeat_byte(0xcd),
            tx_count: 3,
            gas_used: 63_000,
            gas_limit: 30_000_000,
            base_fee_per_gas: Some(7),
            size: 1_234,
        }
    }
}

impl Block {
    /// The fields in which two headers with the same hash differ. Their transactions are compared for themselves.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<&'static str> {
        // Every field is named, so that a new one is compared, too.
        let Self {
            number: _,
            hash: _,
            parent_hash,
            timestamp,
            miner,
            tx_count: _,
            gas_used,
            gas_limit,
            base_fee_per_gas,
            // Not every node tells it.
            size: _,
        } = other;
        differing([
            ("parent hash", self.parent_hash == *parent_hash),
            ("time", self.timestamp == *timestamp),
            ("miner", self.miner == *miner),
            ("gas used", self.gas_used == *gas_used),
            ("gas limit", self.gas_limit == *gas_limit),
            ("base fee", self.base_fee_per_gas == *base_fee_per_gas),
        ])
    }

    #[must_use]
    pub fn id(&self) -> BlockRef {
        BlockRef { number: self.number, hash: self.hash }
    }
}
