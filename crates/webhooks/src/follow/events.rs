//! What blocks hold for those who watch.

use std::{
    collections::{HashMap, hash_map::Entry},
    time::Duration,
};

use domain::{
    Address, BlockNumber, BlockRef, EventIdentity, EventKind, EventPlace, NewDelivery, TokenFacts, Transfer, WebhookId,
};
use store::StoreError;
use tokio::time::Instant;

use super::{Content, Matcher};
use crate::{matching::Watch, payload};

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

impl Matcher {
    /// What is to be told, in chain order: a transaction, then what it moved.
    pub(super) async fn find_events(&self, watch: &Watch, content: &Content) -> Result<Vec<NewDelivery>, StoreError> {
        let hashes: HashMap<BlockNumber, BlockRef> =
            content.blocks.iter().map(|block| (block.number, block.id())).collect();
        let mut inclusions: HashMap<BlockNumber, u32> = HashMap::new();
        let mut tokens = Tokens::default();
        let mut deliveries = Vec::new();
        for transaction in &content.transactions {
            let Some(&block) = hashes.get(&transaction.block_number) else { continue };
            let place = EventPlace { block, tx_hash: transaction.hash };
            let concerned = watch.of_transaction(transaction);
            if !concerned.is_empty() {
                let inclusion = self.inclusion(block, &mut inclusions).await?;
                let body = payload::tx(transaction);
                let event = Event { kind: EventKind::Tx, place, inclusion, log_index: None, batch_index: 0, body };
                deliveries.extend(event.into_deliveries(concerned));
            }
            let of_it = content.transfers.get(&(transaction.block_number, transaction.index));
            for transfer in of_it.into_iter().flatten() {
                let concerned = watch.of_transfer(transfer);
                if concerned.is_empty() {
                    continue;
                }
                let inclusion = self.inclusion(block, &mut inclusions).await?;
                let transfer = self.named(transfer, &mut tokens).await?;
                deliveries.extend(
                    Event {
                        kind: EventKind::TokenTransfer,
                        place,
                        inclusion,
                        log_index: Some(transfer.event.log_index),
                        batch_index: transfer.event.batch_index,
                        body: payload::token_transfer(&transfer, &block, self.names),
                    }
                    .into_deliveries(concerned),
                );
            }
        }
        Ok(deliveries)
    }

    async fn inclusion(&self, block: BlockRef, known: &mut HashMap<BlockNumber, u32>) -> Result<u32, StoreError> {
        if let Some(inclusion) = known.get(&block.number) {
            return Ok(*inclusion);
        }
        let inclusion = self.records.count_orphanings(block).await?;
        known.insert(block.number, inclusion);
        Ok(inclusion)
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

/// Something that happened, to be told to several.
struct Event {
    kind: EventKind,
    place: EventPlace,
    inclusion: u32,
    log_index: Option<u32>,
    batch_index: u32,
    body: domain::Bytes,
}

impl Event {
    fn into_deliveries(self, webhooks: Vec<WebhookId>) -> impl Iterator<Item = NewDelivery> {
        webhooks.into_iter().map(move |webhook| {
            let identity = EventIdentity {
                webhook,
                kind: self.kind,
                block_hash: self.place.block.hash,
                inclusion: self.inclusion,
                tx_hash: self.place.tx_hash,
                log_index: self.log_index,
                batch_index: self.batch_index,
            };
            let (kind, place) = (self.kind, Some(self.place));
            NewDelivery { webhook, id: identity.id(), kind, place, body: self.body.clone() }
        })
    }
}
