use domain::Page;
use serde::Serialize;
use utoipa::ToSchema;

use super::{Address, Decimal, Hash, Timestamp, list::list};
use crate::params::Paging;

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Block {
    pub number: u64,
    pub hash: Hash,
    pub timestamp: Timestamp,
    pub miner: Address,
    pub tx_count: u32,
    pub gas_used: Decimal,
    pub gas_limit: Decimal,
    pub parent_hash: Hash,
    /// Null before EIP-1559.
    #[schema(required = true)]
    pub base_fee_per_gas: Option<Decimal>,
    /// Of the encoded block, in bytes; null if the node did not tell it.
    #[schema(required = true)]
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

list! {
    pub struct BlockList with coverage {
        blocks: Block,
        total,
    }
}

impl BlockList {
    #[must_use]
    pub fn new(blocks: Page<domain::Block>, paging: Paging, coverage: domain::Coverage) -> Self {
        Self::of(blocks.map(Block::from), paging, coverage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_blocks_has_the_documented_names_and_types() {
        let largest =
            domain::Block { gas_limit: u64::MAX, base_fee_per_gas: Some(u128::MAX), ..domain::Block::sample() };
        let before_1559 = domain::Block { base_fee_per_gas: None, ..largest.clone() };
        let page = Page { items: vec![largest, before_1559], total: 18 };
        insta::assert_json_snapshot!(BlockList::new(
            page,
            Paging::default(),
            domain::Coverage { first_block: Some(0) }
        ));
    }
}
