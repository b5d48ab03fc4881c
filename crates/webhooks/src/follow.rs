//! Follows the index with a cursor of its own, and queues what concerns somebody.

mod events;
mod retract;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use domain::{
    Block, BlockId, BlockNumber, BlockRange, BlockRef, Order, PageRequest, SyncStatus, TokenPrefix, Transaction,
    TransactionFilter, Transfer, TransferFilter, WebhookId,
};
use store::{ChainReader, EnqueueError, MatchedBlock, Matches, NewEvent, Part, StoreError, WebhookRecords};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{Wake, clock, matching::Watch};

/// Blocks of one step at most, and about as many transactions.
const BLOCKS_AT_ONCE: u32 = 64;
const TRANSACTIONS_AT_ONCE: u64 = 5_000;
/// Entries read from the index in one call.
const PAGE: u32 = 2_000;
/// Blocks below the cursor whose hashes are noted when nobody wants to know of them: where they leave the chain, it
/// must be seen from where on.
const NOTED_BLOCKS: u64 = 512;
/// Until the index stands still again.
const UNSTEADY_PAUSE: Duration = Duration::from_millis(20);
const RETRY_PAUSE: Duration = Duration::from_secs(1);

pub struct Matcher {
    chain: Arc<dyn ChainReader>,
    records: Arc<dyn WebhookRecords>,
    sync: watch::Receiver<SyncStatus>,
    wake: Wake,
    token_prefix: TokenPrefix,
    /// Who watches what, as far as is known. The store refuses what was found by an older list.
    watch: Option<Watch>,
}

impl std::fmt::Debug for Matcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Matcher").finish_non_exhaustive()
    }
}

/// How a step went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Moved,
    /// The index moved under the reading: look again.
    Unsteady,
    /// At the tip.
    Level,
}

/// What some blocks hold, read from one branch.
struct Content {
    blocks: Vec<Block>,
    transactions: Vec<Transaction>,
    /// By block and place of the transaction.
    transfers: BTreeMap<(BlockNumber, u32), Vec<Transfer>>,
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

    /// Keeps the cursor at the tip until told to stop. Between two steps nothing is half done.
    pub async fn run(mut self, cancel: CancellationToken) {
        while !cancel.is_cancelled() {
            self.sync.mark_unchanged();
            let pause = match self.step().await {
                Ok(Step::Moved) => continue,
                Ok(Step::Unsteady) => UNSTEADY_PAUSE,
                Ok(Step::Level) => {
                    // Should a signal ever be missed, the next look is not far.
                    let news = tokio::time::timeout(RETRY_PAUSE, self.sync.changed());
                    match cancel.run_until_cancelled(news).await {
                        // Nobody follows the chain any more: the index stands still, or the process ends.
                        Some(Ok(Err(_))) => RETRY_PAUSE,
                        _ => continue,
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "webhooks cannot follow the index for now");
                    RETRY_PAUSE
                }
            };
            cancel.run_until_cancelled(tokio::time::sleep(pause)).await;
        }
    }

    async fn step(&mut self) -> Result<Step, StoreError> {
        let progress = self.records.progress().await?;
        if progress.retracting {
            // Also what an earlier process began and did not end.
            return self.finish_retraction().await;
        }
        let Some(tip) = self.chain.find_tip().await? else { return Ok(Step::Level) };
        if let Some(newest) = progress.begun.or(progress.cursor)
            && !self.stands(newest).await?
        {
            return self.begin_retraction(newest).await;
        }
        let cursor = progress.cursor;
        if cursor == Some(tip) {
            return Ok(Step::Level);
        }
        let watch = match self.watch.take() {
            Some(watch) => watch,
            None => Watch::new(self.records.watch_list().await?),
        };
        let moved = self.move_on(&watch, cursor, tip).await?;
        // The watch list has changed: read it again and match the same blocks once more.
        self.watch = moved.is_some().then_some(watch);
        Ok(moved.unwrap_or(Step::Moved))
    }

    /// Looks through the next blocks, or passes over them; None where the watchers are others by now.
    async fn move_on(
        &self,
        watch: &Watch,
        cursor: Option<BlockRef>,
        tip: BlockRef,
    ) -> Result<Option<Step>, StoreError> {
        let next = cursor.map_or(0, |cursor| cursor.number + 1);
        if next > tip.number {
            return Ok(Some(Step::Unsteady));
        }
        match watch.first_wanted() {
            Some(wanted) if wanted <= next => self.look_through(watch, cursor, next, tip).await,
            Some(wanted) => self.pass_over(watch, cursor, next, tip.number.min(wanted - 1)).await,
            None => self.pass_over(watch, cursor, next, tip.number).await,
        }
    }

    async fn stands(&self, block: BlockRef) -> Result<bool, StoreError> {
        let found = self.chain.find_block(BlockId::Number(block.number)).await?;
        Ok(found.is_some_and(|found| found.hash == block.hash))
    }

