use alloy_primitives::{B256, Bytes};

use crate::{Log, Page, Trade, Transfer};

/// Details of a transaction that are not in the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionDetail {
    pub block_hash: B256,
    /// Call data or creation code.
    pub input: Bytes,
    pub gas_limit: u64,
    /// The transaction type: 0 for legacy, 2 for EIP-1559.
    pub form: u64,
    pub logs: Vec<Log>,
}

/// The first transfers and trades of a transaction, with totals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionEvents {
    pub transfers: Page<Transfer>,
    pub trades: Page<Trade>,
}
