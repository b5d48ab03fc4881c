use domain::Page;
use serde::Serialize;
use utoipa::ToSchema;

use super::{Address, Decimal, Hash, Timestamp, list::list};
use crate::params::Paging;

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserOperation {
    pub user_op_hash: Hash,
    pub entry_point: Address,
    pub sender: Address,
    /// Null if the sender paid by itself.
    #[schema(required = true)]
    pub paymaster: Option<Address>,
    /// The sender of the transaction.
    pub bundler: Address,
    pub nonce: Decimal,
    pub success: bool,
    /// What the paymaster or the sender paid, in wei.
    pub actual_gas_cost: Decimal,
    pub actual_gas_used: Decimal,
    /// Why it failed; null if it succeeded, and if the entry point does not say.
    #[schema(required = true, example = "ERC20: transfer amount exceeds balance")]
    pub reason: Option<String>,
    pub tx_hash: Hash,
    pub block_number: u64,
    pub timestamp: Timestamp,
    /// Of the event, in the block.
    pub log_index: u32,
}

impl From<contracts::UserOperation> for UserOperation {
    fn from(found: contracts::UserOperation) -> Self {
        Self {
            user_op_hash: found.hash.into(),
            entry_point: found.entry_point.into(),
            sender: found.sender.into(),
            paymaster: found.paymaster.map(Address::from),
            bundler: found.bundler.into(),
            nonce: found.nonce.into(),
            success: found.succeeded,
            actual_gas_cost: found.gas_cost.into(),
            actual_gas_used: found.gas_used.into(),
            reason: found.reason,
            tx_hash: found.tx_hash.into(),
            block_number: found.block_number,
            timestamp: Timestamp::from_unix_seconds(found.timestamp),
            log_index: found.log_index,
        }
    }
}

list! {
    pub struct UserOperationList with coverage {
        user_operations: UserOperation,
        total,
    }
}

impl UserOperationList {
    #[must_use]
    pub fn new(page: Page<contracts::UserOperation>, paging: Paging, coverage: domain::Coverage) -> Self {
        Self::of(page.map(UserOperation::from), paging, coverage)
    }
}
