use std::time::Duration;

use domain::B256;
use futures::future::BoxFuture;
use node::{CallTree, NodeClient, NodeError, StateChanges};
use tokio::time::timeout;

const TIMEOUT: Duration = Duration::from_secs(10);

/// Traces of single transactions, made by the node when somebody asks for them.
#[derive(Debug)]
pub struct TransactionTraces {
    node: NodeClient,
}

#[derive(Debug, thiserror::Error)]
pub enum TraceUnavailable {
    #[error("the node does not trace transactions in this way, or does not have this one")]
    NotSupported,
    #[error("the node did not respond in time")]
    Timeout,
    #[error(transparent)]
    Node(#[from] NodeError),
}

impl TransactionTraces {
    #[must_use]
    pub fn new(node: NodeClient) -> Self {
        Self { node }
    }

    pub fn call_tree(&self, hash: B256) -> BoxFuture<'_, Result<CallTree, TraceUnavailable>> {
        Box::pin(async move { Self::trace(self.node.find_call_tree(hash)).await })
    }

    pub fn state_changes(&self, hash: B256) -> BoxFuture<'_, Result<StateChanges, TraceUnavailable>> {
        Box::pin(async move { Self::trace(self.node.find_state_changes(hash)).await })
    }

    async fn trace<T>(traced: impl Future<Output = Result<Option<T>, NodeError>>) -> Result<T, TraceUnavailable> {
        let traced = timeout(TIMEOUT, traced).await.map_err(|_| TraceUnavailable::Timeout)??;
        traced.ok_or(TraceUnavailable::NotSupported)
    }
}
