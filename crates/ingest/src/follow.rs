//! The loop that keeps the index at the node's head.

use std::{convert::Infallible, sync::Arc, time::Duration};

use domain::{BlockId, BlockNumber, BlockRef, SyncPhase, SyncStatus};
use futures::future::BoxFuture;
use node::{Head, Heads, NodeClient, Polling};
use store::{ChainReader, IndexWriter, StoreError, Undo};
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use crate::{
    IngestConfig, IngestError, OperatorRequests, Progress, Traces,
    batch::Batch,
    contract_data::{ContractDataFetcher, Pace},
    creations::CreationFinder,
    fetch::BlockRun,
    fill::Filler,
    finality::Finality,
    follow_error::FollowError,
    fork::{ForkPoint, find_fork_point},
    lower_head::{Decision, LowerHead, Observation},
    recent_traces::RecentTraces,
    resolve::Resolver,
    rhythm::Rhythm,
    tracer::Tracer,
    watchdog::watch_silence,
};

/// Further behind than this, the index is backfilling.
const NEAR_HEAD: u64 = 16;
/// Maximum blocks per step, so that the head is checked during a long backfill.
const STEP_BLOCKS: u64 = 20_000;
/// Retries of one block, while others stay in flight, before the step is abandoned.
const RETRIES: u32 = 4;
/// Backoff after a failed write: doubled each time, up to the second value.
const STORE_PAUSE: Duration = Duration::from_millis(500);
const MAX_STORE_PAUSE: Duration = Duration::from_secs(10);
/// How often it is checked whether the node serves another chain, which takes no call.
const CHAIN_CHECK: Duration = Duration::from_millis(250);
/// Interval between checks of a fork that is too deep to follow.
const HALTED_PAUSE: Duration = Duration::from_secs(10);

/// Follows one chain into one store.
#[expect(missing_debug_implementations, reason = "holds a trait object")]
pub struct Follower {
    node: NodeClient,
    writer: Box<dyn IndexWriter>,
    reader: Arc<dyn ChainReader>,
    config: IngestConfig,
    status: watch::Sender<SyncStatus>,
    progress: Arc<Progress>,
    resolver: Arc<Resolver>,
    creations: Arc<CreationFinder>,
    contract_data: ContractDataFetcher,
    filler: Filler,
    finality: Finality,
    lower_head: LowerHead,
    rhythm: Rhythm,
    /// Whether the node traces, if that is required.
    is_tracing_proven: bool,
    /// Whether it was logged that the index is at the node's head.
    is_caught_up: bool,
    /// Whether another process had the writer at the last attempt.
    is_standby: bool,
    requests: Arc<OperatorRequests>,
}

/// How a step towards the node's head ended.
enum Outcome {
    /// The index is at the node's head.
    CaughtUp,
    /// Try again after a pause, and why.
    RetryAfter(Duration, String),
    /// The index changed; there may be more to do.
    Progressed,
}

impl Follower {
    /// The reader must see what the writer commits.
    #[must_use]
    pub fn new(
        node: NodeClient,
        writer: Box<dyn IndexWriter>,
        reader: Arc<dyn ChainReader>,
        config: IngestConfig,
        status: watch::Sender<SyncStatus>,
        progress: Arc<Progress>,
    ) -> Self {
        let (traces, timeout, backoff) = (config.traces, config.trace_timeout, config.trace_backoff);
        let recent = Arc::new(RecentTraces::default());
        let creations = CreationFinder::new(node.clone(), Arc::clone(&recent), traces, timeout, backoff);
        let creations = Arc::new(creations);
        let resolver = Resolver::new(node.clone(), Arc::clone(&reader), Arc::clone(&creations), Arc::clone(&progress));
        let contract_data =
            ContractDataFetcher::new(node.for_background(), config.contract_data_interval, config.retry_pause);
        let (background, progressed) = (node.for_background(), Arc::clone(&progress));
        let tracer = Tracer::new(background, Arc::clone(&reader), recent, progressed, traces, timeout);
        let filler = Filler::new(tracer, traces, backoff);
        let finality = Finality::new(node.clone());
        let lower_head = LowerHead::new(config.lower_head_after);
        Self {
            node,
            writer,
            reader,
            config,
            status,
            progress,
            resolver: Arc::new(resolver),
            creations,
            contract_data,
            filler,
            is_tracing_proven: traces != Traces::Required,
            finality,
            lower_head,
            rhythm: Rhythm::default(),
            is_caught_up: false,
            is_standby: false,
            requests: Arc::default(),
        }
    }

