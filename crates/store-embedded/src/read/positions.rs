use domain::{B256, BlockNumber};

use crate::keys::AddressId;

/// Where a transaction is, for the events in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct TransactionPosition {
    pub(super) tx_hash: B256,
    pub(super) tx_index: u32,
    pub(super) from: AddressId,
    pub(super) block_number: BlockNumber,
    pub(super) timestamp: u64,
}
