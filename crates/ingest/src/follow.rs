//! The loop that keeps the index at the node's head.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use domain::{BlockId, BlockNumber, BlockRef, SyncPhase, SyncStatus};
use node::{Heads, NodeClient};
use store::{ChainReader, ChainWriter, StoreError, Undo};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use crate::batch::Batch;
use crate::creations::CreationFinder;
use crate::fetch::BlockRun;
use crate::finality::Finality;
use crate::fork::{ForkPoint, find_fork_point};
use crate::lower_head::{Look, LowerHead, Verdict};
use crate::resolve::Resolver;
use crate::rhythm::Rhythm;
use crate::setback::Setback;
use crate::settle::{Pace, Settler};
use crate::watchdog::watch_silence;
use crate::{IngestConfig, IngestError, Progress};

/// Further behind than this, the index is backfilling.
const NEAR_HEAD: u64 = 16;
/// Blocks of one pass at most, so that the head is looked at now and then during a long backfill.
const PASS_BLOCKS: u64 = 20_000;
/// How often one block is asked for again, with all others kept, before the pass is given up.
const RETRIES: u32 = 4;
/// How long to wait before the store is tried again after it refused: doubled each time, up to the second.
const STORE_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_STORE_PAUSE: Duration = Duration::from_secs(10);
/// How long to wait before looking again at a fork that is too deep to follow.
const HALTED_PAUSE: Duration = Duration::from_secs(10);

/// Follows one chain into one store.
#[expect(missing_debug_implementations, reason = "holds a trait object")]
pub struct Follower {
    node: NodeClient,
    writer: Box<dyn ChainWriter>,
    reader: Arc<dyn ChainReader>,
    config: IngestConfig,
    status: watch::Sender<SyncStatus>,
    progress: Arc<Progress>,
    resolver: Arc<Resolver>,
    creations: Arc<CreationFinder>,
    settler: Settler,
    finality: Finality,
    lower_head: LowerHead,
    rhythm: Rhythm,
}

/// How a pass ended.
enum Outcome {
    /// The index is where the node is.
    Level,
    /// Look again soon.
    Again(Duration),
    /// The index moved; there may be more.
    Moved,
}

impl Follower {
    /// The reader must see what the writer commits.
    #[must_use]
    pub fn new(
        node: NodeClient,
        writer: Box<dyn ChainWriter>,
        reader: Arc<dyn ChainReader>,
        config: IngestConfig,
        status: watch::Sender<SyncStatus>,
        progress: Arc<Progress>,
    ) -> Self {
        let (traces, patience, rest) = (config.traces, config.trace_patience, config.trace_rest);
        let creations = Arc::new(CreationFinder::new(node.clone(), traces, patience, rest));
        let resolver = Arc::new(Resolver::new(node.clone(), Arc::clone(&reader), Arc::clone(&creations)));
        let settler = Settler::new(node.clone(), config.settle_interval, config.trouble_pause);
        let finality = Finality::new(node.clone());
        let lower_head = LowerHead::new(config.lower_head_after, config.lower_head_default);
        Self {
            node,
            writer,
            reader,
            config,
            status,
            progress,
            resolver,
            creations,
            settler,
            finality,
            lower_head,
            rhythm: Rhythm::default(),
        }
    }

