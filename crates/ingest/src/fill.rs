//! Internal transactions, traced behind the tip: the newest blocks first, then downwards to the first block of the index.
//! Blocks never wait for a trace.

use std::{sync::Arc, time::Duration};

use domain::{BlockNumber, InternalBlock, InternalFrontier};
use store::{IndexWriter, StoreError};
use tokio::time::Instant;
use tracing::{info, warn};

use crate::{
    Traces,
    background_round::BackgroundRound,
    tracer::{Obstacle, Round, Tracer},
};

/// Blocks per round. Blocks without a transaction need no trace.
const BLOCKS_AT_ONCE: u64 = 512;
/// Attempts at one block before it is given up: with the pauses between them, over eight minutes.
const TRIES: u32 = 10;
const MAX_BACKOFF: Duration = Duration::from_secs(15 * 60);
/// How often a node that cannot trace older blocks, or any, is tried again: it may be replaced.
const PROBE_INTERVAL: Duration = Duration::from_secs(10 * 60);
/// How often it is checked whether logs tell moves of coins by now, if the node does not trace: that costs it next to nothing.
const UNSUPPORTED_PAUSE: Duration = Duration::from_secs(10);
/// Blocks that are given up at most after one whose state the node does not have.
const MAX_SKIPPED: u64 = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Above,
    Below,
}

/// Traces rounds of blocks in the background. The follower only passes the results to the store.
pub(crate) struct Filler {
    tracer: Arc<Tracer>,
    traces: Traces,
    first_backoff: Duration,
    round: BackgroundRound<(Side, Round)>,
    /// No round before this time.
    paused_until: Option<Instant>,
    /// No round of older blocks before this time.
    below_until: Option<Instant>,
    /// The block that failed last, and how often.
    failing: Option<(BlockNumber, u32)>,
    /// How many blocks were given up last, for lack of their state.
    skipped: u64,
    /// Whether it was logged that the node cannot trace.
    is_logged: bool,
}

impl Filler {
    pub(crate) fn new(tracer: Tracer, traces: Traces, first_backoff: Duration) -> Self {
        Self {
            tracer: Arc::new(tracer),
            traces,
            first_backoff,
            round: BackgroundRound::none(),
            paused_until: None,
            below_until: None,
            failing: None,
            skipped: 0,
            is_logged: false,
        }
    }

    /// Stores available results and starts a new round. Does not wait for the node.
    pub(crate) async fn step(&mut self, writer: &mut dyn IndexWriter) -> Result<(), StoreError> {
        if let Some((side, round)) = self.round.take().await {
            self.keep(writer, side, round).await?;
        }
        if !self.round.is_running() && self.paused_until.is_none_or(|until| until <= Instant::now()) {
            self.start_round(writer).await?;
        }
        Ok(())
    }

    /// Waits for the round in the background; without one, forever. Cancel safe.
    pub(crate) async fn results(&mut self) {
        self.round.ended().await;
    }

    /// Drops results of an abandoned branch.
    pub(crate) fn forget(&mut self) {
        self.round.forget();
    }

    async fn start_round(&mut self, writer: &mut dyn IndexWriter) -> Result<(), StoreError> {
        let (Some(tip), Some(frontier)) = (writer.tip().await?, writer.internal_frontier().await?) else {
            return Ok(());
        };
        let Some((side, blocks)) = self.next_blocks(frontier, tip.number) else { return Ok(()) };
        let tracer = Arc::clone(&self.tracer);
        self.round.start(async move { (side, tracer.trace(blocks).await) });
        Ok(())
    }

    fn next_blocks(&self, frontier: InternalFrontier, tip: BlockNumber) -> Option<(Side, Vec<BlockNumber>)> {
        let InternalFrontier { above, below } = frontier;
        if above <= tip {
            return Some((Side::Above, (above..=tip.min(above + BLOCKS_AT_ONCE - 1)).collect()));
        }
        let below = below.filter(|_| self.below_until.is_none_or(|until| until <= Instant::now()))?;
        Some((Side::Below, (below.saturating_sub(BLOCKS_AT_ONCE - 1)..=below).rev().collect()))
    }