    /// Moves on over blocks that nobody wants to know of.
    async fn pass_over(
        &self,
        watch: &Watch,
        cursor: Option<BlockRef>,
        next: BlockNumber,
        last: BlockNumber,
    ) -> Result<Option<Step>, StoreError> {
        let range = BlockRange { from: Some(next.max((last + 1).saturating_sub(NOTED_BLOCKS))), to: Some(last) };
        let page = PageRequest { offset: 0, limit: PAGE, order: Order::OldestFirst };
        let blocks = self.chain.list_blocks(range, page).await?.items;
        if blocks.last().is_none_or(|block| block.number != last) {
            return Ok(Some(Step::Unsteady));
        }
        self.enqueue(watch, cursor, &blocks, Vec::new(), Part::Last).await
    }

    async fn look_through(
        &self,
        watch: &Watch,
        cursor: Option<BlockRef>,
        next: BlockNumber,
        tip: BlockRef,
    ) -> Result<Option<Step>, StoreError> {
        let Some(content) = self.read(cursor, next, tip).await? else { return Ok(Some(Step::Unsteady)) };
        self.match_content(watch, cursor, &content).await
    }

    /// Reads the next blocks; None where the index moved meanwhile.
    async fn read(
        &self,
        cursor: Option<BlockRef>,
        next: BlockNumber,
        tip: BlockRef,
    ) -> Result<Option<Content>, StoreError> {
        let to = tip.number.min(next.saturating_add(u64::from(BLOCKS_AT_ONCE) - 1));
        let page = PageRequest { offset: 0, limit: BLOCKS_AT_ONCE, order: Order::OldestFirst };
        // An index may begin above block 0: then the first blocks are those it has.
        let range = match cursor {
            Some(_) => BlockRange { from: Some(next), to: Some(to) },
            None => BlockRange::ALL,
        };
        let mut blocks = self.chain.list_blocks(range, page).await?.items;
        let mut transactions = 0;
        let enough = blocks.iter().position(|block| {
            transactions += u64::from(block.tx_count);
            transactions > TRANSACTIONS_AT_ONCE
        });
        blocks.truncate(enough.unwrap_or(blocks.len()).max(1));
        let (Some(first), Some(last)) = (blocks.first(), blocks.last()) else { return Ok(None) };
        let linked = blocks.windows(2).all(|pair| pair[0].hash == pair[1].parent_hash);
        if !linked || cursor.is_some_and(|cursor| cursor.hash != first.parent_hash) {
            return Ok(None);
        }
        let range = BlockRange { from: Some(first.number), to: Some(last.number) };
        let last = last.id();
        let transactions = self.read_transactions(range).await?;
        let transfers = self.read_transfers(range).await?;
        // Everything was read from this branch if its last block still stands.
        Ok(if self.stands(last).await? { Some(Content { blocks, transactions, transfers }) } else { None })
    }

    async fn read_transactions(&self, blocks: BlockRange) -> Result<Vec<Transaction>, StoreError> {
        let filter = TransactionFilter { blocks, ..TransactionFilter::default() };
        let mut transactions = Vec::new();
        loop {
            let offset = transactions.len() as u64;
            let page = PageRequest { offset, limit: PAGE, order: Order::OldestFirst };
            let mut found = self.chain.list_transactions(&filter, page).await?.items;
            if found.is_empty() {
                return Ok(transactions);
            }
            transactions.append(&mut found);
        }
    }

    async fn read_transfers(
        &self,
        blocks: BlockRange,
    ) -> Result<BTreeMap<(BlockNumber, u32), Vec<Transfer>>, StoreError> {
        let filter = TransferFilter { blocks, ..TransferFilter::default() };
        let mut transfers: BTreeMap<_, Vec<Transfer>> = BTreeMap::new();
        let mut offset = 0;
        loop {
            let page = PageRequest { offset, limit: PAGE, order: Order::OldestFirst };
            let found = self.chain.list_transfers(&filter, page).await?.items;
            if found.is_empty() {
                return Ok(transfers);
            }
            offset += found.len() as u64;
            for transfer in found {
                let place = (transfer.block_number, transfer.event.tx_index);
                transfers.entry(place).or_default().push(transfer);
            }
        }
    }

    async fn enqueue(
        &self,
        watch: &Watch,
        from: Option<BlockRef>,
        blocks: &[Block],
        events: Vec<NewEvent>,
        part: Part,
    ) -> Result<Option<Step>, StoreError> {
        let recipients = events.iter().flat_map(|event| &event.recipients);
        let notified: BTreeSet<WebhookId> = recipients.map(|recipient| recipient.webhook).collect();
        let blocks = blocks
            .iter()
            .map(|block| MatchedBlock { block: block.id(), known_to: watch.newest_told_of(block.number) })
            .collect();
        let matches = Matches { version: watch.version, from, blocks, events, part };
        match self.records.enqueue_matches(matches, clock::now()).await {
            Ok(()) => {
                if !notified.is_empty() {
                    self.wake.queued(notified);
                }
                Ok(Some(Step::Moved))
            }
            Err(EnqueueError::Stale) => Ok(None),
            Err(EnqueueError::Store(error)) => Err(error),
        }
    }
}
