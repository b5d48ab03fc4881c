//! Traces blocks for what the index needs with them: contracts created inside calls, and the outcome of transactions whose receipts
//! do not tell it.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use domain::{BlockNumber, FetchedBlock, Outcome};
use node::{NodeClient, NodeError};
use tokio::{sync::Semaphore, time::Instant};
use tracing::{debug, info, warn};

use crate::{
    Traces,
    recent_traces::{Findings, RecentTraces},
};

/// Concurrent traces: few, to leave the node capacity for blocks.
const CONCURRENT_TRACES: usize = 4;
/// Blocks that are traced at once: more, since some of them pause between two attempts.
const TRACED_BLOCKS: usize = 6;
/// Timeout before any trace was measured.
const INITIAL_TIMEOUT: Duration = Duration::from_secs(4);
/// The lower bound once traces were measured.
const MIN_TIMEOUT: Duration = Duration::from_secs(2);
/// The timeout is this multiple of the typical duration.
const TIMEOUT_FACTOR: u32 = 10;
/// Consecutive blocks without a trace, each after several attempts, before tracing is paused.
const FAILURE_THRESHOLD: u32 = 2;
/// Between attempts to trace a block that waits for it.
const REQUIRED_PAUSE: Duration = Duration::from_secs(1);
const MAX_BACKOFF: Duration = Duration::from_secs(15 * 60);
/// Blocks that are skipped at most after one whose state the node does not have.
const MAX_SKIPPED: u64 = 32;

/// Traces blocks if the node supports it. A trace blocks the commit only if it is required: otherwise, without one in time, creators stay
/// unknown.
pub(crate) struct CreationFinder {
    node: NodeClient,
    recent: Arc<RecentTraces>,
    traces: Traces,
    /// For blocks.
    permits: Semaphore,
    /// For requests.
    in_flight: Semaphore,
    timeout: Duration,
    first_backoff: Duration,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Typical duration of a trace; a slow one counts immediately.
    typical: Option<Duration>,
    /// Consecutive failures.
    failures: u32,
    backoff_until: Option<Instant>,
    backoff: Option<Duration>,
    /// A probe after the backoff is in flight.
    probing: bool,
    /// The blocks up to this one are skipped, since the node did not have the state to trace one shortly before.
    skipped_to: Option<BlockNumber>,
    /// How many blocks were skipped last.
    skipped: u64,
}

/// Whether to trace a block.
enum Choice {
    Trace,
    /// Skip the trace, and probe in the background whether tracing works again.
    Probe,
    Skip,
}

impl CreationFinder {
    /// `timeout` bounds a trace once it has a permit; `first_backoff` is the pause after a failure and doubles with each
    /// further one.
    pub(crate) fn new(
        node: NodeClient,
        recent: Arc<RecentTraces>,
        traces: Traces,
        timeout: Duration,
        first_backoff: Duration,
    ) -> Self {
        Self {
            node,
            recent,
            traces,
            permits: Semaphore::new(TRACED_BLOCKS),
            in_flight: Semaphore::new(CONCURRENT_TRACES),
            timeout,
            first_backoff,
            state: Mutex::default(),
        }
    }

