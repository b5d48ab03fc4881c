use contracts::UserOperation;
use domain::B256;

use super::{AddressLink, Amount, BlockLink, Moment, PageNames, TransactionLink, grouped, short, shown_reason};

/// Maximum characters of a reason in a table.
const MAX_REASON: usize = 160;

/// What an account asked a bundler to execute (ERC-4337), in a table.
pub(crate) struct UserOperationRow {
    /// Identifies the row while the page is open.
    pub(crate) key: String,
    pub(crate) hash: B256,
    pub(crate) shown_hash: String,
    pub(crate) transaction: TransactionLink,
    pub(crate) block: BlockLink,
    pub(crate) time: Moment,
    pub(crate) sender: AddressLink,
    /// None if the sender paid by itself.
    pub(crate) paymaster: Option<AddressLink>,
    pub(crate) bundler: AddressLink,
    pub(crate) succeeded: bool,
    /// Why it failed, if the entry point says so.
    pub(crate) reason: Option<String>,
    pub(crate) gas_cost: Amount,
    pub(crate) gas_used: String,
}

impl UserOperationRow {
    pub(crate) fn new(operation: &UserOperation, names: &PageNames) -> Self {
        Self {
            key: format!("{:#x}-{}", operation.tx_hash, operation.log_index),
            hash: operation.hash,
            shown_hash: short(&operation.hash.to_string()),
            transaction: TransactionLink::new(operation.tx_hash),
            block: BlockLink::new(operation.block_number),
            time: Moment::of(operation.timestamp),
            sender: names.address(operation.sender),
            paymaster: operation.paymaster.map(|paymaster| names.address(paymaster)),
            bundler: names.address(operation.bundler),
            succeeded: operation.succeeded,
            reason: operation.reason.as_deref().map(|reason| shown_reason(reason, MAX_REASON)),
            gas_cost: names.coin(operation.gas_cost),
            gas_used: grouped(operation.gas_used),
        }
    }
}
