use alloy_primitives::Bytes;

/// Why a transaction failed, as the node tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionFailure {
    /// The error in the node's words, such as `execution reverted` or `out of gas`.
    pub error: String,
    /// The revert data; None if the contract returned nothing.
    pub data: Option<Bytes>,
    pub source: FailureSource,
}

/// How the node found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureSource {
    /// The node executed the block again up to the transaction.
    Trace,
    /// The node made the same call on the state before the block: transactions before it in the block may matter.
    ParentBlock,
}
