//! Reads what blocks contain, and turns it into messages for watchers.

use std::{
    collections::{BTreeMap, HashMap, hash_map::Entry},
    time::Duration,
};

use domain::{
    Address, Block, BlockNumber, BlockRange, BlockRef, EventIdentity, EventKind, EventLocation, Order, PageRequest,
    TokenMetadata, Transaction, TransactionFilter, Transfer, TransferFilter, WebhookId,
};
use store::{NewEvent, Orphaning, Part, Recipient, StoreError};
use tokio::time::Instant;

use super::{Matcher, PAGE, Step};
use crate::{payload, watch::Watch};

/// Messages queued in one write; bounds memory, since a block may produce any number of them.
const QUEUE_BATCH: usize = 2_000;
/// How long one step waits for the metadata of new tokens, which is fetched after indexing. The limit covers all tokens of
/// a step, so that a block with a hundred new tokens does not delay all messages a hundred times.
const TOKEN_TIMEOUT: Duration = Duration::from_secs(2);
const TOKEN_PAUSE: Duration = Duration::from_millis(20);

/// Metadata of the new tokens of a step.
#[derive(Default)]
struct Tokens {
    known: HashMap<Address, TokenMetadata>,
    deadline: Option<Instant>,
}

/// Blocks of a step that were orphaned before and are canonical again.
#[derive(Default)]
pub(super) struct Orphanings(HashMap<BlockNumber, Option<Orphaning>>);

/// Matches that are not queued yet.
struct Batch<'a> {
    watch: &'a Watch,
    cursor: Option<BlockRef>,
    blocks: &'a [Block],
    events: Vec<NewEvent>,
    messages: usize,
}

/// The content of some blocks, read from one branch.
pub(super) struct Content {
    blocks: Vec<Block>,
    transactions: Vec<Transaction>,
    /// By block number and transaction index.
    transfers: BTreeMap<(BlockNumber, u32), Vec<Transfer>>,
}