    async fn keep(&mut self, writer: &mut dyn IndexWriter, side: Side, round: Round) -> Result<(), StoreError> {
        let Round { blocks, obstacle } = round;
        let traced = blocks.iter().any(|block: &InternalBlock| !block.events.is_empty());
        if !blocks.is_empty() {
            let count = blocks.len();
            let stored = writer.save_internal(blocks).await?;
            if traced {
                (self.failing, self.skipped) = (None, 0);
            }
            // A reorg: the next round starts from the state of the store.
            if stored < count {
                return Ok(());
            }
        }
        match obstacle {
            None => {}
            Some((block, Obstacle::Unsupported)) => self.skip_untraced(writer, side, block).await?,
            Some((block, Obstacle::LacksState)) => self.skip_pruned(writer, side, block).await?,
            Some((block, Obstacle::Failed { reason, counts })) => {
                self.fail(writer, side, block, &reason, counts).await?;
            }
        }
        Ok(())
    }

    /// Without traces, only logs of the chain's coin tell internal transactions: the blocks before the first of them stay unknown.
    async fn skip_untraced(
        &mut self,
        writer: &mut dyn IndexWriter,
        side: Side,
        block: BlockNumber,
    ) -> Result<(), StoreError> {
        if !std::mem::replace(&mut self.is_logged, true) && self.traces != Traces::Off {
            info!("the node does not support tracing: internal transactions stay unknown");
        }
        let known_from = self.tracer.first_with_native_logs().await?.filter(|known_from| *known_from > block);
        match (side, known_from) {
            (Side::Above, Some(known_from)) => return writer.skip_internal(known_from - 1).await,
            (Side::Above, None) => self.paused_until = Some(Instant::now() + UNSUPPORTED_PAUSE),
            (Side::Below, _) => self.below_until = Some(Instant::now() + PROBE_INTERVAL),
        }
        Ok(())
    }

    /// Most nodes keep the state of recent blocks only.
    async fn skip_pruned(
        &mut self,
        writer: &mut dyn IndexWriter,
        side: Side,
        block: BlockNumber,
    ) -> Result<(), StoreError> {
        if side == Side::Below {
            info!(block, "the node has no state to trace older blocks: their internal transactions stay unknown");
            self.below_until = Some(Instant::now() + PROBE_INTERVAL);
            return Ok(());
        }
        if self.skipped == 0 {
            info!(block, "the node has no state to trace the block: some internal transactions stay unknown");
        }
        self.skipped = (self.skipped * 2).clamp(1, MAX_SKIPPED);
        writer.skip_internal(block + self.skipped - 1).await
    }

    async fn fail(
        &mut self,
        writer: &mut dyn IndexWriter,
        side: Side,
        block: BlockNumber,
        reason: &str,
        counts: bool,
    ) -> Result<(), StoreError> {
        let before = self.failing.filter(|(failing, _)| *failing == block).map_or(0, |(_, times)| times);
        let times = before + u32::from(counts);
        self.failing = Some((block, times));
        let backoff = (self.first_backoff * 2_u32.saturating_pow(times.saturating_sub(1))).min(MAX_BACKOFF);
        if times < TRIES {
            warn!(block, reason, ?backoff, "tracing internal transactions failed, retrying");
            self.paused_until = Some(Instant::now() + backoff);
            return Ok(());
        }
        match side {
            Side::Above => {
                warn!(block, reason, "the block cannot be traced: its internal transactions stay unknown");
                self.failing = None;
                writer.skip_internal(block).await
            }
            // Older blocks wait, so that what is complete stays so.
            Side::Below => {
                warn!(block, reason, "the block cannot be traced: older internal transactions wait");
                self.below_until = Some(Instant::now() + PROBE_INTERVAL);
                Ok(())
            }
        }
    }
}
