//! The loop that keeps the index at the node's head.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use domain::{BlockNumber, BlockRef, SyncPhase, SyncStatus};
use node::{Heads, NodeClient};
use store::{ChainReader, ChainWriter, StoreError, Undo};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use crate::batch::Batch;
use crate::creations::CreationFinder;
use crate::fetch::BlockRun;
use crate::fork::{ForkPoint, find_fork_point};
use crate::resolve::Resolver;
use crate::setback::Setback;
use crate::settle::{Pace, Settler};
use crate::{IngestConfig, IngestError, Progress};

/// Further behind than this, the index is backfilling.
const NEAR_HEAD: u64 = 16;
/// Blocks of one pass at most, so that the head is looked at now and then during a long backfill.
const PASS_BLOCKS: u64 = 20_000;
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
    /// Since when the node has been showing a head below ours on our own branch.
    shorter_since: Option<Instant>,
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
        Self { node, writer, reader, config, status, progress, resolver, creations, settler, shorter_since: None }
    }

    /// Follows the chain until told to stop.
    ///
    /// # Errors
    /// When the store is damaged. A node or a disk that fails is waited for.
    pub async fn run(mut self, cancel: CancellationToken) -> Result<(), IngestError> {
        let Err(failure) = tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok(()),
            ended = self.follow() => ended,
        };
        error!(error = %failure, "the index cannot be written: following stops");
        let reason = format!("the index cannot be written: {failure}");
        self.status.send_modify(|status| status.phase = SyncPhase::Halted { reason });
        Err(failure.into())
    }

    async fn follow(&mut self) -> Result<Infallible, StoreError> {
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
        self.status.send_modify(|status| status.tip = tip);
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
        let until = tokio::time::Instant::now() + pause;
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
        match tip {
            Some(tip) if head.number <= tip.number => self.compare_at_or_below_tip(head, tip).await,
            _ if head.number < self.config.start_block => Ok(Outcome::Level),
            _ => self.advance(head, tip).await,
        }
    }

    /// The node has nothing above our tip: the same block, another branch, or a shorter one.
    async fn compare_at_or_below_tip(&mut self, head: BlockRef, tip: BlockRef) -> Result<Outcome, Setback> {
        let ours = self.writer.find_block_hash(head.number).await?;
        if ours != Some(head.hash) {
            return self.go_back(head.number).await;
        }
        if head.number == tip.number {
            self.shorter_since = None;
            self.arrive();
            return Ok(Outcome::Level);
        }
        let now = Instant::now();
        let since = *self.shorter_since.get_or_insert(now);
        if now.duration_since(since) < self.config.shorter_head_patience {
            return Ok(Outcome::Again(self.config.shorter_head_patience / 8));
        }
        self.go_back(head.number).await
    }

    /// Commits forward to the head, as far as the blocks fit on our tip.
    async fn advance(&mut self, head: BlockRef, tip: Option<BlockRef>) -> Result<Outcome, Setback> {
        self.shorter_since = None;
        let horizon = self.horizon(head.number).await;
        let first = tip.map_or(self.config.start_block, |tip| tip.number + 1);
        let last = head.number.min(first.saturating_add(PASS_BLOCKS));
        let mut run = BlockRun::start(&self.node, &self.resolver, first..=last, &self.config);
        let (mut batch, mut parent) = (Batch::default(), tip);
        while let Some(fetched) = run.next().await {
            let Some(fetched) = fetched? else {
                // Announced but not there: the node is reorganising, or another one answers than before.
                self.flush(&mut batch, horizon).await?;
                return Ok(Outcome::Again(self.config.trouble_pause / 4));
            };
            let block = fetched.changes.block.id();
            if parent.is_some_and(|parent| parent.hash != fetched.changes.block.parent_hash) {
                // What is under way and what waits in the batch may be of the branch that was left.
                drop(run);
                return match tip {
                    Some(tip) => self.go_back(tip.number).await,
                    None => Ok(Outcome::Again(self.config.trouble_pause / 4)),
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

    /// The newest block that no revert needs to go below: final by the node's word, or deep enough.
    async fn horizon(&self, head: BlockNumber) -> BlockNumber {
        let deep_enough = head.saturating_sub(self.config.undo_depth);
        // A node that cannot say what is final right now leaves depth as the only measure.
        let finalized = self.node.finalized().await.ok().flatten().unwrap_or(deep_enough);
        finalized.min(deep_enough).max(head.saturating_sub(self.config.longest_undo_depth))
    }

    /// A batch never crosses the horizon: it is either all final or all revertible.
    async fn flush(&mut self, batch: &mut Batch, horizon: BlockNumber) -> Result<(), Setback> {
        let Some(last) = batch.last() else { return Ok(()) };
        let (blocks, transactions) = batch.take();
        let count = blocks.len() as u64;
        let undo = if last.number <= horizon { Undo::Discard } else { Undo::Keep { down_to: horizon } };
        self.writer.commit(blocks, undo).await?;
        self.progress.committed(count, transactions);
        self.move_tip(last);
        self.settler.step(self.writer.as_mut(), Pace::Gentle).await?;
        Ok(())
    }

    /// Goes back to where the node's chain and ours part, looking from `highest` down.
    async fn go_back(&mut self, highest: BlockNumber) -> Result<Outcome, Setback> {
        let Some(tip) = self.writer.tip().await? else { return Ok(Outcome::Moved) };
        match find_fork_point(&self.node, self.writer.as_ref(), highest).await? {
            ForkPoint::At(number) if number == tip.number => Ok(Outcome::Moved),
            ForkPoint::At(number) => {
                let depth = tip.number - number;
                warn!(depth, fork = number, tip = tip.number, "the chain was reorganised");
                self.writer.revert_to(number).await?;
                self.progress.reverted(depth);
                self.leave_branch();
                self.shorter_since = None;
                if let Some(tip) = self.writer.tip().await? {
                    self.move_tip(tip);
                }
                Ok(Outcome::Moved)
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

    fn see_head(&self, head: BlockRef, tip: Option<BlockRef>) {
        self.status.send_modify(|status| {
            status.node_head = Some(head.number);
            status.node_reachable = true;
            let behind = tip.map_or(head.number + 1, |tip| head.number.saturating_sub(tip.number));
            if behind > NEAR_HEAD && !matches!(status.phase, SyncPhase::Halted { .. } | SyncPhase::Waiting { .. }) {
                status.phase = SyncPhase::Backfilling;
            }
        });
    }

    fn move_tip(&self, tip: BlockRef) {
        self.status.send_modify(|status| {
            status.tip = Some(tip);
            let behind = status.node_head.map_or(0, |head| head.saturating_sub(tip.number));
            status.phase = if behind > NEAR_HEAD { SyncPhase::Backfilling } else { SyncPhase::Following };
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
