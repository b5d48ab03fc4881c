//! Call data and logs of transactions: asked of the node, and remembered for those who look again.

use std::sync::Arc;
use std::time::Duration;

use domain::{Transaction, TransactionDetail};
use node::NodeClient;
use quick_cache::sync::Cache;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::budget::PageBudget;

/// Transactions remembered at once.
const REMEMBERED: usize = 500;
/// One whose call data and logs are longer than this is not remembered.
const LONGEST_REMEMBERED: usize = 64 * 1024;
/// A person waits, and the rest of the page is ready.
const PATIENCE: Duration = Duration::from_secs(3);
/// Questions to the node under way at once: pages are free for all, the node is not.
const AT_ONCE: usize = 16;

/// What a question to the node counts for: most take one or two calls.
const CALLS: u32 = 2;

pub(crate) struct Details {
    node: NodeClient,
    budget: Arc<PageBudget>,
    remembered: Cache<[u8; 32], Arc<TransactionDetail>>,
    admission: Semaphore,
}

impl Details {
    pub(crate) fn new(node: NodeClient, budget: Arc<PageBudget>) -> Self {
        Self { node, budget, remembered: Cache::new(REMEMBERED), admission: Semaphore::new(AT_ONCE) }
    }

    /// Waits for an answer of the node on behalf of a page: a few at once, not for long, and within the client's budget.
    pub(crate) async fn ask_node<T>(&self, question: impl Future<Output = T>) -> Option<T> {
        if !self.budget.allows_node_calls(CALLS) {
            return None;
        }
        let admitted = async {
            let _admitted = self.admission.acquire().await.ok()?;
            Some(question.await)
        };
        timeout(PATIENCE, admitted).await.ok().flatten()
    }

    /// None where the node cannot tell now, or tells of another block than the index.
    pub(crate) async fn of(&self, tx: &Transaction) -> Option<Arc<TransactionDetail>> {
        if let Some(known) = self.remembered.get(&tx.hash.0).filter(|known| known.block_hash == tx.block_hash) {
            return Some(known);
        }
        let asked = self.ask_node(self.node.find_transaction(tx.hash)).await?;
        let detail = asked.inspect_err(|error| tracing::debug!(%error, "no details")).ok().flatten();
        let detail = Arc::new(detail.filter(|detail| detail.block_hash == tx.block_hash)?);
        if weight(&detail) <= LONGEST_REMEMBERED {
            self.remembered.insert(tx.hash.0, Arc::clone(&detail));
        }
        Some(detail)
    }
}

fn weight(detail: &TransactionDetail) -> usize {
    let logs: usize = detail.logs.iter().map(|log| log.data.len() + log.topics.len() * 32 + 64).sum();
    detail.input.len() + logs
}
