//! Who made the contracts that were made inside calls.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use domain::{BlockNumber, FetchedBlock, InnerCreation, Transaction};
use node::NodeClient;
use tokio::sync::Semaphore;
use tracing::warn;

use crate::Traces;

/// Traces under way at once, at most: the node has its blocks to make.
const AT_ONCE: usize = 4;
/// What a transaction costs that runs no code.
const GAS_WITHOUT_CODE: u64 = 21_000;

/// Asks the node's traces, as far as it has any. They never stop a block: what they do not tell in time stays open.
pub(crate) struct CreationFinder {
    node: NodeClient,
    traces: Traces,
    turns: Semaphore,
    patience: Duration,
    rest: Duration,
    resting_until: Mutex<Option<Instant>>,
}

impl CreationFinder {
    /// `patience` is how long a block whose turn has come waits for its trace, `rest` how long the node is not asked
    /// after it failed.
    pub(crate) fn new(node: NodeClient, traces: Traces, patience: Duration, rest: Duration) -> Self {
        Self { node, traces, turns: Semaphore::new(AT_ONCE), patience, rest, resting_until: Mutex::new(None) }
    }

    /// None where nobody tells.
    pub(crate) async fn find(&self, block: &FetchedBlock) -> Option<Vec<InnerCreation>> {
        if !block.transactions.iter().any(may_have_made_contracts) {
            return Some(Vec::new());
        }
        if self.traces == Traces::Off {
            return None;
        }
        let _turn = self.turns.acquire().await.ok()?;
        // Looked at when the turn has come: of all who wait for a node that fails, few find it out by themselves.
        if self.is_resting() {
            return None;
        }
        match tokio::time::timeout(self.patience, self.node.find_inner_creations(block)).await {
            Ok(Ok(found)) => found,
            Ok(Err(error)) => self.give_up(block.block.number, &error.to_string()),
            Err(_) => self.give_up(block.block.number, "it took too long"),
        }
    }

    fn give_up(&self, block: BlockNumber, reason: &str) -> Option<Vec<InnerCreation>> {
        let mut resting_until = self.resting_until.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        // Many blocks may have been waiting: one word for all of them.
        if resting_until.is_none_or(|until| until <= now) {
            warn!(block, reason, "the node does not trace for now: who made contracts inside calls stays open");
            *resting_until = Some(now + self.rest);
        }
        None
    }

    fn is_resting(&self) -> bool {
        let until = *self.resting_until.lock().unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|until| until > Instant::now())
    }
}

fn may_have_made_contracts(tx: &Transaction) -> bool {
    tx.succeeded && tx.gas_used > GAS_WITHOUT_CODE
}

#[cfg(test)]
mod tests {
    use domain::{Address, B256};
    use serde_json::{Value, json};

    use super::*;
    use crate::decode::samples::{ROUTER, fetched, transaction};
    use crate::test_node::{CallReply, TestNode};

    const SECOND: Duration = Duration::from_secs(1);

    /// A block with one transaction that ran code.
    fn block() -> FetchedBlock {
        let mut block = fetched(Vec::new());
        block.transactions = vec![Transaction { gas_used: 90_000, ..transaction(0, Some(ROUTER), None) }];
        block
    }

    async fn node(trace: Result<Value, Value>) -> TestNode {
        TestNode::tracing(|_, _| CallReply::Revert, trace, Duration::ZERO).await
    }

    fn trace_of(hash: B256) -> Value {
        let [one, two] = [1, 2].map(|byte| Address::repeat_byte(byte).to_string());
        json!([{ "txHash": hash.to_string(), "result": {
            "type": "CALL", "from": one, "to": one, "calls": [{ "type": "CREATE2", "from": one, "to": two }],
        }}])
    }

    #[tokio::test]
    async fn contracts_that_were_made_inside_calls_are_told() {
        let node = node(Ok(trace_of(block().transactions[0].hash))).await;
        let finder = CreationFinder::new(node.client(), Traces::Auto, SECOND, SECOND);
        let [creator, created] = [1, 2].map(Address::repeat_byte);
        assert_eq!(finder.find(&block()).await, Some(vec![InnerCreation { tx_index: 0, creator, created }]));
    }

    #[tokio::test]
    async fn where_no_code_ran_nobody_is_asked() {
        let node = node(Err(json!({ "code": -32603, "message": "no" }))).await;
        let finder = CreationFinder::new(node.client(), Traces::Auto, SECOND, SECOND);
        let mut quiet = block();
        quiet.transactions[0].gas_used = GAS_WITHOUT_CODE;
        assert_eq!(finder.find(&quiet).await, Some(vec![]));
        assert_eq!(node.traces(), 0);
    }

    #[tokio::test]
    async fn a_node_that_does_not_trace_is_asked_once() {
        let node = node(Err(json!({ "code": -32601, "message": "the method does not exist" }))).await;
        let finder = CreationFinder::new(node.client(), Traces::Auto, SECOND, SECOND);
        for _ in 0..3 {
            assert_eq!(finder.find(&block()).await, None);
        }
        assert_eq!(node.traces(), 1);
    }

    #[tokio::test]
    async fn a_node_that_fails_is_left_alone_for_a_while_and_asked_again() {
        let node = node(Err(json!({ "code": -32603, "message": "the node is overloaded" }))).await;
        let finder = CreationFinder::new(node.client(), Traces::Auto, SECOND, Duration::from_millis(50));
        assert_eq!(finder.find(&block()).await, None);
        assert_eq!(finder.find(&block()).await, None);
        assert_eq!(node.traces(), 1);
        tokio::time::sleep(Duration::from_millis(60)).await;
        assert_eq!(finder.find(&block()).await, None);
        assert_eq!(node.traces(), 2);
    }

    #[tokio::test]
    async fn a_node_that_is_too_slow_holds_nobody_up_for_long() {
        let trace = Ok(trace_of(block().transactions[0].hash));
        let node = TestNode::tracing(|_, _| CallReply::Revert, trace, SECOND).await;
        let finder = CreationFinder::new(node.client(), Traces::Auto, Duration::from_millis(100), 60 * SECOND);
        let (begun, block) = (Instant::now(), block());
        let found = futures::future::join_all((0..50).map(|_| finder.find(&block))).await;
        assert!(found.iter().all(Option::is_none));
        assert!(begun.elapsed() < SECOND, "{:?}", begun.elapsed());
        assert!(node.traces() <= AT_ONCE);
    }

    #[tokio::test]
    async fn the_trace_of_another_block_is_not_believed() {
        let node = node(Ok(trace_of(B256::repeat_byte(0x77)))).await;
        let finder = CreationFinder::new(node.client(), Traces::Auto, SECOND, SECOND);
        assert_eq!(finder.find(&block()).await, None);
    }

    #[tokio::test]
    async fn an_operator_who_wants_no_traces_gets_none() {
        let node = node(Ok(trace_of(block().transactions[0].hash))).await;
        let finder = CreationFinder::new(node.client(), Traces::Off, SECOND, SECOND);
        assert_eq!(finder.find(&block()).await, None);
        assert_eq!(node.traces(), 0);
    }
}
