//! State that survives a crash of the explorer: the chain, the clock, the receivers, and what was acknowledged to users.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use alloy_primitives::B256;
use devchain::{DevChain, DevChainConfig, MinedBlock, ReorgedTransactions, traffic::Traffic};
use domain::{Address, BlockRef};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    plan::{MAX_REORG_DEPTH, Plan},
    receivers::MessageLog,
};

/// The id of a chain that is not one for development.
const PUBLIC_CHAIN_ID: u64 = 4_242;

pub(crate) struct World {
    pub(crate) plan: Plan,
    pub(crate) chain: DevChain,
    traffic: Mutex<Traffic>,
    pub(crate) branches: Mutex<Branches>,
    clock: Mutex<Clock>,
    /// Number of completed actions of the plan.
    pub(crate) actions_done: AtomicUsize,
    pub(crate) message_log: MessageLog,
    pub(crate) acknowledged: Mutex<Vec<AcknowledgedWebhook>>,
    trace: Mutex<Vec<(u64, String)>>,
    pub(crate) requests: Mutex<HashMap<(usize, u64), u64>>,
}

/// All blocks that the chain has ever had.
#[derive(Default)]
pub(crate) struct Branches {
    pub(crate) blocks: HashMap<B256, Arc<MinedBlock>>,
    /// The branch orphaned by the last reorg: its blocks above the fork, as a node serves them.
    pub(crate) orphaned: Option<OrphanedBranch>,
    pub(crate) finalized: u64,
}

#[derive(Clone)]
pub(crate) struct OrphanedBranch {
    pub(crate) fork: u64,
    pub(crate) blocks: Arc<Vec<ServedBlock>>,
}

pub(crate) struct ServedBlock {
    pub(crate) hash: String,
    pub(crate) full: Value,
    pub(crate) header: Value,
    pub(crate) receipts: Value,
}

/// A webhook whose registration was acknowledged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AcknowledgedWebhook {
    pub(crate) webhook: u64,
    pub(crate) receiver: usize,
    pub(crate) watched: Address,
    /// The newest indexed block at that time.
    pub(crate) after: Option<BlockRef>,
}

#[derive(Clone, Copy)]
struct Clock {
    before: Duration,
    process_started: Option<Instant>,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap()
}

impl World {
    pub(crate) fn new(plan: Plan) -> Self {
        // Without traces: simulated time limits of traces would make the creators of contracts depend on the faults.
        let default = DevChainConfig::default();
        let chain_id = if plan.is_dev_chain { default.chain_id } else { PUBLIC_CHAIN_ID };
        let config = DevChainConfig { seed: plan.seed, chain_id, accounts: 6, traces: false, ..default };
        let chain = DevChain::new(config);
        let mut traffic = Traffic::new(chain.clone(), plan.chance.of("traffic").number());
        traffic.deploy().unwrap();
        let world = Self {
            chain,
            traffic: Mutex::new(traffic),
            branches: Mutex::default(),
            clock: Mutex::new(Clock { before: Duration::ZERO, process_started: None }),
            actions_done: AtomicUsize::new(0),
            message_log: MessageLog::default(),
            acknowledged: Mutex::default(),
            trace: Mutex::default(),
            requests: Mutex::default(),
            plan,
        };
        world.record_blocks();
        world
    }

    /// Time since the start of the run, including downtime.
    pub(crate) fn now(&self) -> Duration {
        let Clock { before, process_started } = *lock(&self.clock);
        before + process_started.map_or(Duration::ZERO, |began| began.elapsed())
    }

    /// Starts a process: advances the runtime's clock to the end of the previous process.
    pub(crate) async fn begin_process(&self) {
        let before = lock(&self.clock).before;
        tokio::time::advance(before).await;
        lock(&self.clock).process_started = Some(Instant::now());
    }

    pub(crate) fn end_process(&self, now: Duration, downtime: Duration) {
        *lock(&self.clock) = Clock { before: now + downtime, process_started: None };
    }

