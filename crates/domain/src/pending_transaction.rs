use alloy_primitives::{Address, B256, Bytes, U256};

use crate::{BlockNumber, Selector};

/// A transaction that the node has, and the index does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingTransaction {
    pub hash: B256,
    /// The block that the node has it in; None if it is in the pool.
    pub block_number: Option<BlockNumber>,
    pub from: Address,
    /// None for a contract creation.
    pub to: Option<Address>,
    pub value: U256,
    pub nonce: u64,
    pub gas_limit: u64,
    /// The most that it pays per gas, in wei.
    pub gas_price: Option<u128>,
    pub max_fee_per_gas: Option<u128>,
    pub max_priority_fee_per_gas: Option<u128>,
    /// The transaction type: 0 for legacy, 2 for EIP-1559.
    pub tx_type: u64,
    /// Call data or creation code.
    pub input: Bytes,
}

impl PendingTransaction {
    /// The selector of the called function, as for [`crate::Transaction::method`].
    #[must_use]
    pub fn method(&self) -> Option<Selector> {
        self.to?;
        self.input.first_chunk().copied()
    }

    /// Whether it is in no block, or in one above the tip of the index. One in a block at or below the tip was mined
    /// below the first indexed block, or is about to be moved by a reorg.
    #[must_use]
    pub fn is_ahead_of(&self, tip: BlockNumber) -> bool {
        self.block_number.is_none_or(|number| number > tip)
    }
}
