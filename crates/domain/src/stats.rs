use alloy_primitives::U256;

use crate::{BlockNumber, TracedRange};

/// Statistics of the indexed chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// None before the first block is indexed.
    pub latest_block: Option<BlockNumber>,
    pub total_transactions: u64,
    pub total_tokens: u64,
    /// Blocks without traces, whose internal contract creations are unknown.
    pub untraced_blocks: u64,
    /// The blocks whose internal transactions are indexed; None without traces.
    pub traced_range: Option<TracedRange>,
    /// Mean over the transactions with a price in the chain's coin of the latest hundred non-empty blocks, in wei, rounded down; None
    /// without such a transaction.
    pub average_gas_price: Option<U256>,
}

/// The mean gas price of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockGasPrice {
    pub block: BlockNumber,
    /// In wei, rounded down; None for a block without a transaction that has a price in the chain's coin.
    pub mean: Option<U256>,
}