    /// Carries out what the operator asks.
    #[must_use]
    pub fn with_requests(self, requests: Arc<OperatorRequests>) -> Self {
        Self { requests, ..self }
    }

    /// Follows the chain until cancelled.
    ///
    /// # Errors
    /// If the store is damaged, or another writer has taken over. Failures of the node and a store that is unavailable
    /// are retried.
    pub fn run(mut self, cancel: CancellationToken) -> BoxFuture<'static, Result<(), IngestError>> {
        Box::pin(async move {
            let watchdog = watch_silence(self.node.clone(), self.status.clone());
            let Err(failure) = tokio::select! {
                biased;
                () = cancel.cancelled() => return Ok(()),
                ended = self.follow() => ended,
                never = watchdog => match never {},
            };
            let reason = match &failure {
                // Whoever runs this decides, and says so.
                IngestError::OtherChain | IngestError::TooDeep | IngestError::WriterReplaced => return Err(failure),
                IngestError::Store(cause) => {
                    error!(error = %cause, "cannot write the index, indexing stops");
                    format!("cannot write the index: {cause}")
                }
            };
            self.status.send_modify(|status| status.phase = SyncPhase::Halted { reason });
            Err(failure)
        })
    }

    async fn follow(&mut self) -> Result<Infallible, IngestError> {
        self.lower_head.detect_dev_chain(&self.node).await;
        let mut heads = self.node.heads();
        if self.lower_head.is_dev_chain() {
            heads.set_polling(Polling::Eager);
        }
        let mut pause = STORE_PAUSE;
        loop {
            match self.follow_until_store_fails(&mut heads, &mut pause).await {
                // Another process writes. This one takes over soon after it ends, so the pause stays short.
                Err(IngestError::Store(failure @ StoreError::InUse)) => {
                    if !self.is_standby {
                        info!("another process writes the index, standing by");
                        self.is_standby = true;
                    }
                    self.report_waiting(&failure);
                    tokio::time::sleep(STORE_PAUSE).await;
                }
                Err(IngestError::Store(failure)) if failure.is_transient() => {
                    warn!(error = %failure, "cannot write the index, retrying");
                    self.report_waiting(&failure);
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(MAX_STORE_PAUSE);
                }
                ended => return ended,
            }
        }
    }

    /// Runs until the store fails. Every successful step resets `pause`.
    async fn follow_until_store_fails(
        &mut self,
        heads: &mut Heads,
        pause: &mut Duration,
    ) -> Result<Infallible, IngestError> {
        let tip = self.writer.tip().await?;
        if std::mem::take(&mut self.is_standby) {
            info!("this process writes the index now");
        }
        let timestamp = match tip {
            Some(tip) => self.timestamp_of(tip.number).await?,
            None => None,
        };
        self.status.send_modify(|status| (status.tip, status.tip_timestamp) = (tip, timestamp));
        let mut seen = None;
        loop {
            let outcome = self.step(seen.take()).await;
            self.update_contract_data(Pace::Brisk).await?;
            self.fill().await?;
            let idle = match outcome {
                Ok(Outcome::Progressed) => {
                    *pause = STORE_PAUSE;
                    continue;
                }
                Ok(Outcome::RetryAfter(pause, why)) => {
                    self.report_block_waits(Some(why));
                    pause
                }
                Ok(Outcome::CaughtUp) => {
                    self.report_block_waits(None);
                    self.config.idle_check.max(heads.silence())
                }
                Err(_) if self.node.other_chain().is_some() => return Err(IngestError::OtherChain),
                Err(FollowError::Node(failure)) => {
                    warn!(error = %failure, "cannot follow the node, retrying");
                    self.report_block_waits(Some(failure.in_public()));
                    self.status.send_modify(|status| status.node_reachable = false);
                    self.config.retry_pause
                }
                Err(FollowError::Store(failure)) => return Err(failure.into()),
                Err(FollowError::TooDeep) => return Err(IngestError::TooDeep),
            };
            seen = self.wait(heads, idle).await?;
        }
    }

    /// Reports why the next block is not indexed.
    fn report_block_waits(&self, why: Option<String>) {
        self.status.send_if_modified(|status| {
            let changed = status.block_waits_for != why;
            status.block_waits_for = why;
            changed
        });
    }

    /// Reports that indexing waits for the store, and why.
    fn report_waiting(&self, failure: &StoreError) {
        let reason = match failure {
            StoreError::Unavailable { reason } => reason.clone(),
            other => other.to_string(),
        };
        self.status.send_modify(|status| status.phase = SyncPhase::Waiting { reason });
    }

    async fn update_contract_data(&mut self, pace: Pace) -> Result<(), StoreError> {
        self.requests.carry_out(self.writer.as_mut()).await?;
        self.contract_data.step(self.writer.as_mut(), pace).await?;
        self.progress.record_contract_data(self.contract_data.is_complete());
        let failure = self.contract_data.failure();
        self.status.send_if_modified(|status| {
            let changed = status.contract_data_waits_for.as_deref() != failure;
            status.contract_data_waits_for = failure.map(str::to_owned);
            changed
        });
        Ok(())
    }

    /// Waits for a new head, or until `pause` has passed; contract data is stored meanwhile.
    async fn wait(&mut self, heads: &mut Heads, pause: Duration) -> Result<Option<Head>, StoreError> {
        let until = Instant::now() + pause;
        // Kept over the loop: a check must not cancel a poll of a slow node.
        let mut next = heads.next();
        loop {
            // Polls for a head fail silently; those of another chain end the wait.
            let check = (Instant::now() + CHAIN_CHECK).min(until);
            tokio::select! {
                biased;
                head = &mut next => return Ok(Some(head)),
                () = tokio::time::sleep_until(check) => {
                    if check == until || self.node.other_chain().is_some() {
                        return Ok(None);
                    }
                }
                () = self.contract_data.results() => self.update_contract_data(Pace::Brisk).await?,
                () = self.filler.results() => self.fill().await?,
            }
        }
    }

    /// Traces internal transactions at the head of the chain: a backfill runs without traces first.
    async fn fill(&mut self) -> Result<(), StoreError> {
        if self.status.borrow().phase == SyncPhase::Following {
            self.filler.step(self.writer.as_mut()).await?;
        }
        Ok(())
    }

    /// Whether the node traces its head. A node that lacks states traces other blocks.
    async fn prove_tracing(&mut self, head: BlockNumber) -> Result<bool, FollowError> {
        match self.node.find_internal_calls_of_block(head, self.config.trace_timeout).await {
            Ok(Some(_)) => self.is_tracing_proven = true,
            Err(error) if error.lacks_state() => self.is_tracing_proven = true,
            Ok(None) => {
                let reason = "the node does not support tracing, which is required (--traces required)".to_owned();
                error!("{reason}");
                self.status.send_modify(|status| status.phase = SyncPhase::Halted { reason });
            }
            Err(error) => return Err(error.into()),
        }
        Ok(self.is_tracing_proven)
    }

    /// Moves the index towards the node's head. It is requested if it was not seen, or if its number alone does not tell what to do.
    async fn step(&mut self, seen: Option<Head>) -> Result<Outcome, FollowError> {
        let tip = self.writer.tip().await?;
        let head = match (seen, tip) {
            (Some(head), Some(tip)) if head.number > tip.number => head,
            (Some(head), _) if head.hash.is_some() => head,
            _ => self.node.head().await?.into(),
        };
        self.record_head(head.number, tip);
        if !self.is_tracing_proven && !self.prove_tracing(head.number).await? {
            return Ok(Outcome::RetryAfter(
                HALTED_PAUSE,
                "the node does not support tracing, which is required".to_owned(),
            ));
        }
        // Boxed, since both futures are large.
        match (tip, head.block()) {
            (Some(tip), Some(head)) if head.number <= tip.number => {
                Box::pin(self.compare_at_or_below_tip(head, tip)).await
            }
            _ if head.number < self.config.start_block => Ok(Outcome::CaughtUp),
            _ => Box::pin(self.advance(head.number, tip)).await,
        }
    }

    /// The node's head is not above our tip: it is the same block, a shorter chain, or another branch.
    async fn compare_at_or_below_tip(&mut self, head: BlockRef, tip: BlockRef) -> Result<Outcome, FollowError> {
        let is_on_our_branch = self.writer.find_block_hash(head.number).await? == Some(head.hash);
        if is_on_our_branch && head.number == tip.number {
            self.lower_head.reset();
            self.record_caught_up(tip);
            return Ok(Outcome::CaughtUp);
        }
        let survey = self.node.survey_heads().await;
        if !is_on_our_branch {
            self.lower_head.reset();
            // One false response must not revert blocks.
            let again = self.node.find_block_ref(head.number).await?;
            if again != Some(head) {
                return Ok(self.retry_soon(format!("the node has two versions of its head, block {}", head.number)));
            }
            // With several nodes, the longest chain wins.
            let is_longest = survey.best.is_none_or(|best| best.number <= head.number);
            return if is_longest {
                self.revert_to_fork(head.number).await
            } else {
                Ok(self.retry_soon("another node has a longer chain".to_owned()))
            };
        }
        self.lower_head.detect_dev_chain(&self.node).await;
        let has_tip = self.node.find_block_ref(tip.number).await?.is_some();
        let seen = Observation { head, tip, finalized: self.finality.finalized(), survey, has_tip };
        match self.lower_head.decide(seen, Instant::now()) {
            Decision::Wait => {
                let why = format!("the node's head, block {}, is below the index", head.number);
                Ok(Outcome::RetryAfter(self.lower_head.pause(Instant::now()), why))
            }
            Decision::Revert => {
                warn!(head = head.number, tip = tip.number, "the node's chain has become shorter, reverting blocks");
                self.revert_to_fork(head.number).await
            }
        }
    }

    /// Commits blocks up to the head, as long as each extends our tip.
    async fn advance(&mut self, head: BlockNumber, tip: Option<BlockRef>) -> Result<Outcome, FollowError> {
        self.lower_head.reset();
        let horizon = self.finality.horizon(head, &self.config).await;
        let first = tip.map_or(self.config.start_block, |tip| tip.number + 1);
        // The head's height is unproven, and undo data is discarded by it: with a forged head, the next reorg could not be
        // followed. Fetching the full block verifies the height by its hash.
        if horizon >= first && self.node.find_block(head).await?.is_none() {
            warn!(head, "the node does not have the block that it reports as its head, retrying");
            return Ok(self.retry_soon(format!("the node does not have block {head}, which it reports as its head")));
        }
        let last = head.min(first.saturating_add(STEP_BLOCKS));
        let mut run = BlockRun::start(&self.node, &self.resolver, first..=last, &self.config);
        let (mut batch, mut parent, mut retries) = (Batch::default(), tip, 0);
        while let Some(fetched) = run.next().await {
            let fetched = match fetched {
                Ok(Some(fetched)) => fetched,
                Err(failure @ (FollowError::Store(_) | FollowError::TooDeep)) => return Err(failure),
                // Missing although announced: the node is reorganising, or another node answered.
                missing @ (Ok(None) | Err(FollowError::Node(_))) => {
                    // Blocks fetched before this one are complete.
                    self.flush(&mut batch, horizon).await?;
                    retries += 1;
                    let next = parent.map_or(first, |parent| parent.number + 1);
                    let why = match &missing {
                        Err(FollowError::Node(error)) => format!("block {next}: {}", error.in_public()),
                        Err(error) => format!("block {next}: {error}"),
                        Ok(_) => format!("the node does not have block {next}"),
                    };
                    if retries > RETRIES {
                        missing?;
                        return Ok(self.retry_soon(why));
                    }
                    self.report_block_waits(Some(why));
                    if let Err(error) = missing {
                        warn!(%error, "block unavailable, retrying");
                    }
                    run.retry(self.short_pause());
                    continue;
                }
            };
            retries = 0;
            let block = fetched.changes.block.id();
            if parent.is_some_and(|parent| parent.hash != fetched.changes.block.parent_hash) {
                // Blocks in flight and in the batch may be of the abandoned branch, unless they are final.
                drop(run);
                if batch.last().is_some_and(|last| last.number <= horizon) {
                    self.flush(&mut batch, horizon).await?;
                }
                return match self.writer.tip().await? {
                    Some(tip) => self.revert_to_fork(tip.number).await,
                    None => Ok(self.retry_soon("the first block does not belong to the second".to_owned())),
                };
            }
            batch.push(fetched.changes, Instant::now());
            parent = Some(block);
            if block.number == horizon || batch.is_due(&self.config, head, Instant::now()) {
                self.flush(&mut batch, horizon).await?;
            }
        }
        self.flush(&mut batch, horizon).await?;
        // After a few blocks the head is still the head, or the next one is already announced or due to be polled.
        if last == head
            && head - first < NEAR_HEAD
            && let Some(tip) = parent
        {
            self.record_caught_up(tip);
            return Ok(Outcome::CaughtUp);
        }
        Ok(Outcome::Progressed)
    }

    fn retry_soon(&self, why: String) -> Outcome {
        Outcome::RetryAfter(self.short_pause(), why)
    }

    fn short_pause(&self) -> Duration {
        self.config.retry_pause / 4
    }

    /// A batch never crosses the horizon: it is either entirely final or entirely revertible.
    async fn flush(&mut self, batch: &mut Batch, horizon: BlockNumber) -> Result<(), FollowError> {
        let Some((last, timestamp)) = batch.last().map(|block| (block.id(), block.timestamp)) else { return Ok(()) };
        let (blocks, transactions) = batch.take();
        let count = blocks.len() as u64;
        // Measured from a fetched block, since the head may be forged.
        let down_to = horizon.min(last.number.saturating_sub(self.config.undo_depth));
        let undo = if last.number <= horizon { Undo::Discard } else { Undo::Keep { down_to } };
        let started = Instant::now();
        self.writer.commit(blocks, undo).await?;
        self.progress.committed(count, transactions, started.elapsed());
        self.rhythm.arrived(count, Instant::now());
        self.status.send_modify(|status| status.settled = status.settled.max(Some(horizon.min(last.number))));
        self.record_tip(last, Some(timestamp));
        Ok(self.update_contract_data(Pace::Gentle).await?)
    }

    /// Reverts to the common ancestor with the node's chain, searching down from `highest`.
    async fn revert_to_fork(&mut self, highest: BlockNumber) -> Result<Outcome, FollowError> {
        let Some(tip) = self.writer.tip().await? else { return Ok(Outcome::Progressed) };
        match find_fork_point(&self.node, self.writer.as_ref(), highest).await? {
            // The next block does not extend our tip although the node is on our branch: this may resolve itself.
            ForkPoint::At(number) if number == tip.number => {
                Ok(self.retry_soon(format!("block {} of the node does not follow its block {number}", number + 1)))
            }
            ForkPoint::At(number) => {
                let depth = tip.number - number;
                warn!(depth, fork = number, tip = tip.number, "chain reorg, reverting blocks");
                self.writer.revert_to(number).await?;
                self.progress.reverted(depth);
                self.finality.reverted_to(number);
                self.lower_head.reset();
                self.discard_branch_state();
                if let Some(tip) = self.writer.tip().await? {
                    let timestamp = self.timestamp_of(tip.number).await?;
                    self.record_tip(tip, timestamp);
                }
                Ok(Outcome::Progressed)
            }
            ForkPoint::Unclear { missing } => {
                info!(missing, head = highest, "the node does not have a block below its head, retrying");
                Ok(self.retry_soon(format!("the node does not have block {missing}, which is below its head")))
            }
            ForkPoint::TooDeep { oldest } => {
                // Another chain may have taken the place of this one without a closed connection. A node that serves it is not used
                // from now on, so what the others say counts.
                self.node.identity().await?;
                let again = find_fork_point(&self.node, self.writer.as_ref(), highest).await?;
                if !matches!(again, ForkPoint::TooDeep { .. }) {
                    return Ok(self.retry_soon("the nodes are on different branches".to_owned()));
                }
                if self.config.starts_over {
                    return Err(FollowError::TooDeep);
                }
                let reason = format!(
                    "the node's chain forks off below block {oldest}, the lowest block that can be reverted. If the node is on a \
                     wrong branch, repair the node: indexing then resumes. Otherwise stop, and index again with an empty data \
                     folder"
                );
                error!(tip = tip.number, oldest, "{reason}");
                self.status.send_modify(|status| status.phase = SyncPhase::Halted { reason: reason.clone() });
                Ok(Outcome::RetryAfter(HALTED_PAUSE, reason))
            }
        }
    }

    /// Discards cached contract data of the abandoned branch. Tasks still in flight hold the old resolver.
    fn discard_branch_state(&mut self) {
        let (reader, creations) = (Arc::clone(&self.reader), Arc::clone(&self.creations));
        let resolver = Resolver::new(self.node.clone(), reader, creations, Arc::clone(&self.progress));
        self.resolver = Arc::new(resolver);
        self.contract_data.forget();
        self.filler.forget();
    }

    async fn timestamp_of(&self, number: BlockNumber) -> Result<Option<u64>, StoreError> {
        Ok(self.reader.find_block(BlockId::Number(number)).await?.map(|block| block.timestamp))
    }

    fn record_head(&mut self, head: BlockNumber, tip: Option<BlockRef>) {
        let behind = tip.map_or(head + 1, |tip| head.saturating_sub(tip.number));
        if behind > NEAR_HEAD {
            self.rhythm.forget();
            self.is_caught_up = false;
        }
        self.status.send_modify(|status| {
            status.node_head = Some(head);
            status.node_reachable = true;
            status.other_chain = None;
            if behind > NEAR_HEAD && !matches!(status.phase, SyncPhase::Halted { .. } | SyncPhase::Waiting { .. }) {
                status.phase = SyncPhase::Backfilling;
            }
        });
    }

    fn record_tip(&self, tip: BlockRef, timestamp: Option<u64>) {
        self.status.send_modify(|status| {
            status.tip = Some(tip);
            status.tip_timestamp = timestamp;
            status.block_waits_for = None;
            let behind = status.node_head.map_or(0, |head| head.saturating_sub(tip.number));
            status.phase = if behind > NEAR_HEAD { SyncPhase::Backfilling } else { SyncPhase::Following };
            status.quiet_from = self.rhythm.quiet_from(self.lower_head.is_dev_chain()).map(Instant::into_std);
        });
    }

    /// Logged once, and again after the index was far behind.
    fn record_caught_up(&mut self, tip: BlockRef) {
        self.status.send_if_modified(|status| {
            let changed = status.phase != SyncPhase::Following;
            status.phase = SyncPhase::Following;
            changed
        });
        if !std::mem::replace(&mut self.is_caught_up, true) {
            info!(block = tip.number, "the index has caught up with the node");
        }
    }
}
