//! Transactions by their hashes.

mod authorization;
mod detail;
mod pending;

use domain::{B256, Bytes, PendingTransaction, TransactionDetail};
use futures::future::BoxFuture;

use self::{
    detail::{fetch_inputs, fetch_transaction},
    pending::fetch_pending,
};
use crate::{
    client::NodeClient,
    endpoint::{health::Operation, upstream::Upstream},
    error::NodeError,
};

/// The hash of the block of a transaction, and its call data or creation code.
type MinedInput = (B256, Bytes);

impl NodeClient {
    /// A transaction's call data and logs; None if the node does not have it in a block.
    pub fn find_transaction(&self, hash: B256) -> BoxFuture<'_, Result<Option<TransactionDetail>, NodeError>> {
        Box::pin(async move {
            let request = |_, upstream: Upstream| async move { fetch_transaction(&upstream, hash).await };
            self.with_retries(Operation::Transaction, self.tries(), request).await
        })
    }

    /// A transaction that is not indexed; None if the node does not know it.
    pub fn find_pending(&self, hash: B256) -> BoxFuture<'_, Result<Option<PendingTransaction>, NodeError>> {
        Box::pin(async move {
            let request = |_, upstream: Upstream| async move { fetch_pending(&upstream, hash).await };
            self.with_retries(Operation::Transaction, self.tries(), request).await
        })
    }

    /// The call data or creation code of many transactions, one call each, in the order of the hashes. With the hash of its
    /// block; None if the node does not have it in one.
    pub fn find_inputs<'a>(&'a self, hashes: &'a [B256]) -> BoxFuture<'a, Result<Vec<Option<MinedInput>>, NodeError>> {
        Box::pin(async move {
            let request = |_, upstream: Upstream| async move { fetch_inputs(&upstream, hashes).await };
            self.with_retries(Operation::Transaction, self.tries(), request).await
        })
    }
}
