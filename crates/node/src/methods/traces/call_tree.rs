//! All calls of a transaction, also those that move no value.

use domain::B256;

use super::request::trace_transaction_as;
use crate::{decode::RawCallTree, endpoint::upstream::Upstream, error::NodeError, traced::CallTree};

/// None if the node does not trace or does not have the transaction.
pub(crate) async fn trace(upstream: &Upstream, hash: B256) -> Result<Option<CallTree>, NodeError> {
    Ok(trace_transaction_as::<RawCallTree>(upstream, hash).await?.map(|RawCallTree(tree)| tree))
}
