//! Follows the index with its own cursor and queues messages for watched addresses.

mod events;
mod internal;
mod retract;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use domain::{
    Block, BlockId, BlockNumber, BlockRange, BlockRef, Order, PageRequest, SyncStatus, TokenPrefix, WebhookId,
};
use futures::future::BoxFuture;
use store::{ChainReader, EnqueueError, MatchedBlock, Matches, NewEvent, Part, StoreError, WebhookRecords};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use self::events::Content;
use crate::{Wake, clock, watch::Watch};

/// Maximum blocks and approximate maximum transactions of one step.
const MAX_BLOCKS: u32 = 64;
const MAX_TRANSACTIONS: u64 = 5_000;
/// Page size of index reads.
const PAGE: u32 = 2_000;
/// How many hashes of the newest blocks are stored when blocks without watchers are skipped: they locate the fork point
/// after a reorg.
const STORED_HASHES: u64 = 512;
/// Pause before retrying a read during which the index changed.
const CHANGED_PAUSE: Duration = Duration::from_millis(20);
/// How long to wait for the traces of a block.
const TRACE_PAUSE: Duration = Duration::from_millis(200);
const RETRY_PAUSE: Duration = Duration::from_secs(1);

pub struct Matcher {
    chain: Arc<dyn ChainReader>,
    records: Arc<dyn WebhookRecords>,
    sync: watch::Receiver<SyncStatus>,
    wake: Wake,
    token_prefix: TokenPrefix,
    /// The cached watch list. The store rejects matches made with an outdated list.
    watch: Option<Watch>,
}

impl std::fmt::Debug for Matcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Matcher").finish_non_exhaustive()
    }
}

/// Result of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Advanced,
    /// The index changed during the read: retry.
    Changed,
    /// The cursor is at the tip, and there are no more internal transactions to match.
    AtTip,
    /// The cursor is at the tip, but blocks below it are not traced yet.
    Untraced,
}

impl Matcher {
    #[must_use]
    pub fn new(
        chain: Arc<dyn ChainReader>,
        records: Arc<dyn WebhookRecords>,
        sync: watch::Receiver<SyncStatus>,
        wake: Wake,
        token_prefix: TokenPrefix,
    ) -> Self {
        Self { chain, records, sync, wake, token_prefix, watch: None }
    }

