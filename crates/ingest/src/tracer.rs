//! Traces blocks for their internal transactions.

use std::{sync::Arc, time::Duration};

use domain::{
    BlockId, BlockNumber, BlockRange, BlockRef, InternalBlock, InternalEvent, LogEvent, LogFilter, Order, PageRequest,
    SYSTEM_ADDRESS, Transaction, TransactionFilter,
};
use futures::StreamExt;
use node::{BlockCalls, InternalCall, NodeClient, NodeError};
use store::{ChainReader, StoreError};
use tokio::time::Instant;
use tracing::warn;

use crate::{
    Progress, Traces,
    native_logs::{agree, internal_moves},
    recent_traces::RecentTraces,
};

/// Concurrent traces: few, to leave the node capacity for blocks.
const CONCURRENT_TRACES: usize = 4;
/// A round ends after this time or this many internal transactions, so that results are stored soon and take little memory.
const ROUND_TIME: Duration = Duration::from_secs(2);
const ROUND_EVENTS: usize = 20_000;
/// More logs of one block are not read at once.
const MAX_NATIVE_LOGS: u32 = 100_000;
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
    progress: Arc<Progress>,
    traces: Traces,
    timeout: Duration,
}

impl Tracer {
    pub(crate) fn new(
        node: NodeClient,
        reader: Arc<dyn ChainReader>,
        recent: Arc<RecentTraces>,
        progress: Arc<Progress>,
        traces: Traces,
        timeout: Duration,
    ) -> Self {
        Self { node, reader, recent, progress, traces, timeout }
    }

    /// The first block of the index whose logs tell moves of coins (EIP-7708).
    pub(crate) async fn first_with_native_logs(&self) -> Result<Option<BlockNumber>, StoreError> {
        let oldest = PageRequest { offset: 0, limit: 1, order: Order::OldestFirst };
        let found = self.reader.list_logs(&LogFilter::of(SYSTEM_ADDRESS), oldest).await?;
        Ok(found.page.items.first().map(|log| log.block_number))
    }

    /// What the logs of the chain's coin tell of a block. None if they tell nothing: then it is older than EIP-7708, or too much for one
    /// page.
    async fn native_moves(
        &self,
        number: BlockNumber,
        transactions: &[Transaction],
    ) -> Result<Option<Vec<InternalEvent>>, StoreError> {
        let filter =
            |from| LogFilter { blocks: BlockRange { from, to: Some(number) }, ..LogFilter::of(SYSTEM_ADDRESS) };
        let all = PageRequest { offset: 0, limit: MAX_NATIVE_LOGS, order: Order::OldestFirst };
        let found = self.reader.list_logs(&filter(Some(number)), all).await?;
        let is_known = found.complete_from.is_some_and(|from| from <= number);
        if !is_known || found.page.total > found.page.items.len() as u64 {
            return Ok(None);
        }
        let logs: Vec<LogEvent> = found.page.items.into_iter().map(|log| log.event).collect();
        // A block that moves no coins has no such log. It is like those before it, since forks are not undone.
        if logs.is_empty() && self.reader.list_logs(&filter(None), PageRequest::newest(1)).await?.page.total == 0 {
            return Ok(None);
        }
        Ok(internal_moves(transactions, &logs))
    }

    /// The trace has more than moves of coins, and the logs are proven by the hash of the block.
    fn reconcile(&self, block: BlockRef, traced: Vec<InternalEvent>, logged: Vec<InternalEvent>) -> Vec<InternalEvent> {
        if agree(&traced, &logged) {
            return traced;
        }
        self.progress.count_native_disagreement();
        warn!(
            block = block.number,
            "the trace of a block does not move the same coins as its logs, which are used instead"
        );
        logged
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
        let recent = self.recent.take(id).and_then(|calls| assemble(&transactions, calls));
        let logged = self.native_moves(number, &transactions).await.map_err(store_failed)?;
        let known = match (recent, logged) {
            (Some(traced), Some(logged)) => Some(self.reconcile(id, traced, logged)),
            (traced, logged) => traced.or(logged),
        };
        if let Some(events) = known {
            return Ok(InternalBlock { block: id, events });
        }
        if self.traces == Traces::Off {
            return Err(Obstacle::Unsupported);
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
        for tx in transactions {
            match self.node.find_internal_calls(tx.hash).await {
                Ok(Some(traced)) => events.extend(events_of(tx, traced.calls)),
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
            | NodeError::WrongBlock { .. }
    )
}

/// None if the traces are not those of the transactions: they are requested by number, and may be of another branch.
fn assemble(transactions: &[Transaction], traces: BlockCalls) -> Option<Vec<InternalEvent>> {
    if traces.len() != transactions.len() {
        return None;
    }
    let mut events = Vec::new();
    for (tx, traced) in transactions.iter().zip(traces) {
        if traced.hash.is_some_and(|hash| hash != tx.hash) {
            return None;
        }
        events.extend(events_of(tx, traced.calls));
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
