//! What blocks hold for those who watch.

use std::{
    collections::{HashMap, hash_map::Entry},
    time::Duration,
};

use domain::{
    Address, Block, BlockNumber, BlockRef, EventIdentity, EventKind, EventPlace, TokenFacts, Transfer, WebhookId,
};
use store::{NewEvent, Orphaning, Part, Recipient, StoreError};
use tokio::time::Instant;

use super::{Content, Matcher, Step};
use crate::{matching::Watch, payload};

/// Messages queued in one write: a block may have any number of them, and memory has not.
const QUEUED_AT_ONCE: usize = 2_000;
/// How long messages wait for new tokens to tell their names, which they are asked behind the tip. All of a step
/// together: somebody may make a hundred tokens in a block, and everybody's messages would wait for each.
const TOKEN_PATIENCE: Duration = Duration::from_secs(2);
const TOKEN_PAUSE: Duration = Duration::from_millis(20);

/// New tokens of a step, as far as they have told their names.
#[derive(Default)]
struct Tokens {
    known: HashMap<Address, TokenFacts>,
    patient_until: Option<Instant>,
}

/// Blocks of a step that left the chain before and came back.
#[derive(Default)]
struct Orphanings(HashMap<BlockNumber, Option<Orphaning>>);

/// What was found and is not queued yet.
struct Piece<'a> {
    watch: &'a Watch,
    cursor: Option<BlockRef>,
    blocks: &'a [Block],
    events: Vec<NewEvent>,
    messages: usize,
}

impl Matcher {
    /// Queues what is to be sent, in chain order: a transaction, then its transfers. None where the watchers have changed.
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
        let mut piece = Piece { watch, cursor, blocks: &content.blocks, events: Vec::new(), messages: 0 };
        for transaction in &content.transactions {
            let Some(&block) = hashes.get(&transaction.block_number) else { continue };
            let place = EventPlace { block, tx_hash: transaction.hash };
            let mut concerned = watch.of_transaction(transaction);
            let inclusion = self.keep_those_told(&mut concerned, block, &mut orphanings).await?;
            if !concerned.is_empty() {
                let body = payload::tx(transaction, inclusion);
                let event = Event { kind: EventKind::Tx, place, log_index: None, batch_index: 0, body };
                piece.add(event.into_new(concerned));
            }
            let of_it = content.transfers.get(&(transaction.block_number, transaction.index));
            for transfer in of_it.into_iter().flatten() {
                let mut concerned = watch.of_transfer(transfer);
                let inclusion = self.keep_those_told(&mut concerned, block, &mut orphanings).await?;
                if concerned.is_empty() {
                    continue;
                }
                let transfer = self.named(transfer, &mut tokens).await?;
                let event = Event {
                    kind: EventKind::TokenTransfer,
                    place,
                    log_index: Some(transfer.event.log_index),
                    batch_index: transfer.event.batch_index,
                    body: payload::token_transfer(&transfer, &block, self.token_prefix, inclusion),
                };
                piece.add(event.into_new(concerned));
                if piece.messages >= QUEUED_AT_ONCE && self.queue_part(&mut piece, block.number).await?.is_none() {
                    return Ok(None);
                }
            }
            if piece.messages >= QUEUED_AT_ONCE && self.queue_part(&mut piece, block.number).await?.is_none() {
                return Ok(None);
            }
        }
        self.enqueue(watch, cursor, &content.blocks, piece.events, Part::Last).await
    }

    /// Queues what was found so far, up to a block that more may follow of.
    async fn queue_part(&self, piece: &mut Piece<'_>, upto: BlockNumber) -> Result<Option<Step>, StoreError> {
        let events = std::mem::take(&mut piece.events);
        piece.messages = 0;
        let end = piece.blocks.partition_point(|block| block.number <= upto);
        self.enqueue(piece.watch, piece.cursor, &piece.blocks[..end], events, Part::More).await
    }

    /// Leaves out webhooks that are younger than the block. Gives for which time the block is included, if not the first.
    async fn keep_those_told(
        &self,
        concerned: &mut Vec<WebhookId>,
        block: BlockRef,
        orphanings: &mut Orphanings,
    ) -> Result<Option<u32>, StoreError> {
        if concerned.is_empty() {
            return Ok(None);
        }
        let orphaning = match orphanings.0.entry(block.number) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(unknown) => *unknown.insert(self.records.find_orphaning(block).await?),
        };
        let Some(orphaning) = orphaning else { return Ok(None) };
        concerned.retain(|webhook| *webhook <= orphaning.known_to);
        Ok(Some(orphaning.times.saturating_add(1)))
    }

    /// A transfer with its token's name. A new token is asked for it behind the tip: that is waited for, a little.
    async fn named(&self, transfer: &Transfer, tokens: &mut Tokens) -> Result<Transfer, StoreError> {
        let mut transfer = transfer.clone();
        let nameless =
            transfer.token_name.is_empty() && transfer.token_symbol.is_empty() && transfer.token_decimals == 0;
        if nameless {
            let until = *tokens.patient_until.get_or_insert_with(|| Instant::now() + TOKEN_PATIENCE);
            let token = transfer.event.token;
            let facts = match tokens.known.entry(token) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(unknown) => unknown.insert(self.facts_of(token, until).await?),
            };
            transfer.token_name.clone_from(&facts.name);
            transfer.token_symbol.clone_from(&facts.symbol);
            transfer.token_decimals = facts.decimals;
        }
        Ok(transfer)
    }

    async fn facts_of(&self, token: Address, until: Instant) -> Result<TokenFacts, StoreError> {
        loop {
            let facts = self.chain.find_token(token).await?.map(|token| token.facts).unwrap_or_default();
            if facts.asked_at.is_some() || Instant::now() >= until {
                return Ok(facts);
            }
            tokio::time::sleep(TOKEN_PAUSE).await;
        }
    }
}

impl Piece<'_> {
    fn add(&mut self, event: NewEvent) {
        self.messages += event.recipients.len();
        self.events.push(event);
    }
}

/// Something that happened, whoever is to be told.
struct Event {
    kind: EventKind,
    place: EventPlace,
    log_index: Option<u32>,
    batch_index: u32,
    body: domain::Bytes,
}

impl Event {
    fn into_new(self, webhooks: Vec<WebhookId>) -> NewEvent {
        let recipients = webhooks.into_iter().map(|webhook| {
            let identity = EventIdentity {
                webhook,
                kind: self.kind,
                block_hash: self.place.block.hash,
                tx_hash: self.place.tx_hash,
                log_index: self.log_index,
                batch_index: self.batch_index,
            };
            Recipient { webhook, id: identity.id() }
        });
        NewEvent { kind: self.kind, place: Some(self.place), recipients: recipients.collect(), body: self.body }
    }
}
