//! Node calls of pages: a few at a time, for a limited time, within the budget of the client.

use std::{sync::Arc, time::Duration};

use admission::PageBudget;
use contracts::NodeAccess;
use futures::future::BoxFuture;
use tokio::time::timeout;

/// Short, since a user waits and the rest of the page is ready.
const TIMEOUT: Duration = Duration::from_secs(3);

/// What an operation counts for in the budget: most make one or two node calls.
const CALLS_PER_OPERATION: u32 = 2;

/// What a call of a contract counts for: its code, that of its implementations, and the call.
const CALLS_PER_CONTRACT_CALL: u32 = 4;
const CONTRACT_CALL_TIMEOUT: Duration = Duration::from_secs(15);

/// Why a node call was not made, or has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeCallError {
    BudgetSpent,
    TimedOut,
}

pub(crate) struct NodeCalls {
    budget: Arc<PageBudget>,
}

impl NodeCalls {
    pub(crate) fn new(budget: Arc<PageBudget>) -> Self {
        Self { budget }
    }

    /// Runs an operation on the node for a page.
    pub(crate) async fn run<T>(&self, operation: impl Future<Output = T>) -> Option<T> {
        if !self.budget.allows_node_calls(CALLS_PER_OPERATION) {
            return None;
        }
        let permitted = async {
            let _permit = self.budget.node_call().await.ok()?;
            Some(operation.await)
        };
        timeout(TIMEOUT, permitted).await.ok().flatten()
    }

    /// Runs a call of a contract or a trace that a user requested: it may take longer than a part of a page.
    pub(crate) async fn run_long<T>(&self, operation: impl Future<Output = T>) -> Result<T, NodeCallError> {
        if !self.budget.allows_node_calls(CALLS_PER_CONTRACT_CALL) {
            return Err(NodeCallError::BudgetSpent);
        }
        let permitted = async {
            let _permit = self.budget.node_call().await.ok()?;
            Some(operation.await)
        };
        let done = timeout(CONTRACT_CALL_TIMEOUT, permitted).await.ok().flatten();
        done.ok_or(NodeCallError::TimedOut)
    }
}

impl NodeAccess for NodeCalls {
    fn run<'a>(&'a self, operation: BoxFuture<'a, ()>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let _ = self.run(operation).await;
        })
    }
}