    /// None if unknown. How much gas a transaction used does not tell whether code ran: refunds and later rules bring it below the
    /// price of a payment. So only a block without a transaction that may have succeeded needs no trace.
    pub(crate) async fn find(self: &Arc<Self>, block: &FetchedBlock) -> Option<Findings> {
        if block.transactions.iter().all(|tx| tx.outcome() == Outcome::Failed) {
            return Some(Findings::default());
        }
        if self.traces == Traces::Off {
            return None;
        }
        let _permit = self.permits.acquire().await.ok()?;
        if self.traces == Traces::Required {
            return self.trace_until_known(block).await;
        }
        // Decided after the permit is acquired, so that few requests reach a failing node.
        match self.choose(block.block.number) {
            Choice::Trace => self.trace(block).await,
            Choice::Probe => {
                let (finder, block) = (Arc::clone(self), block.clone());
                tokio::spawn(async move { finder.trace(&block).await });
                None
            }
            Choice::Skip => None,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn choose(&self, block: BlockNumber) -> Choice {
        let (mut state, now) = (self.state(), Instant::now());
        if state.skipped_to.is_some_and(|last| block <= last) {
            return Choice::Skip;
        }
        match state.backoff_until {
            None => Choice::Trace,
            Some(until) if until > now || state.probing => Choice::Skip,
            Some(_) => {
                state.probing = true;
                Choice::Probe
            }
        }
    }

    async fn trace(&self, block: &FetchedBlock) -> Option<Findings> {
        let (wait, begun) = (self.current_timeout(), Instant::now());
        match self.node.find_internal_calls_of_block_within(block.block.number, wait, &self.in_flight).await {
            Ok(Some(calls)) => {
                let Some(found) = Findings::of(block, &calls) else {
                    return self.failed(block.block.number, "a trace of another block", 1);
                };
                self.succeeded(begun.elapsed());
                self.recent.keep(block.block.id(), calls);
                Some(found)
            }
            // The node does not support tracing.
            Ok(None) => None,
            Err(error) if error.lacks_state() => self.lacks_state(block.block.number),
            // Each further timeout would delay blocks.
            Err(error @ NodeError::TimedOut { .. }) => {
                self.failed(block.block.number, &error.to_string(), FAILURE_THRESHOLD)
            }
            Err(error) => self.failed(block.block.number, &error.to_string(), 1),
        }
    }

    /// Tries again until the node traces the block: the block waits for it. None if it has not the state, or not the block any more.
    async fn trace_until_known(&self, block: &FetchedBlock) -> Option<Findings> {
        let id = block.block.id();
        loop {
            let reason =
                match self.node.find_internal_calls_of_block_within(id.number, self.timeout, &self.in_flight).await {
                    Ok(Some(calls)) => match Findings::of(block, &calls) {
                        Some(found) => {
                            self.recent.keep(id, calls);
                            return Some(found);
                        }
                        None => "a trace of another block".to_owned(),
                    },
                    // The node stopped tracing: nothing is indexed after the next start.
                    Ok(None) => return None,
                    Err(error) if error.lacks_state() => return None,
                    Err(error) => error.to_string(),
                };
            if matches!(self.node.find_block_ref(id.number).await, Ok(found) if found != Some(id)) {
                return None;
            }
            warn!(block = id.number, reason, "the block waits for its trace (--traces required)");
            tokio::time::sleep(self.first_backoff.min(REQUIRED_PAUSE)).await;
        }
    }

    /// Timeout of a trace.
    fn current_timeout(&self) -> Duration {
        let longest = self.timeout;
        match self.state().typical {
            None => longest.min(INITIAL_TIMEOUT),
            Some(typical) => (typical * TIMEOUT_FACTOR).clamp(longest.min(MIN_TIMEOUT), longest),
        }
    }

    fn succeeded(&self, took: Duration) {
        let mut state = self.state();
        let typical = state.typical.map_or(took, |typical| took.max(typical - typical / 8));
        if state.probing {
            info!("tracing works again");
        }
        *state = State { typical: Some(typical), ..State::default() };
    }

    /// Most nodes keep the state of recent blocks only. That is no failure, and needs no pause: the backfill reaches blocks
    /// that the node can trace. Until then few blocks are requested, ever fewer.
    fn lacks_state(&self, block: BlockNumber) -> Option<Findings> {
        let mut state = self.state();
        if state.skipped == 0 {
            info!(block, "the node has no state to trace the block: some creators of contracts stay unknown");
        }
        let skipped = (state.skipped * 2).clamp(1, MAX_SKIPPED);
        let skipped_to = Some(block.saturating_add(skipped)).max(state.skipped_to);
        *state = State { typical: state.typical, skipped, skipped_to, ..State::default() };
        None
    }

    fn failed(&self, block: BlockNumber, reason: &str, weight: u32) -> Option<Findings> {
        let (mut state, now) = (self.state(), Instant::now());
        state.failures += weight;
        if state.failures < FAILURE_THRESHOLD {
            debug!(block, reason, "tracing failed: creators of contracts created inside calls stay unknown");
            return None;
        }
        // Reported once for all blocks that were waiting.
        if state.backoff_until.is_none() || state.probing {
            let backoff = state.backoff.map_or(self.first_backoff, |last| (last * 2).min(MAX_BACKOFF));
            warn!(
                block,
                reason,
                ?backoff,
                "tracing failed, pausing it: creators of contracts created inside calls stay unknown"
            );
            *state = State {
                backoff_until: Some(now + backoff),
                backoff: Some(backoff),
                typical: state.typical,
                failures: state.failures,
                probing: false,
                skipped_to: state.skipped_to,
                skipped: state.skipped,
            };
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use alloy_primitives::bytes::Bytes;
    use domain::{Address, B256, InnerCreation, Transaction};
    use futures::future::BoxFuture;
    use node::{Exchange, NodeConfig, TransportError};
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        decode::samples::{ROUTER, fetched, transaction},
        test_node::{CallReply, TestNode},
    };

    const SECOND: Duration = Duration::from_secs(1);

    /// A block with one transaction that executed code.
    fn block() -> FetchedBlock {
        let mut block = fetched(Vec::new());
        block.transactions = vec![Transaction { gas_used: 90_000, ..transaction(0, Some(ROUTER), None) }];
        block
    }

    fn finder(node: NodeClient, traces: Traces, timeout: Duration, first_backoff: Duration) -> Arc<CreationFinder> {
        Arc::new(CreationFinder::new(node, Arc::default(), traces, timeout, first_backoff))
    }

    async fn node(trace: Result<Value, Value>) -> TestNode {
        TestNode::tracing(|_, _| CallReply::Revert, trace, Duration::ZERO).await
    }

    /// Moves the clock forward.
    async fn skip(time: Duration) {
        tokio::time::pause();
        tokio::time::advance(time).await;
        tokio::time::resume();
    }

    fn trace_of(hash: B256) -> Value {
        let [one, two] = [1, 2].map(|byte| Address::repeat_byte(byte).to_string());
        json!([{ "txHash": hash.to_string(), "result": {
            "type": "CALL", "from": one, "to": one, "gasUsed": "0x9",
            "calls": [{ "type": "CREATE2", "from": one, "to": two, "gasUsed": "0x1" }],
        }}])
    }

    #[tokio::test]
    async fn contracts_created_inside_calls_are_found() {
        let node = node(Ok(trace_of(block().transactions[0].hash))).await;
        let finder = finder(node.client(), Traces::Auto, SECOND, SECOND);
        let [creator, created] = [1, 2].map(Address::repeat_byte);
        let creations = vec![InnerCreation { tx_index: 0, creator, created }];
        assert_eq!(finder.find(&block()).await, Some(Findings { creations, failed: Vec::new() }));
    }

    #[tokio::test]
    async fn little_gas_is_no_proof_that_no_code_ran() {
        let node = node(Ok(trace_of(block().transactions[0].hash))).await;
        let finder = finder(node.client(), Traces::Auto, SECOND, SECOND);
        let mut refunded = block();
        refunded.transactions[0].gas_used = 13_002;
        assert_eq!(finder.find(&refunded).await.map(|found| found.creations.len()), Some(1));
        refunded.transactions.clear();
        assert_eq!(finder.find(&refunded).await, Some(Findings::default()), "without a trace");
        assert_eq!(node.traces(), 1);
    }

    #[tokio::test]
    async fn a_node_without_tracing_is_requested_once() {
        let node = node(Err(json!({ "code": -32601, "message": "the method does not exist" }))).await;
        let finder = finder(node.client(), Traces::Auto, SECOND, SECOND);
        for _ in 0..3 {
            assert_eq!(finder.find(&block()).await, None);
        }
        assert_eq!(node.traces(), 1);
    }

    #[tokio::test]
    async fn a_block_waits_for_a_required_trace_unless_it_is_gone() {
        let node = node(Err(json!({ "code": -32603, "message": "the node is overloaded" }))).await;
        let finder = finder(node.client(), Traces::Required, SECOND, Duration::from_millis(10));
        let mut canonical = block();
        (canonical.block.number, canonical.block.hash) = (node.head().number, node.head().hash);
        let waiting = tokio::spawn({
            let finder = Arc::clone(&finder);
            async move { finder.find(&canonical).await }
        });
        while node.traces() < 4 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(!waiting.is_finished(), "it is not indexed without its trace");
        waiting.abort();
        let mut orphaned = block();
        (orphaned.block.number, orphaned.block.hash) = (node.head().number, B256::repeat_byte(9));
        assert_eq!(finder.find(&orphaned).await, None);
    }

    #[tokio::test]
    async fn tracing_pauses_after_a_failure_and_is_retried() {
        let node = node(Err(json!({ "code": -32603, "message": "the node is overloaded" }))).await;
        let finder = finder(node.client(), Traces::Auto, 60 * SECOND, 60 * SECOND);
        for _ in 0..4 {
            assert_eq!(finder.find(&block()).await, None);
        }
        assert_eq!(node.traces(), 2, "one failure does not pause it");
        skip(61 * SECOND).await;
        assert_eq!(finder.find(&block()).await, None);
        assert_eq!(finder.find(&block()).await, None);
        while finder.state().backoff == Some(60 * SECOND) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(node.traces(), 3);
        // The second backoff is longer than the first.
        skip(61 * SECOND).await;
        assert_eq!(finder.find(&block()).await, None);
        assert!(!finder.state().probing);
    }

    #[tokio::test]
    async fn few_blocks_are_requested_of_a_node_without_their_state() {
        let gone = json!({ "code": -32000, "message": "required historical state unavailable (reexec=128)" });
        let node = node(Err(gone)).await;
        let finder = finder(node.client(), Traces::Auto, SECOND, 60 * SECOND);
        for number in 0..100 {
            let mut block = block();
            block.block.number = number;
            assert_eq!(finder.find(&block).await, None);
        }
        // Blocks 0, 2, 5, 10, 19, 36 and 69.
        assert_eq!(node.traces(), 7);
        assert!(finder.state().backoff_until.is_none(), "it is no failure");
    }

    #[tokio::test]
    async fn no_block_waits_for_a_probe() {
        let trace = Ok(trace_of(block().transactions[0].hash));
        let node = TestNode::tracing(|_, _| CallReply::Revert, trace, SECOND).await;
        let finder = finder(node.client(), Traces::Auto, SECOND / 10, Duration::from_millis(1));
        assert_eq!(finder.find(&block()).await, None);
        // While it is paused, the clock moves only if something waits for a timer.
        tokio::time::pause();
        tokio::time::advance(Duration::from_millis(5)).await;
        let begun = Instant::now();
        assert_eq!(finder.find(&block()).await, None);
        assert!(finder.state().probing);
        assert_eq!(begun.elapsed(), Duration::ZERO);
    }

    #[tokio::test]
    async fn a_slow_node_delays_blocks_only_briefly() {
        let trace = Ok(trace_of(block().transactions[0].hash));
        let node = TestNode::tracing(|_, _| CallReply::Revert, trace, SECOND).await;
        let client = node.client();
        client.identity().await.unwrap();
        let finder = finder(client, Traces::Auto, Duration::from_millis(100), 60 * SECOND);
        tokio::time::pause();
        let (begun, block) = (Instant::now(), block());
        let found = futures::future::join_all((0..50).map(|_| finder.find(&block))).await;
        assert!(found.iter().all(Option::is_none));
        assert!(begun.elapsed() < SECOND, "{:?}", begun.elapsed());
        assert!(node.traces() <= TRACED_BLOCKS);
    }

    #[tokio::test]
    async fn waiting_for_the_rate_limit_is_no_timeout() {
        let node = node(Ok(trace_of(block().transactions[0].hash))).await;
        let finder = finder(node.limited_client(2), Traces::Auto, SECOND * 4 / 5, SECOND);
        let begun = Instant::now();
        assert!(finder.find(&block()).await.is_some());
        assert!(begun.elapsed() >= SECOND, "the identity of the node takes two calls");
    }

    const ROUND_TRIP: Duration = Duration::from_millis(20);

    /// A node that spoils a share of its responses in five ways.
    #[derive(Debug)]
    struct SpoilingNode {
        share: f64,
        requests: AtomicU64,
    }

    impl SpoilingNode {
        /// Pseudorandom, the same in every run.
        fn draw(&self) -> Option<u64> {
            let request = self.requests.fetch_add(1, Ordering::Relaxed);
            let mixed = request.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mixed = (mixed ^ (mixed >> 31)).wrapping_mul(0xd6e8_feb8_6659_fd93);
            let mixed = mixed ^ (mixed >> 32);
            let drawn = (mixed >> 32) as f64 / f64::from(u32::MAX);
            (drawn < self.share).then_some(mixed % 5)
        }
    }

    impl Exchange for SpoilingNode {
        fn exchange(&self, request: String) -> BoxFuture<'_, Result<Bytes, TransportError>> {
            Box::pin(async move {
                tokio::time::sleep(ROUND_TRIP).await;
                let status = |status| TransportError::Status { status, retry_after: None, body: Bytes::new() };
                let fault = self.draw();
                match fault {
                    Some(0) => return Err(status(503)),
                    Some(1) => return Err(status(429)),
                    Some(2) => return Err(TransportError::Dropped("connection reset".into())),
                    Some(3) => tokio::time::sleep(SECOND * 9).await,
                    _ => {}
                }
                let call: Value = serde_json::from_str(&request).unwrap();
                let result = match call["method"].as_str().unwrap() {
                    "eth_chainId" => json!("0x1"),
                    "eth_getBlockByNumber" => json!({ "number": "0x0", "hash": B256::repeat_byte(1).to_string() }),
                    "debug_traceBlockByNumber" => trace_of(block().transactions[0].hash),
                    other => panic!("{other}"),
                };
                let mut body = json!({ "jsonrpc": "2.0", "id": call["id"], "result": result }).to_string().into_bytes();
                if fault == Some(4) {
                    body.truncate(body.len() / 2);
                }
                Ok(body.into())
            })
        }
    }

    /// How long the traces of some hundred blocks take, and how many of them are missing.
    async fn time_of_traces(share: f64) -> (Duration, usize) {
        let node: Arc<dyn Exchange> = Arc::new(SpoilingNode { share, requests: AtomicU64::new(0) });
        let config =
            NodeConfig { jitter_seed: Some(7), ..NodeConfig::new(vec!["http://node.example".parse().unwrap()]) };
        let finder = finder(NodeClient::in_process(config, &[node]).unwrap(), Traces::Auto, SECOND * 10, SECOND);
        let block = block();
        finder.find(&block).await;
        let begun = Instant::now();
        let found = futures::future::join_all((0..800).map(|_| finder.find(&block))).await;
        (begun.elapsed(), found.iter().filter(|found| found.is_none()).count())
    }

    #[tokio::test(start_paused = true)]
    async fn half_of_the_rate_remains_when_a_fifth_of_the_requests_is_spoiled() {
        let ((fault_free, _), (faulty, missing)) = (time_of_traces(0.0).await, time_of_traces(0.2).await);
        println!("{fault_free:?} without faults, {faulty:?} with, {missing} missing");
        assert!(faulty <= fault_free * 2, "{fault_free:?} without faults, {faulty:?} with");
        assert!(missing <= 2, "{missing}");
    }

    #[tokio::test]
    async fn a_trace_of_another_block_is_rejected() {
        let node = node(Ok(trace_of(B256::repeat_byte(0x77)))).await;
        let finder = finder(node.client(), Traces::Auto, SECOND, SECOND);
        assert_eq!(finder.find(&block()).await, None);
    }

    #[tokio::test]
    async fn traces_can_be_turned_off() {
        let node = node(Ok(trace_of(block().transactions[0].hash))).await;
        let finder = finder(node.client(), Traces::Off, SECOND, SECOND);
        assert_eq!(finder.find(&block()).await, None);
        assert_eq!(node.traces(), 0);
    }
}
