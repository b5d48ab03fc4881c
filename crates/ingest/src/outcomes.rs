//! Whether transactions before Byzantium succeeded. Their receipts have no status.

use std::time::Duration;

use domain::{Address, FetchedBlock};
use node::NodeClient;
use tokio::time::timeout;
use tracing::debug;

use crate::recent_traces::Findings;

/// How long a block waits for code.
const CODE_TIMEOUT: Duration = Duration::from_secs(3);

/// Decides the outcomes that receipts do not tell: by the trace of the block, and without one by the code of contracts that were
/// created. The others stay unknown.
pub(crate) async fn decide_outcomes(block: &mut FetchedBlock, found: Option<&Findings>, node: &NodeClient) {
    if block.transactions.iter().all(|tx| tx.status_known) {
        return;
    }
    match found {
        Some(found) => by_trace(block, found),
        None => by_code(block, node).await,
    }
}

fn by_trace(block: &mut FetchedBlock, found: &Findings) {
    for tx in block.transactions.iter_mut().filter(|tx| !tx.status_known) {
        tx.status_known = true;
        tx.succeeded = !found.failed.contains(&tx.index);
        // Nodes also return the address of a failed creation.
        tx.created = tx.created.filter(|_| tx.succeeded);
    }
}

/// No other transaction can create a contract at the same address, so code there proves that the creation succeeded. No code proves
/// nothing: the contract may have destroyed itself.
async fn by_code(block: &mut FetchedBlock, node: &NodeClient) {
    let undecided = block.transactions.iter().filter(|tx| !tx.status_known);
    let created: Vec<Address> = undecided.filter_map(|tx| tx.created).collect();
    let mut codes = Vec::new();
    if !created.is_empty() {
        match timeout(CODE_TIMEOUT, node.codes(created, block.block.id())).await {
            Ok(Ok(found)) => codes = found.codes,
            Ok(Err(error)) => debug!(block = block.block.number, %error, "the outcome of creations stays unknown"),
            Err(_) => debug!(block = block.block.number, "the outcome of creations stays unknown: no code in time"),
        }
    }
    let mut codes = codes.into_iter();
    for tx in block.transactions.iter_mut().filter(|tx| !tx.status_known && tx.created.is_some()) {
        tx.status_known = codes.next().is_some_and(|code| !code.is_empty());
        tx.created = tx.created.filter(|_| tx.status_known);
    }
}

#[cfg(test)]
mod tests {
    use domain::Transaction;

    use super::*;
    use crate::{
        decode::samples::{ROUTER, TOKEN, fetched, transaction},
        test_node::{CallReply, TestNode},
    };

    /// A payment, a creation, and a call with a status.
    fn block() -> FetchedBlock {
        let unknown = |tx: Transaction| Transaction { status_known: false, ..tx };
        let mut block = fetched(Vec::new());
        block.transactions = vec![
            unknown(transaction(0, Some(ROUTER), None)),
            unknown(transaction(1, None, Some(TOKEN))),
            Transaction { succeeded: false, ..transaction(2, Some(ROUTER), None) },
        ];
        block
    }

    fn outcomes(block: &FetchedBlock) -> Vec<(bool, bool, bool)> {
        block.transactions.iter().map(|tx| (tx.status_known, tx.succeeded, tx.created.is_some())).collect()
    }

    #[tokio::test]
    async fn a_trace_decides() {
        let node = TestNode::start(|_, _| CallReply::Fail).await;
        for (failed, expected) in [
            (vec![1, 2], [(true, true, false), (true, false, false), (true, false, false)]),
            (vec![0, 2], [(true, false, false), (true, true, true), (true, false, false)]),
        ] {
            let mut block = block();
            let found = Findings { creations: Vec::new(), failed };
            decide_outcomes(&mut block, Some(&found), &node.client()).await;
            assert_eq!(outcomes(&block), expected);
        }
    }

    #[tokio::test]
    async fn without_a_trace_code_proves_a_creation_and_the_rest_is_unknown() {
        let node = TestNode::start(|_, _| CallReply::Fail).await;
        let mut with_code = block();
        decide_outcomes(&mut with_code, None, &node.client()).await;
        assert_eq!(outcomes(&with_code), [(false, true, false), (true, true, true), (true, false, false)]);
        let unreachable = node.client();
        drop(node);
        let mut without = block();
        decide_outcomes(&mut without, None, &unreachable).await;
        assert_eq!(outcomes(&without), [(false, true, false), (false, true, false), (true, false, false)]);
    }
}
