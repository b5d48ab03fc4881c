//! Input and logs of transactions: fetched from the node and cached.

use std::{sync::Arc, time::Duration};

use domain::{B256, PendingTransaction, Transaction, TransactionDetail};
use node::{CallTree, NodeClient, NodeError, StateChanges};
use quick_cache::sync::Cache;
use tokio::{sync::Semaphore, time::timeout};

use crate::budget::PageBudget;

const CACHED_TRANSACTIONS: usize = 500;
/// Transactions with more input and logs are not cached.
const MAX_CACHED_BYTES: usize = 64 * 1024;
/// Short, since a user waits and the rest of the page is ready.
const TIMEOUT: Duration = Duration::from_secs(3);
/// Concurrent node calls of all pages: pages need no key, and the node is a shared resource.
const MAX_CONCURRENT: usize = 16;

/// What an operation counts for in the budget: most make one or two node calls.
const CALLS_PER_OPERATION: u32 = 2;

/// What a call of a contract counts for: its code, that of its implementations, and the call.
const CALLS_PER_CONTRACT_CALL: u32 = 4;
const CONTRACT_CALL_TIMEOUT: Duration = Duration::from_secs(15);

/// Why a node call was not made, or has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeCallRefused {
    BudgetSpent,
    TookTooLong,
}

pub(crate) struct Details {
    node: NodeClient,
    budget: Arc<PageBudget>,
    cache: Cache<[u8; 32], Arc<TransactionDetail>>,
    permits: Semaphore,
}

impl Details {
    pub(crate) fn new(node: NodeClient, budget: Arc<PageBudget>) -> Self {
        Self { node, budget, cache: Cache::new(CACHED_TRANSACTIONS), permits: Semaphore::new(MAX_CONCURRENT) }
    }

    /// Runs an operation on the node for a page, with limited concurrency and time, and within the client's budget.
    pub(crate) async fn call_node<T>(&self, operation: impl Future<Output = T>) -> Option<T> {
        if !self.budget.allows_node_calls(CALLS_PER_OPERATION) {
            return None;
        }
        let permitted = async {
            let _permit = self.permits.acquire().await.ok()?;
            Some(operation.await)
        };
        timeout(TIMEOUT, permitted).await.ok().flatten()
    }

    /// Runs a call of a contract that a user asked for: it may take longer than a part of a page.
    pub(crate) async fn call_contract<T>(&self, operation: impl Future<Output = T>) -> Result<T, NodeCallRefused> {
        if !self.budget.allows_node_calls(CALLS_PER_CONTRACT_CALL) {
            return Err(NodeCallRefused::BudgetSpent);
        }
        let permitted = async {
            let _permit = self.permits.acquire().await.ok()?;
            Some(operation.await)
        };
        let done = timeout(CONTRACT_CALL_TIMEOUT, permitted).await.ok().flatten();
        done.ok_or(NodeCallRefused::TookTooLong)
    }

    /// The calls of a transaction, which take the node longer than other parts of pages.
    pub(crate) async fn find_call_tree(
        &self,
        hash: B256,
    ) -> Result<Result<Option<CallTree>, NodeError>, NodeCallRefused> {
        self.call_contract(self.node.find_call_tree(hash)).await
    }

    /// What a transaction changed.
    pub(crate) async fn find_state_changes(
        &self,
        hash: B256,
    ) -> Result<Result<Option<StateChanges>, NodeError>, NodeCallRefused> {
        self.call_contract(self.node.find_state_changes(hash)).await
    }

    /// A transaction that is not indexed; None if the node could not be asked.
    pub(crate) async fn find_pending(&self, hash: B256) -> Option<Result<Option<PendingTransaction>, NodeError>> {
        self.call_node(self.node.find_pending(hash)).await
    }

    /// None if the node is unavailable, or if it has the transaction in another block than the index.
    pub(crate) async fn of(&self, tx: &Transaction) -> Option<Arc<TransactionDetail>> {
        if let Some(cached) = self.cache.get(&tx.hash.0).filter(|cached| cached.block_hash == tx.block_hash) {
            return Some(cached);
        }
        let fetched = self.call_node(self.node.find_transaction(tx.hash)).await?;
        let detail = fetched
            .inspect_err(|error| tracing::debug!(%error, "cannot fetch the transaction from the node"))
            .ok()
            .flatten();
        let detail = Arc::new(detail.filter(|detail| detail.block_hash == tx.block_hash)?);
        if size(&detail) <= MAX_CACHED_BYTES {
            self.cache.insert(tx.hash.0, Arc::clone(&detail));
        }
        Some(detail)
    }
}

fn size(detail: &TransactionDetail) -> usize {
    let logs: usize = detail.logs.iter().map(|log| log.data.len() + log.topics.len() * 32 + 64).sum();
    detail.input.len() + logs
}
