use std::{sync::Arc, time::Duration};

use domain::{Transaction, TransactionDetail, TransactionFailure};
use futures::future::BoxFuture;
use node::{NodeClient, NodeError};
use store::{CachedFailures, StoreError};
use tokio::time::timeout;

/// A user waits, and the rest of the transaction is ready.
const NODE_TIMEOUT: Duration = Duration::from_secs(3);

/// Why transactions failed: from the node, stored once found.
#[expect(missing_debug_implementations, reason = "traits without Debug")]
pub struct Failures {
    node: NodeClient,
    store: Arc<dyn CachedFailures>,
}

#[derive(Debug, thiserror::Error)]
pub enum FailureUnavailable {
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the node did not respond in time")]
    Timeout,
    #[error("the node did not return the transaction")]
    NoDetail,
}

impl Failures {
    #[must_use]
    pub fn new(node: NodeClient, store: Arc<dyn CachedFailures>) -> Self {
        Self { node, store }
    }

    /// Why a transaction failed; None if it succeeded or the node cannot tell. The node is asked only if it gave the
    /// detail of the transaction.
    pub fn find<'a>(
        &'a self,
        transaction: &'a Transaction,
        detail: Option<&'a TransactionDetail>,
    ) -> BoxFuture<'a, Result<Option<TransactionFailure>, FailureUnavailable>> {
        Box::pin(async move {
            if transaction.succeeded {
                return Ok(None);
            }
            let (hash, block) = (transaction.hash, transaction.block_hash);
            if let Some(failure) = self.store.find_failure(hash, block).await? {
                return Ok(Some(failure));
            }
            let detail = detail.ok_or(FailureUnavailable::NoDetail)?;
            let found = timeout(NODE_TIMEOUT, self.node.find_failure(transaction, detail)).await;
            let found = found.map_err(|_| FailureUnavailable::Timeout)??;
            if let Some(failure) = &found
                && let Err(error) = self.store.save_failure(hash, block, failure.clone()).await
            {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, %hash, "cannot store why the transaction failed");
            }
            Ok(found)
        })
    }
}