    /// Keeps the cursor at the tip until cancelled. Every step leaves a consistent state.
    pub fn run(mut self, cancel: CancellationToken) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            while !cancel.is_cancelled() {
                self.sync.mark_unchanged();
                let pause = match self.step().await {
                    Ok(Step::Advanced) => continue,
                    Ok(Step::Changed) => CHANGED_PAUSE,
                    Ok(step @ (Step::AtTip | Step::Untraced)) => {
                        // The timeout covers a missed signal.
                        let pause = if step == Step::Untraced { TRACE_PAUSE } else { RETRY_PAUSE };
                        let changed = tokio::time::timeout(pause, self.sync.changed());
                        match cancel.run_until_cancelled(changed).await {
                            // The sender is gone: indexing has stopped, or the process is shutting down.
                            Some(Ok(Err(_))) => RETRY_PAUSE,
                            _ => continue,
                        }
                    }
                    Err(error) => {
                        tracing::warn!(%error, "webhooks cannot read the index; retrying");
                        RETRY_PAUSE
                    }
                };
                cancel.run_until_cancelled(tokio::time::sleep(pause)).await;
            }
        })
    }

    async fn step(&mut self) -> Result<Step, StoreError> {
        let progress = self.records.progress().await?;
        if progress.retracting {
            // It may have been started by an earlier process.
            return self.finish_retraction().await;
        }
        let Some(tip) = self.chain.find_tip().await? else { return Ok(Step::AtTip) };
        if let Some(newest) = progress.begun.or(progress.cursor) {
            if progress.copied && newest.number > tip.number {
                // The records came from a store whose index was further. Its events up to there are queued.
                return Ok(Step::AtTip);
            }
            if !self.is_canonical(newest).await? {
                return self.begin_retraction(newest).await;
            }
        }
        let watch = match self.watch.take() {
            Some(watch) => watch,
            None => Watch::new(self.records.watch_list().await?),
        };
        let step = if progress.cursor == Some(tip) {
            self.advance_internal(&watch, progress.internal, tip).await?
        } else {
            self.advance(&watch, progress.cursor, tip).await?
        };
        // The watch list has changed: read it again and match the same blocks once more.
        self.watch = step.is_some().then_some(watch);
        Ok(step.unwrap_or(Step::Advanced))
    }

    /// Matches the next blocks, or skips them if no webhook watches them; None if the watch list has changed.
    async fn advance(
        &self,
        watch: &Watch,
        cursor: Option<BlockRef>,
        tip: BlockRef,
    ) -> Result<Option<Step>, StoreError> {
        let next = cursor.map_or(0, |cursor| cursor.number + 1);
        if next > tip.number {
            return Ok(Some(Step::Changed));
        }
        match watch.first_watched_block() {
            Some(first) if first <= next => self.match_next(watch, cursor, next, tip).await,
            Some(first) => self.skip(watch, cursor, next, tip.number.min(first - 1)).await,
            None => self.skip(watch, cursor, next, tip.number).await,
        }
    }

    async fn is_canonical(&self, block: BlockRef) -> Result<bool, StoreError> {
        let found = self.chain.find_block(BlockId::Number(block.number)).await?;
        Ok(found.is_some_and(|found| found.hash == block.hash))
    }

    /// Moves the cursor over blocks without watchers.
    async fn skip(
        &self,
        watch: &Watch,
        cursor: Option<BlockRef>,
        next: BlockNumber,
        last: BlockNumber,
    ) -> Result<Option<Step>, StoreError> {
        let range = BlockRange { from: Some(next.max((last + 1).saturating_sub(STORED_HASHES))), to: Some(last) };
        let page = PageRequest { offset: 0, limit: PAGE, order: Order::OldestFirst };
        let blocks = self.chain.list_blocks(range, page).await?.items;
        if blocks.last().is_none_or(|block| block.number != last) {
            return Ok(Some(Step::Changed));
        }
        self.enqueue(watch, cursor, &blocks, Vec::new(), Part::Last).await
    }

    async fn match_next(
        &self,
        watch: &Watch,
        cursor: Option<BlockRef>,
        next: BlockNumber,
        tip: BlockRef,
    ) -> Result<Option<Step>, StoreError> {
        let Some(content) = self.read(cursor, next, tip).await? else { return Ok(Some(Step::Changed)) };
        self.match_content(watch, cursor, &content).await
    }

    /// Reads the next blocks; None if the index changed meanwhile.
    async fn read(
        &self,
        cursor: Option<BlockRef>,
        next: BlockNumber,
        tip: BlockRef,
    ) -> Result<Option<Content>, StoreError> {
        let to = tip.number.min(next.saturating_add(u64::from(MAX_BLOCKS) - 1));
        let page = PageRequest { offset: 0, limit: MAX_BLOCKS, order: Order::OldestFirst };
        // Without a cursor, start at the first indexed block, which may be above 0.
        let range = match cursor {
            Some(_) => BlockRange { from: Some(next), to: Some(to) },
            None => BlockRange::ALL,
        };
        let mut blocks = self.chain.list_blocks(range, page).await?.items;
        let mut transactions = 0;
        let enough = blocks.iter().position(|block| {
            transactions += u64::from(block.tx_count);
            transactions > MAX_TRANSACTIONS
        });
        blocks.truncate(enough.unwrap_or(blocks.len()).max(1));
        let (Some(first), Some(last)) = (blocks.first(), blocks.last()) else { return Ok(None) };
        let linked = blocks.iter().zip(blocks.iter().skip(1)).all(|(parent, child)| parent.hash == child.parent_hash);
        if !linked || cursor.is_some_and(|cursor| cursor.hash != first.parent_hash) {
            return Ok(None);
        }
        let range = BlockRange { from: Some(first.number), to: Some(last.number) };
        let last = last.id();
        let content = self.read_content(blocks, range).await?;
        // Everything was read from this branch if its last block is still canonical.
        Ok(if self.is_canonical(last).await? { Some(content) } else { None })
    }

    async fn enqueue(
        &self,
        watch: &Watch,
        from: Option<BlockRef>,
        blocks: &[Block],
        events: Vec<NewEvent>,
        part: Part,
    ) -> Result<Option<Step>, StoreError> {
        let notified = recipients(&events);
        let blocks = blocks
            .iter()
            .map(|block| MatchedBlock { block: block.id(), known_to: watch.newest_watching(block.number) })
            .collect();
        let skips_internal = watch.first_internal_block().is_none();
        let matches = Matches { version: watch.version, from, blocks, events, part, skips_internal };
        match self.records.enqueue_matches(matches, clock::now()).await {
            Ok(()) => {
                self.wake.queued(notified);
                Ok(Some(Step::Advanced))
            }
            Err(EnqueueError::Stale) => Ok(None),
            Err(EnqueueError::Store(error)) => Err(error),
        }
    }
}

/// The webhooks that some events are for.
fn recipients(events: &[NewEvent]) -> BTreeSet<WebhookId> {
    events.iter().flat_map(|event| &event.recipients).map(|recipient| recipient.webhook).collect()
}
