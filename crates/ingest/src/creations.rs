//! Who made the contracts that were made inside calls.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::{BlockNumber, FetchedBlock, InnerCreation, Transaction};
use node::NodeClient;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::Traces;

/// Traces under way at once, at most: the node has its blocks to make.
const AT_ONCE: usize = 4;
/// How long a trace is waited for where none came before, and where traces are quick.
const FIRST_WAIT: Duration = Duration::from_secs(4);
/// A trace may take this much times the usual.
const OVERDUE_FACTOR: u32 = 10;
const LONGEST_REST: Duration = Duration::from_secs(15 * 60);
/// What a transaction costs that runs no code.
const GAS_WITHOUT_CODE: u64 = 21_000;

/// Asks the node's traces, as far as it has any. They never stop a block: what they do not tell in time stays open.
pub(crate) struct CreationFinder {
    node: NodeClient,
    traces: Traces,
    turns: Semaphore,
    patience: Duration,
    first_rest: Duration,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// How long a trace takes, of late; a slow one counts at once.
    usual: Option<Duration>,
    resting_until: Option<Instant>,
    rest: Option<Duration>,
    /// One block finds out, after a rest, whether the node traces again.
    trying: bool,
}

/// What to do about the trace of a block.
enum Choice {
    Wait,
    /// Go without, and find out beside whether the node traces again.
    TryBeside,
    GoWithout,
}

impl CreationFinder {
    /// `patience` is how long a block whose turn has come waits for its trace at most, `first_rest` how long the node is
    /// not asked after it failed; the next rest is twice as long.
    pub(crate) fn new(node: NodeClient, traces: Traces, patience: Duration, first_rest: Duration) -> Self {
        Self { node, traces, turns: Semaphore::new(AT_ONCE), patience, first_rest, state: Mutex::default() }
    }