    pub(crate) fn record(&self, what: impl Into<String>) {
        let now = u64::try_from(self.now().as_millis()).unwrap();
        lock(&self.trace).push((now, what.into()));
    }

    /// All recorded events, sorted, so that the order of simultaneous events does not matter.
    pub(crate) fn trace(&self) -> Vec<(u64, String)> {
        let mut trace = lock(&self.trace).clone();
        trace.sort();
        trace
    }

    /// What happened to a message, and what may explain it.
    pub(crate) fn history_of(&self, id: &str) -> Vec<String> {
        let explains = |what: &str| !what.starts_with("receiver ") && !what.starts_with("node ");
        let trace = self.trace().into_iter().filter(|(_, what)| what.contains(id) || explains(what));
        trace.map(|(at, what)| format!("{at} ms: {what}")).collect()
    }

    pub(crate) fn mine(&self, transactions: usize) {
        // The block is empty if the state after a reorg allows no traffic.
        let _ = lock(&self.traffic).send(transactions);
        self.chain.mine(None);
        self.record_blocks();
        self.record(format!("block {} {}", self.chain.head().number, self.chain.head().hash));
    }

    pub(crate) fn reorg(&self, depth: u64, blocks: u64, replay: bool) {
        let head = self.chain.head().number;
        let depth = depth.min(head.saturating_sub(lock(&self.branches).finalized));
        if depth == 0 {
            return;
        }
        let fork = head - depth;
        let orphaned = (fork + 1..=head).map(|number| self.serve(number)).collect();
        let replay = if replay { ReorgedTransactions::Replay } else { ReorgedTransactions::Drop };
        self.chain.reorg(depth, blocks, replay).unwrap();
        lock(&self.branches).orphaned = Some(OrphanedBranch { fork, blocks: Arc::new(orphaned) });
        self.record_blocks();
        self.record(format!("reorg of {depth} to {} {}", self.chain.head().number, self.chain.head().hash));
    }

    fn serve(&self, number: u64) -> ServedBlock {
        let call = |method: &str, params: Value| {
            let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
            let answer = self.chain.answer(request.to_string().as_bytes()).unwrap();
            serde_json::from_slice::<Value>(&answer).unwrap()["result"].take()
        };
        let tag = format!("{number:#x}");
        let full = call("eth_getBlockByNumber", json!([tag, true]));
        let hash = full["hash"].as_str().unwrap().to_owned();
        let header = call("eth_getBlockByNumber", json!([tag, false]));
        ServedBlock { hash, full, header, receipts: call("eth_getBlockReceipts", json!([tag])) }
    }

    fn record_blocks(&self) {
        let mut branches = lock(&self.branches);
        let head = self.chain.head().number;
        for number in (0..=head).rev() {
            let block = self.chain.block(number).unwrap();
            if branches.blocks.insert(block.hash(), block).is_some() {
                break;
            }
        }
        branches.finalized = branches.finalized.max(head.saturating_sub(MAX_REORG_DEPTH));
    }

    /// The highest block that the branch of a block shares with the canonical chain.
    pub(crate) fn last_common(&self, block: BlockRef) -> u64 {
        let branches = lock(&self.branches);
        let mut hash = block.hash;
        loop {
            let block = &branches.blocks[&hash];
            if self.chain.block(block.number()).is_some_and(|ours| ours.hash() == hash) {
                return block.number();
            }
            hash = block.header.parent_hash;
        }
    }

    /// How often this endpoint got the same request before.
    pub(crate) fn count_request(&self, endpoint: usize, key: u64) -> u64 {
        let mut requests = lock(&self.requests);
        let count = requests.entry((endpoint, key)).or_default();
        *count += 1;
        *count - 1
    }

    pub(crate) fn next_action(&self) -> usize {
        self.actions_done.load(Ordering::Relaxed)
    }
}
