//! All calls of a transaction, also those that move no value.

use domain::{Address, B256, U256};

use crate::{NodeError, decode::RawCallTree, internal::trace_transaction_as, upstream::Upstream};

/// The calls of a transaction in the order of execution, the outermost first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallTree {
    pub frames: Vec<TracedFrame>,
    /// Calls that are not listed.
    pub left_out: usize,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TracedFrame {
    /// 0 for the transaction itself.
    pub depth: u32,
    /// As the EVM calls it, such as `DELEGATECALL`.
    pub kind: String,
    pub from: Address,
    pub to: Option<Address>,
    pub value: U256,
    pub gas_used: u64,
    /// The first four bytes of the input.
    pub selector: Option<[u8; 4]>,
    /// Why this call failed.
    pub error: Option<String>,
}

/// None if the node does not trace or does not have the transaction.
pub(crate) async fn trace(upstream: &Upstream, hash: B256) -> Result<Option<CallTree>, NodeError> {
    Ok(trace_transaction_as::<RawCallTree>(upstream, hash).await?.map(|RawCallTree(tree)| tree))
}
