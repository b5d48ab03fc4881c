use domain::Page;
use serde::Serialize;
use utoipa::ToSchema;

use super::{Address, Coverage, Decimal, Hash, PageNumber, PageSize, Timestamp};
use crate::params::Paging;

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Block {
    #[schema(example = 21_000_000)]
    pub number: u64,
    pub hash: Hash,
    pub timestamp: Timestamp,
    pub miner: Address,
    #[schema(example = 180)]
    pub tx_count: u32,
    pub gas_used: Decimal,
    pub gas_limit: Decimal,
    pub parent_hash: Hash,
    /// Null before EIP-1559.
    #[schema(required = true)]
    pub base_fee_per_gas: Option<Decimal>,
    /// Size of the encoded block in bytes; null if the node did not tell it.
    #[schema(required = true, example = 77_012)]
    pub size: Option<u64>,
}

impl From<domain::Block> for Block {
    fn from(block: domain::Block) -> Self {
        Self {
            number: block.number,
            hash: block.hash.into(),
            timestamp: Timestamp::from_unix_seconds(block.timestamp),
            miner: block.miner.into(),
            tx_count: block.tx_count,
            gas_used: block.gas_used.into(),
            gas_limit: block.gas_limit.into(),
            parent_hash: block.parent_hash.into(),
            base_fee_per_gas: block.base_fee_per_gas.map(Decimal::from),
            size: Some(block.size).filter(|size| *size > 0),
        }
    }
}

/// A page of blocks, newest first.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BlockList {
    pub blocks: Vec<Block>,
    /// Number of indexed blocks.
    #[schema(example = 21_000_001)]
    pub total: u64,
    #[schema(value_type = PageNumber)]
    pub page: u64,
    #[schema(value_type = PageSize)]
    pub limit: u32,
    #[serde(flatten)]
    pub coverage: Coverage,
}

impl BlockList {
    #[must_use]
    pub fn new(blocks: Page<domain::Block>, paging: Paging, coverage: domain::Coverage) -> Self {
        Self {
            blocks: blocks.items.into_iter().map(Block::from).collect(),
            total: blocks.total,
            page: paging.page(),
            limit: paging.limit(),
            coverage: coverage.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::{Address, B256};

    use super::*;

    fn block() -> domain::Block {
        domain::Block {
            number: 17,
            hash: B256::repeat_byte(0xab),
            parent_hash: B256::repeat_byte(0x01),
            timestamp: 1_794_700_800,
            miner: Address::repeat_byte(0xcd),
            tx_count: 3,
            gas_used: 63_000,
            gas_limit: u64::MAX,
            base_fee_per_gas: Some(u128::MAX),
            size: 1_234,
        }
    }

    #[test]
    fn a_page_of_blocks_has_the_documented_names_and_types() {
        let before_1559 = domain::Block { base_fee_per_gas: None, ..block() };
        let page = Page { items: vec![block(), before_1559], total: 18 };
        insta::assert_json_snapshot!(BlockList::new(
            page,
            Paging::default(),
            domain::Coverage { first_block: Some(0) }
        ));
    }
}