impl Matcher {
    /// Reads what these blocks contain. The caller checks that all of it is of one branch.
    pub(super) async fn read_content(&self, blocks: Vec<Block>, range: BlockRange) -> Result<Content, StoreError> {
        let transactions = self.read_transactions(range).await?;
        let transfers = self.read_transfers(range).await?;
        Ok(Content { blocks, transactions, transfers })
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
                let key = (transfer.block_number, transfer.event.tx_index);
                transfers.entry(key).or_default().push(transfer);
            }
        }
    }

    /// Queues messages in chain order: a transaction, then its transfers. None if the watch list has changed.
    pub(super) async fn match_content(
        &self,
        watch: &Watch,
        cursor: Option<BlockRef>,
        content: &Content,
    ) -> Result<Option<Step>, StoreError> {
        let hashes: HashMap<BlockNumber, BlockRef> =
            content.blocks.iter().map(|block| (block.number, block.id())).collect();
        let mut orphanings = Orphanings::default();
        let mut tokens = Tokens::default();
        let mut batch = Batch { watch, cursor, blocks: &content.blocks, events: Vec::new(), messages: 0 };
        for transaction in &content.transactions {
            let Some(&block) = hashes.get(&transaction.block_number) else { continue };
            let location = EventLocation { block, tx_hash: transaction.hash };
            let mut webhooks = watch.of_transaction(transaction);
            let inclusion = self.retain_created_before_first_match(&mut webhooks, block, &mut orphanings).await?;
            if !webhooks.is_empty() {
                let body = payload::tx(transaction, inclusion);
                let event = Event { kind: EventKind::Tx, location, log_index: None, batch_index: 0, body };
                batch.add(event.into_new(webhooks));
            }
            let its_transfers = content.transfers.get(&(transaction.block_number, transaction.index));
            for transfer in its_transfers.into_iter().flatten() {
                let mut webhooks = watch.of_transfer(transfer);
                let inclusion = self.retain_created_before_first_match(&mut webhooks, block, &mut orphanings).await?;
                if webhooks.is_empty() {
                    continue;
                }
                let transfer = self.with_metadata(transfer, &mut tokens).await?;
                let event = Event {
                    kind: EventKind::TokenTransfer,
                    location,
                    log_index: Some(transfer.event.log_index),
                    batch_index: transfer.event.batch_index,
                    body: payload::token_transfer(&transfer, &block, self.token_prefix, inclusion),
                };
                batch.add(event.into_new(webhooks));
                if batch.messages >= QUEUE_BATCH && self.queue_part(&mut batch, block.number).await?.is_none() {
                    return Ok(None);
                }
            }
            if batch.messages >= QUEUE_BATCH && self.queue_part(&mut batch, block.number).await?.is_none() {
                return Ok(None);
            }
        }
        self.enqueue(watch, cursor, &content.blocks, batch.events, Part::Last).await
    }

    /// Queues the matches so far, up to a block that may have more.
    async fn queue_part(&self, batch: &mut Batch<'_>, upto: BlockNumber) -> Result<Option<Step>, StoreError> {
        let events = std::mem::take(&mut batch.events);
        batch.messages = 0;
        let end = batch.blocks.partition_point(|block| block.number <= upto);
        let (done, _) = batch.blocks.split_at(end);
        self.enqueue(batch.watch, batch.cursor, done, events, Part::More).await
    }

    /// Removes webhooks created after the block was first matched. Returns the inclusion count if it is above 1.
    pub(super) async fn retain_created_before_first_match(
        &self,
        webhooks: &mut Vec<WebhookId>,
        block: BlockRef,
        orphanings: &mut Orphanings,
    ) -> Result<Option<u32>, StoreError> {
        if webhooks.is_empty() {
            return Ok(None);
        }
        let orphaning = match orphanings.0.entry(block.number) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(unknown) => *unknown.insert(self.records.find_orphaning(block).await?),
        };
        let Some(orphaning) = orphaning else { return Ok(None) };
        webhooks.retain(|webhook| *webhook <= orphaning.known_to);
        Ok(Some(orphaning.times.saturating_add(1)))
    }

    /// A transfer with its token's metadata. Waits a short time for the metadata of a new token, which is unknown after that.
    async fn with_metadata(&self, transfer: &Transfer, tokens: &mut Tokens) -> Result<Transfer, StoreError> {
        let mut transfer = transfer.clone();
        if transfer.token_name.is_none() {
            let until = *tokens.deadline.get_or_insert_with(|| Instant::now() + TOKEN_TIMEOUT);
            let token = transfer.event.token;
            let metadata = match tokens.known.entry(token) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(unknown) => unknown.insert(self.wait_for_metadata(token, until).await?),
            };
            transfer.token_name = metadata.known_name().map(str::to_owned);
            transfer.token_symbol = metadata.known_symbol().map(str::to_owned);
            transfer.token_decimals = metadata.decimals;
        }
        Ok(transfer)
    }

    async fn wait_for_metadata(&self, token: Address, until: Instant) -> Result<TokenMetadata, StoreError> {
        loop {
            // Without a token, its block was reverted: nothing will be read.
            let Some(metadata) = self.chain.find_token(token).await?.map(|token| token.metadata) else {
                return Ok(TokenMetadata::default());
            };
            if metadata.is_read() || Instant::now() >= until {
                return Ok(metadata);
            }
            tokio::time::sleep(TOKEN_PAUSE).await;
        }
    }
}

impl Batch<'_> {
    fn add(&mut self, event: NewEvent) {
        self.messages += event.recipients.len();
        self.events.push(event);
    }
}

/// An event without its recipients.
pub(super) struct Event {
    pub(super) kind: EventKind,
    pub(super) location: EventLocation,
    pub(super) log_index: Option<u32>,
    pub(super) batch_index: u32,
    pub(super) body: domain::Bytes,
}

impl Event {
    pub(super) fn into_new(self, webhooks: Vec<WebhookId>) -> NewEvent {
        let recipients = webhooks.into_iter().map(|webhook| {
            let identity = EventIdentity {
                webhook,
                kind: self.kind,
                block_hash: self.location.block.hash,
                tx_hash: self.location.tx_hash,
                log_index: self.log_index,
                batch_index: self.batch_index,
            };
            Recipient { webhook, id: identity.id() }
        });
        NewEvent { kind: self.kind, location: Some(self.location), recipients: recipients.collect(), body: self.body }
    }
}
