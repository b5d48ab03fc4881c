//! Traces blocks for their internal transactions.

use std::{sync::Arc, time::Duration};

use domain::{
    BlockId, BlockNumber, BlockRange, BlockRef, InternalBlock, InternalEvent, Order, PageRequest, Transaction,
    TransactionFilter,
};
use futures::StreamExt;
use node::{BlockCalls, InternalCall, NodeClient, NodeError};
use store::{ChainReader, StoreError};
use tokio::time::Instant;

use crate::recent_traces::RecentTraces;

/// Concurrent traces: few, to leave the node capacity for blocks.
const CONCURRENT_TRACES: usize = 4;
/// A round ends after this time or this many internal transactions, so that results are stored soon and take little memory.
const ROUND_TIME: Duration = Duration::from_secs(2);
const ROUND_EVENTS: usize = 20_000;
/// Gas of a transaction that executes no code.
const GAS_WITHOUT_CODE: u64 = 21_000;
/// The node is on another branch, or does not have the block yet.
const ANOTHER_BRANCH: &str = "the node does not have the block";

/// The blocks of a round that were traced, and why the next one was not.
#[derive(Debug)]
pub(crate) struct Round {
    pub(crate) blocks: Vec<InternalBlock>,
    pub(crate) obstacle: Option<(BlockNumber, Obstacle)>,
}

/// Why a block is not traced.
#[derive(Debug)]
pub(crate) enum Obstacle {
    Unsupported,
    LacksState,
    /// `counts` if the block may be the reason, and not the connection or a reorg.
    Failed {
        reason: String,
        counts: bool,
    },
}

pub(crate) struct Tracer {
    node: NodeClient,
    reader: Arc<dyn ChainReader>,
    recent: Arc<RecentTraces>,
    timeout: Duration,
}

impl Tracer {
    pub(crate) fn new(
        node: NodeClient,
        reader: Arc<dyn ChainReader>,
        recent: Arc<RecentTraces>,
        timeout: Duration,
    ) -> Self {
        Self { node, reader, recent, timeout }
    }

    /// Traces blocks in the given order, until one cannot be.
    pub(crate) async fn trace(&self, numbers: Vec<BlockNumber>) -> Round {
        let (begun, mut events) = (Instant::now(), 0);
        let mut round = Round { blocks: Vec::new(), obstacle: None };
        let traced = futures::stream::iter(numbers).map(async |number| (number, self.trace_block(number).await));
        let mut traced = std::pin::pin!(traced.buffered(CONCURRENT_TRACES));
        while events < ROUND_EVENTS && begun.elapsed() < ROUND_TIME {
            match traced.next().await {
                Some((_, Ok(block))) => {
                    events += block.events.len();
                    round.blocks.push(block);
                }
                Some((number, Err(obstacle))) => {
                    round.obstacle = Some((number, obstacle));
                    break;
                }
                None => break,
            }
        }
        round
    }

    async fn trace_block(&self, number: BlockNumber) -> Result<InternalBlock, Obstacle> {
        let block = self.reader.find_block(BlockId::Number(number)).await.map_err(store_failed)?;
        let block = block.ok_or_else(|| passing("the block is no longer indexed"))?;
        let (id, tx_count) = (block.id(), block.tx_count);
        if tx_count == 0 {
            return Ok(InternalBlock { block: id, events: Vec::new() });
        }
        let filter = TransactionFilter { blocks: BlockRange::only(number), ..TransactionFilter::default() };
        let all = PageRequest { offset: 0, limit: tx_count, order: Order::OldestFirst };
        let transactions = self.reader.list_transactions(&filter, all).await.map_err(store_failed)?.items;
        if transactions.iter().all(|tx| tx.gas_used <= GAS_WITHOUT_CODE) {
            return Ok(InternalBlock { block: id, events: Vec::new() });
        }
        if let Some(events) = self.recent.take(id).and_then(|calls| assemble(&transactions, calls)) {
            return Ok(InternalBlock { block: id, events });
        }
        match self.node.find_internal_calls_of_block(number, self.timeout).await {
            Ok(Some(traces)) => {
                let events = assemble(&transactions, traces);
                Ok(InternalBlock { block: id, events: events.ok_or_else(|| passing("a trace of another block"))? })
            }
            Ok(None) => Ok(InternalBlock { block: id, events: self.trace_each(id, &transactions).await? }),
            Err(error) => Err(self.obstacle(&error, id).await),
        }
    }

    /// For a node that cannot trace a block at once.
    async fn trace_each(&self, block: BlockRef, transactions: &[Transaction]) -> Result<Vec<InternalEvent>, Obstacle> {
        let mut events = Vec::new();
        for tx in transactions.iter().filter(|tx| tx.gas_used > GAS_WITHOUT_CODE) {
            match self.node.find_internal_calls(tx.hash).await {
                Ok(Some(calls)) => events.extend(events_of(tx, calls)),
                Ok(None) if self.has_block(block).await => return Err(Obstacle::Unsupported),
                Ok(None) => return Err(passing(ANOTHER_BRANCH)),
                Err(error) => return Err(self.obstacle(&error, block).await),
            }
        }
        // They are requested by their hashes, and may have been included in another block.
        if self.has_block(block).await { Ok(events) } else { Err(passing(ANOTHER_BRANCH)) }
    }

    async fn obstacle(&self, error: &NodeError, block: BlockRef) -> Obstacle {
        if !error.lacks_state() {
            return Obstacle::Failed { counts: !is_connection(error), reason: error.to_string() };
        }
        if self.has_block(block).await { Obstacle::LacksState } else { passing(ANOTHER_BRANCH) }
    }

    async fn has_block(&self, block: BlockRef) -> bool {
        matches!(self.node.find_block_ref(block.number).await, Ok(Some(found)) if found == block)
    }
}

fn passing(reason: &str) -> Obstacle {
    Obstacle::Failed { reason: reason.to_owned(), counts: false }
}

fn store_failed(error: StoreError) -> Obstacle {
    passing(&error.to_string())
}

fn is_connection(error: &NodeError) -> bool {
    matches!(
        error,
        NodeError::Unreachable { .. }
            | NodeError::Dropped { .. }
            | NodeError::Silent { .. }
            | NodeError::Limited { .. }
            | NodeError::WrongChain { .. }
    )
}

/// None if the traces are not those of the transactions: they are requested by number, and may be of another branch.
fn assemble(transactions: &[Transaction], traces: BlockCalls) -> Option<Vec<InternalEvent>> {
    if traces.len() != transactions.len() {
        return None;
    }
    let mut events = Vec::new();
    for (tx, (hash, calls)) in transactions.iter().zip(traces) {
        if hash.is_some_and(|hash| hash != tx.hash) {
            return None;
        }
        events.extend(events_of(tx, calls));
    }
    Some(events)
}

fn events_of(tx: &Transaction, calls: Vec<InternalCall>) -> impl Iterator<Item = InternalEvent> {
    let tx_index = tx.index;
    (0..).zip(calls).map(move |(position, call)| InternalEvent {
        tx_index,
        position,
        kind: call.kind,
        from: call.from,
        to: call.to,
        value: call.value,
        gas: call.gas,
        gas_used: call.gas_used,
        error: call.error,
    })
}