    /// None where nobody tells.
    pub(crate) async fn find(self: &Arc<Self>, block: &FetchedBlock) -> Option<Vec<InnerCreation>> {
        if !block.transactions.iter().any(may_have_made_contracts) {
            return Some(Vec::new());
        }
        if self.traces == Traces::Off {
            return None;
        }
        let _turn = self.turns.acquire().await.ok()?;
        // Decided when the turn has come: of all that wait for a node that fails, few find it out by themselves.
        match self.choose() {
            Choice::Wait => self.ask(block).await,
            Choice::TryBeside => {
                let (finder, block) = (Arc::clone(self), block.clone());
                tokio::spawn(async move { finder.ask(&block).await });
                None
            }
            Choice::GoWithout => None,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn choose(&self) -> Choice {
        let (mut state, now) = (self.state(), Instant::now());
        match state.resting_until {
            None => Choice::Wait,
            Some(until) if until > now || state.trying => Choice::GoWithout,
            Some(_) => {
                state.trying = true;
                Choice::TryBeside
            }
        }
    }

    async fn ask(&self, block: &FetchedBlock) -> Option<Vec<InnerCreation>> {
        let (wait, begun) = (self.wait(), Instant::now());
        match tokio::time::timeout(wait, self.node.find_inner_creations(block)).await {
            Ok(Ok(found)) => {
                self.worked(begun.elapsed());
                found
            }
            Ok(Err(error)) => self.give_up(block.block.number, &error.to_string()),
            Err(_) => self.give_up(block.block.number, "it took too long"),
        }
    }

    /// How long a block waits for its trace.
    fn wait(&self) -> Duration {
        let longest = self.patience;
        match self.state().usual {
            None => longest.min(FIRST_WAIT),
            Some(usual) => (usual * OVERDUE_FACTOR).clamp(longest.min(FIRST_WAIT), longest),
        }
    }

    fn worked(&self, took: Duration) {
        let mut state = self.state();
        let usual = state.usual.map_or(took, |usual| took.max(usual - usual / 8));
        if state.trying {
            info!("the node traces again");
        }
        *state = State { usual: Some(usual), ..State::default() };
    }

    fn give_up(&self, block: BlockNumber, reason: &str) -> Option<Vec<InnerCreation>> {
        let (mut state, now) = (self.state(), Instant::now());
        // Many blocks may have been waiting: one report for all of them.
        if state.resting_until.is_none() || state.trying {
            let rest = state.rest.map_or(self.first_rest, |last| (last * 2).min(LONGEST_REST));
            warn!(block, reason, ?rest, "the node does not trace now: who made contracts inside calls stays open");
            *state = State { resting_until: Some(now + rest), rest: Some(rest), usual: state.usual, trying: false };
        }
        None
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

    fn finder(node: NodeClient, traces: Traces, patience: Duration, first_rest: Duration) -> Arc<CreationFinder> {
        Arc::new(CreationFinder::new(node, traces, patience, first_rest))
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
        let finder = finder(node.client(), Traces::Auto, SECOND, SECOND);
        let [creator, created] = [1, 2].map(Address::repeat_byte);
        assert_eq!(finder.find(&block()).await, Some(vec![InnerCreation { tx_index: 0, creator, created }]));
    }

    #[tokio::test]
    async fn where_no_code_ran_nobody_is_asked() {
        let node = node(Err(json!({ "code": -32603, "message": "no" }))).await;
        let finder = finder(node.client(), Traces::Auto, SECOND, SECOND);
        let mut quiet = block();
        quiet.transactions[0].gas_used = GAS_WITHOUT_CODE;
        assert_eq!(finder.find(&quiet).await, Some(vec![]));
        assert_eq!(node.traces(), 0);
    }

    #[tokio::test]
    async fn a_node_that_does_not_trace_is_asked_once() {
        let node = node(Err(json!({ "code": -32601, "message": "the method does not exist" }))).await;
        let finder = finder(node.client(), Traces::Auto, SECOND, SECOND);
        for _ in 0..3 {
            assert_eq!(finder.find(&block()).await, None);
        }
        assert_eq!(node.traces(), 1);
    }

    #[tokio::test]
    async fn a_node_that_fails_is_left_alone_for_a_while_and_asked_again() {
        let node = node(Err(json!({ "code": -32603, "message": "the node is overloaded" }))).await;
        let finder = finder(node.client(), Traces::Auto, SECOND, Duration::from_millis(50));
        assert_eq!(finder.find(&block()).await, None);
        assert_eq!(finder.find(&block()).await, None);
        assert_eq!(node.traces(), 1);
        tokio::time::sleep(Duration::from_millis(60)).await;
        assert_eq!(finder.find(&block()).await, None);
        assert_eq!(finder.find(&block()).await, None);
        while node.traces() < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // The second rest is longer than the first.
        tokio::time::sleep(Duration::from_millis(60)).await;
        assert_eq!(finder.find(&block()).await, None);
        assert_eq!(node.traces(), 2);
    }

    #[tokio::test]
    async fn no_block_waits_to_find_out_whether_a_node_traces_again() {
        let trace = Ok(trace_of(block().transactions[0].hash));
        let node = TestNode::tracing(|_, _| CallReply::Revert, trace, SECOND).await;
        let finder = finder(node.client(), Traces::Auto, SECOND / 10, Duration::from_millis(1));
        assert_eq!(finder.find(&block()).await, None);
        tokio::time::sleep(Duration::from_millis(5)).await;
        let begun = Instant::now();
        assert_eq!(finder.find(&block()).await, None);
        assert!(begun.elapsed() < SECOND / 20, "{:?}", begun.elapsed());
    }

    #[tokio::test]
    async fn a_node_that_is_too_slow_holds_nobody_up_for_long() {
        let trace = Ok(trace_of(block().transactions[0].hash));
        let node = TestNode::tracing(|_, _| CallReply::Revert, trace, SECOND).await;
        let finder = finder(node.client(), Traces::Auto, Duration::from_millis(100), 60 * SECOND);
        let (begun, block) = (Instant::now(), block());
        let found = futures::future::join_all((0..50).map(|_| finder.find(&block))).await;
        assert!(found.iter().all(Option::is_none));
        assert!(begun.elapsed() < SECOND, "{:?}", begun.elapsed());
        assert!(node.traces() <= AT_ONCE);
    }

    #[tokio::test]
    async fn the_trace_of_another_block_is_not_believed() {
        let node = node(Ok(trace_of(B256::repeat_byte(0x77)))).await;
        let finder = finder(node.client(), Traces::Auto, SECOND, SECOND);
        assert_eq!(finder.find(&block()).await, None);
    }

    #[tokio::test]
    async fn an_operator_who_wants_no_traces_gets_none() {
        let node = node(Ok(trace_of(block().transactions[0].hash))).await;
        let finder = finder(node.client(), Traces::Off, SECOND, SECOND);
        assert_eq!(finder.find(&block()).await, None);
        assert_eq!(node.traces(), 0);
    }
}
