use alloy_primitives::U256;

use crate::BlockNumber;

/// Figures of the whole chain, as far as it is indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// None before the first block is indexed.
    pub latest_block: Option<BlockNumber>,
    pub total_transactions: u64,
    pub total_tokens: u64,
    /// Blocks that may have made contracts inside calls of which nobody told.
    pub untraced_blocks: u64,
    /// Mean over the transactions of the newest hundred blocks that have any, in wei, rounded down.
    pub average_gas_price: U256,
}

/// What gas cost in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockGasPrice {
    pub block: BlockNumber,
    /// Mean over the block's transactions, in wei, rounded down; None where it has none.
    pub mean: Option<U256>,
}