    /// Follows the chain until told to stop.
    ///
    /// # Errors
    /// When the store is damaged. A node or a disk that fails is waited for.
    pub async fn run(mut self, cancel: CancellationToken) -> Result<(), IngestError> {
        let watchdog = watch_silence(self.node.clone(), self.status.clone());
        let Err(failure) = tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok(()),
            ended = self.follow() => ended,
            never = watchdog => match never {},
        };
        error!(error = %failure, "the index cannot be written: following stops");
        let reason = format!("the index cannot be written: {failure}");
        self.status.send_modify(|status| status.phase = SyncPhase::Halted { reason });
        Err(failure.into())
    }

    async fn follow(&mut self) -> Result<Infallible, StoreError> {
        self.lower_head.ask_what_chain(&self.node).await;
        let mut heads = self.node.heads();
        let mut pause = STORE_PAUSE;
        loop {
            match self.follow_while_written(&mut heads, &mut pause).await {
                Err(failure) if failure.is_transient() => {
                    warn!(error = %failure, "the index cannot be written: tried again");
                    self.await_store(&failure);
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_STORE_PAUSE);
                }
                ended => return ended,
            }
        }
    }

    /// Until the store fails. Every pass that ends well makes `pause` short again.
    async fn follow_while_written(
        &mut self,
        heads: &mut Heads,
        pause: &mut Duration,
    ) -> Result<Infallible, StoreError> {
        let tip = self.writer.tip().await?;
        let timestamp = match tip {
            Some(tip) => self.timestamp_of(tip.number).await?,
            None => None,
        };
        self.status.send_modify(|status| (status.tip, status.tip_timestamp) = (tip, timestamp));
        loop {
            let outcome = self.pass().await;
            self.settler.step(self.writer.as_mut(), Pace::Brisk).await?;
            let idle = match outcome {
                Ok(Outcome::Moved) => {
                    *pause = STORE_PAUSE;
                    continue;
                }
                Ok(Outcome::Again(pause)) => pause,
                Ok(Outcome::Level) => self.config.idle_check,
                Err(Setback::Node(trouble)) => {
                    warn!(error = %trouble, "the node cannot be followed for now");
                    self.status.send_modify(|status| status.node_reachable = false);
                    self.config.trouble_pause
                }
                Err(Setback::Store(failure)) => return Err(failure),
            };
            self.wait(heads, idle).await?;
        }
    }

    /// Shows that the index waits for the store, and why.
    fn await_store(&self, failure: &StoreError) {
        let reason = match failure {
            StoreError::Unavailable { reason } => reason.clone(),
            other => other.to_string(),
        };
        self.status.send_modify(|status| status.phase = SyncPhase::Waiting { reason });
    }

    /// Until the node shows another head, or so long; what tokens answer in the meantime is kept at once.
    async fn wait(&mut self, heads: &mut Heads, pause: Duration) -> Result<(), StoreError> {
        let until = Instant::now() + pause;
        loop {
            tokio::select! {
                biased;
                _ = heads.next() => return Ok(()),
                () = tokio::time::sleep_until(until) => return Ok(()),
                () = self.settler.answers() => self.settler.step(self.writer.as_mut(), Pace::Brisk).await?,
            }
        }
    }

    /// One look at the node's head, and the steps that bring the index there.
    async fn pass(&mut self) -> Result<Outcome, Setback> {
        let head = self.node.head().await?;
        let tip = self.writer.tip().await?;
        self.see_head(head, tip);
        // On the heap, since both are large.
        match tip {
            Some(tip) if head.number <= tip.number => Box::pin(self.compare_at_or_below_tip(head, tip)).await,
            _ if head.number < self.config.start_block => Ok(Outcome::Level),
            _ => Box::pin(self.advance(head, tip)).await,
        }
    }

    /// The node has nothing above our tip: the same block, another branch, or less of ours.
    async fn compare_at_or_below_tip(&mut self, head: BlockRef, tip: BlockRef) -> Result<Outcome, Setback> {
        let is_ours = self.writer.find_block_hash(head.number).await? == Some(head.hash);
        if is_ours && head.number == tip.number {
            self.lower_head.is_over();
            self.arrive();
            return Ok(Outcome::Level);
        }
        let survey = self.node.survey_heads().await;
        if !is_ours {
            self.lower_head.is_over();
            // Of several nodes, the one with the longest chain is followed.
            let is_longest = survey.best.is_none_or(|best| best.number <= head.number);
            return if is_longest { self.go_back(head.number).await } else { Ok(Outcome::Again(self.short_pause())) };
        }
        self.lower_head.ask_what_chain(&self.node).await;
        let has_tip = self.node.find_block_ref(tip.number).await?.is_some();
        let look = Look { head, tip, finalized: self.finality.finalized(), survey, has_tip };
        match self.lower_head.judge(look, Instant::now()) {
            Verdict::Wait => Ok(Outcome::Again(self.lower_head.pause(Instant::now()))),
            Verdict::Shorter => {
                warn!(head = head.number, tip = tip.number, "the node's chain has become shorter");
                self.go_back(head.number).await
            }
        }
    }

    /// Commits forward to the head, as far as the blocks fit on our tip.
    async fn advance(&mut self, head: BlockRef, tip: Option<BlockRef>) -> Result<Outcome, Setback> {
        self.lower_head.is_over();
        let horizon = self.finality.horizon(head.number, &self.config).await;
        let first = tip.map_or(self.config.start_block, |tip| tip.number + 1);
        // Nothing proves the height of a head, and undo is dropped by it: below one that is made up, the next reorganisation
        // could not be followed. A whole block at that height is held against its hash.
        if horizon >= first && self.node.find_block(head.number).await?.is_none() {
            warn!(head = head.number, "the node does not have the block that it names as its head: looking again");
            return Ok(Outcome::Again(self.short_pause()));
        }
        let last = head.number.min(first.saturating_add(PASS_BLOCKS));
        let mut run = BlockRun::start(&self.node, &self.resolver, first..=last, &self.config);
        let (mut batch, mut parent, mut retries) = (Batch::default(), tip, 0);
        while let Some(fetched) = run.next().await {
            let fetched = match fetched {
                Ok(Some(fetched)) => fetched,
                Err(Setback::Store(failure)) => return Err(failure.into()),
                // Not there though announced: the node is reorganising, or another one answers than before.
                missing @ (Ok(None) | Err(Setback::Node(_))) => {
                    // What has arrived is whole, whatever becomes of this one.
                    self.flush(&mut batch, horizon).await?;
                    retries += 1;
                    if retries > RETRIES {
                        missing?;
                        return Ok(Outcome::Again(self.short_pause()));
                    }
                    if let Err(error) = missing {
                        warn!(%error, "a block did not come and is asked for again");
                    }
                    run.retry(self.short_pause());
                    continue;
                }
            };
            retries = 0;
            let block = fetched.changes.block.id();
            if parent.is_some_and(|parent| parent.hash != fetched.changes.block.parent_hash) {
                // What is in flight and what waits in the batch may be of the branch that was left, unless it is final.
                drop(run);
                if batch.last().is_some_and(|last| last.number <= horizon) {
                    self.flush(&mut batch, horizon).await?;
                }
                return match self.writer.tip().await? {
                    Some(tip) => self.go_back(tip.number).await,
                    None => Ok(Outcome::Again(self.short_pause())),
                };
            }
            batch.push(fetched.changes, Instant::now());
            parent = Some(block);
            if block.number == horizon || batch.is_due(&self.config, Instant::now()) {
                self.flush(&mut batch, horizon).await?;
            }
        }
        self.flush(&mut batch, horizon).await?;
        Ok(Outcome::Moved)
    }

    fn short_pause(&self) -> Duration {
        self.config.trouble_pause / 4
    }

    /// A batch never crosses the horizon: it is either all final or all revertible.
    async fn flush(&mut self, batch: &mut Batch, horizon: BlockNumber) -> Result<(), Setback> {
        let Some((last, timestamp)) = batch.last().map(|block| (block.id(), block.timestamp)) else { return Ok(()) };
        let (blocks, transactions) = batch.take();
        let count = blocks.len() as u64;
        // Measured by a block that is at hand: the head may be made up.
        let down_to = horizon.min(last.number.saturating_sub(self.config.undo_depth));
        let undo = if last.number <= horizon { Undo::Discard } else { Undo::Keep { down_to } };
        self.writer.commit(blocks, undo).await?;
        self.progress.committed(count, transactions);
        self.rhythm.arrived(count, Instant::now());
        self.status.send_modify(|status| status.settled = status.settled.max(Some(horizon.min(last.number))));
        self.move_tip(last, Some(timestamp));
        self.settler.step(self.writer.as_mut(), Pace::Gentle).await?;
        Ok(())
    }

    /// Goes back to where the node's chain and ours part, looking from `highest` down.
    async fn go_back(&mut self, highest: BlockNumber) -> Result<Outcome, Setback> {
        let Some(tip) = self.writer.tip().await? else { return Ok(Outcome::Moved) };
        match find_fork_point(&self.node, self.writer.as_ref(), highest).await? {
            // A block above does not fit, though the node is on our branch: it may by the next look.
            ForkPoint::At(number) if number == tip.number => Ok(Outcome::Again(self.short_pause())),
            ForkPoint::At(number) => {
                let depth = tip.number - number;
                warn!(depth, fork = number, tip = tip.number, "the chain was reorganised");
                self.writer.revert_to(number).await?;
                self.progress.reverted(depth);
                self.finality.reverted_to(number);
                self.lower_head.is_over();
                self.leave_branch();
                if let Some(tip) = self.writer.tip().await? {
                    let timestamp = self.timestamp_of(tip.number).await?;
                    self.move_tip(tip, timestamp);
                }
                Ok(Outcome::Moved)
            }
            ForkPoint::Unclear { missing } => {
                info!(missing, head = highest, "the node does not have a block below its head: looking again");
                Ok(Outcome::Again(self.short_pause()))
            }
            ForkPoint::TooDeep { oldest } => {
                let reason = format!(
                    "the node's chain parts from the index below block {oldest}, the lowest that can be undone. Either the \
                     node is on a wrong branch (mend the node: following goes on by itself), or the index must be made \
                     anew: stop, and start again with an empty data folder"
                );
                error!(tip = tip.number, oldest, "{reason}");
                self.status.send_modify(|status| status.phase = SyncPhase::Halted { reason });
                Ok(Outcome::Again(HALTED_PAUSE))
            }
        }
    }

    /// What contracts said on a branch is not believed on another. Whoever still asks there has the old resolver.
    fn leave_branch(&mut self) {
        let (reader, creations) = (Arc::clone(&self.reader), Arc::clone(&self.creations));
        self.resolver = Arc::new(Resolver::new(self.node.clone(), reader, creations));
        self.settler.forget();
    }

    async fn timestamp_of(&self, number: BlockNumber) -> Result<Option<u64>, StoreError> {
        Ok(self.reader.find_block(BlockId::Number(number)).await?.map(|block| block.timestamp))
    }

    fn see_head(&mut self, head: BlockRef, tip: Option<BlockRef>) {
        let behind = tip.map_or(head.number + 1, |tip| head.number.saturating_sub(tip.number));
        if behind > NEAR_HEAD {
            self.rhythm.forget();
        }
        self.status.send_modify(|status| {
            status.node_head = Some(head.number);
            status.node_reachable = true;
            if behind > NEAR_HEAD && !matches!(status.phase, SyncPhase::Halted { .. } | SyncPhase::Waiting { .. }) {
                status.phase = SyncPhase::Backfilling;
            }
        });
    }

    fn move_tip(&self, tip: BlockRef, timestamp: Option<u64>) {
        self.status.send_modify(|status| {
            status.tip = Some(tip);
            status.tip_timestamp = timestamp;
            let behind = status.node_head.map_or(0, |head| head.saturating_sub(tip.number));
            status.phase = if behind > NEAR_HEAD { SyncPhase::Backfilling } else { SyncPhase::Following };
            status.quiet_from = self.rhythm.quiet_from(self.lower_head.is_dev_chain()).map(Instant::into_std);
        });
    }

    fn arrive(&self) {
        let arrived = self.status.send_if_modified(|status| {
            let changed = status.phase != SyncPhase::Following;
            status.phase = SyncPhase::Following;
            changed
        });
        if arrived {
            info!("the index is level with the node");
        }
    }
}
