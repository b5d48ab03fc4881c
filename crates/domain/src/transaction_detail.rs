use alloy_primitives::{B256, Bytes};

use crate::{Log, Page, Trade, Transfer};

/// What a transaction carried and what it left, beyond what the index keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionDetail {
    pub block_hash: B256,
    /// Call data, or a new contract's code.
    pub input: Bytes,
    pub gas_limit: u64,
    /// The number of its form: 0 for the oldest, 2 for EIP-1559.
    pub form: u64,
    pub logs: Vec<Log>,
}

/// What moved in a transaction: the first so many of each, and how many there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionEvents {
    pub transfers: Page<Transfer>,
    pub trades: Page<Trade>,
}
