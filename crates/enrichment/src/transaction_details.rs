use std::{sync::Arc, time::Duration};

use domain::{AuthorizationOutcome, Transaction, TransactionDetail};
use futures::future::BoxFuture;
use node::NodeClient;
use quick_cache::sync::Cache;
use tokio::time::timeout;

/// As long as for the balance of an account: a user waits, and the index has most of a transaction. Pages and the API share
/// the cache, so they share the limit too: a longer one would hold up every response about a transaction when the node hangs.
const NODE_TIMEOUT: Duration = Duration::from_millis(1_500);
/// A node that has not responded for this long is not called.
const UNRESPONSIVE_AFTER: Duration = Duration::from_secs(5);
const CACHED_TRANSACTIONS: usize = 500;
/// Transactions with more input and logs are not cached.
const MAX_CACHED_BYTES: usize = 64 * 1024;

/// Allows the traces that tell what became of authorizations, and counts them; false if the client has no more for them.
pub type MayTrace<'a> = dyn Fn() -> BoxFuture<'a, bool> + Send + Sync + 'a;

/// Input and logs of transactions: fetched from the node and cached.
#[expect(missing_debug_implementations, reason = "a cache without Debug")]
pub struct TransactionDetails {
    node: NodeClient,
    cache: Cache<[u8; 32], Arc<TransactionDetail>>,
}

impl TransactionDetails {
    #[must_use]
    pub fn new(node: NodeClient) -> Self {
        Self { node, cache: Cache::new(CACHED_TRANSACTIONS) }
    }

    /// Makes no node calls. After a reorg, the detail of a transaction that is in another block now is not returned: what a
    /// node says of a transaction in one block never changes.
    #[must_use]
    pub fn find_cached(&self, transaction: &Transaction) -> Option<Arc<TransactionDetail>> {
        self.cache.get(&transaction.hash.0).filter(|cached| cached.block_hash == transaction.block_hash)
    }

    /// None if the node is unavailable, or if it has the transaction in another block than the index.
    pub fn find<'a>(
        &'a self,
        transaction: &'a Transaction,
        may_trace: &'a MayTrace<'_>,
    ) -> BoxFuture<'a, Option<Arc<TransactionDetail>>> {
        Box::pin(async move {
            if let Some(cached) = self.find_cached(transaction) {
                return Some(cached);
            }
            if self.node.silent_for().is_some_and(|waited| waited >= UNRESPONSIVE_AFTER) {
                return None;
            }
            let found = timeout(NODE_TIMEOUT, self.node.find_transaction(transaction.hash)).await.ok()?;
            let found = found
                .inspect_err(|error| tracing::debug!(%error, "cannot fetch the transaction from the node"))
                .ok()?;
            let mut detail = found.filter(|detail| detail.block_hash == transaction.block_hash)?;
            let is_whole = self.add_outcomes(transaction, &mut detail, may_trace).await;
            let detail = Arc::new(detail);
            if is_whole && size(&detail) <= MAX_CACHED_BYTES {
                self.cache.insert(transaction.hash.0, Arc::clone(&detail));
            }
            Some(detail)
        })
    }

    /// Which authorizations had an effect. False if it may be known later.
    async fn add_outcomes(
        &self,
        transaction: &Transaction,
        detail: &mut TransactionDetail,
        may_trace: &MayTrace<'_>,
    ) -> bool {
        let Some(list) = detail.authorizations.as_mut() else { return true };
        let Some(chain) = self.node.expected_chain() else { return list.is_empty() };
        list.iter_mut().for_each(|given| given.outcome = given.outcome_on(chain.chain_id));
        if list.iter().all(|given| given.outcome != AuthorizationOutcome::Unknown) {
            return true;
        }
        if !may_trace().await {
            return false;
        }
        let found = timeout(NODE_TIMEOUT, self.node.find_authorization_outcomes(transaction, list)).await;
        let Ok(Ok(outcomes)) = found.inspect_err(|error| tracing::debug!(%error, "no outcomes of authorizations"))
        else {
            return false;
        };
        list.iter_mut().zip(outcomes).for_each(|(given, outcome)| given.outcome = outcome);
        true
    }
}

fn size(detail: &TransactionDetail) -> usize {
    let logs: usize = detail.logs.iter().map(|log| log.data.len() + log.topics.len() * 32 + 64).sum();
    detail.input.len() + logs
}
