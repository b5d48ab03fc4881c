//! Going back where the chain did.

use std::collections::{BTreeSet, HashMap, hash_map::Entry};

use domain::{BlockId, BlockNumber, BlockRef, Bytes, Delivery, EventKind, NewDelivery, WebhookId};
use store::{Removal, Retraction, StoreError};

use super::{Matcher, Step};
use crate::{clock, payload};

/// Matched blocks compared with the chain in one look.
const COMPARED_AT_ONCE: usize = 64;
/// Messages taken back in one write.
const RETRACTED_AT_ONCE: usize = 2_000;

/// Where the matched branch and the chain part.
struct Fork {
    /// The newest matched block that still stands; None where none does.
    to: Option<BlockRef>,
    /// The lowest matched block that does not.
    lowest: BlockNumber,
}

impl Matcher {
    /// The chain was reorganised: moves the cursor to the newest matched block that still stands.
    pub(super) async fn begin_retraction(&mut self, newest: BlockRef) -> Result<Step, StoreError> {
        let fork = self.find_fork(newest).await?;
        // Where nothing stands that was noted, what lies below it is older than every webhook: it is not told again.
        let rebase_to = match fork.to {
            Some(to) => Some(to),
            None => self.block_below(fork.lowest).await?,
        };
        let mut rebased = Vec::new();
        for watcher in self.records.watch_list().await?.watchers {
            if let Some(after) = watcher.after
                && rebase_to.is_none_or(|to| after.number > to.number)
                && !self.stands(after).await?
            {
                rebased.push(watcher.webhook);
            }
        }
        tracing::info!(from = newest.number, to = fork.to.map(|to| to.number), "webhooks follow a reorganisation");
        self.watch = None;
        self.records.begin_retraction(Retraction { to: fork.to, rebased, rebase_to }).await?;
        Ok(Step::Moved)
    }

    /// Takes back what was said of blocks that have left the chain, piece by piece.
    pub(super) async fn finish_retraction(&mut self) -> Result<Step, StoreError> {
        let mut wanting: HashMap<WebhookId, bool> = HashMap::new();
        loop {
            let piece = self.records.list_retracted(RETRACTED_AT_ONCE).await?;
            let Some(upto) = piece.upto else { break };
            let mut removals = Vec::new();
            for (delivery, body) in piece.deliveries {
                let id = delivery.webhook;
                if let Entry::Vacant(unknown) = wanting.entry(id) {
                    let webhook = self.records.find_webhook(id).await?;
                    unknown.insert(webhook.is_some_and(|webhook| webhook.events.contains(EventKind::Removed)));
                }
                if wanting.get(&id) == Some(&true) {
                    removals.push(removal_of(&delivery, &body));
                }
            }
            let notified: BTreeSet<WebhookId> = removals.iter().map(|removal| removal.delivery.webhook).collect();
            self.records.retract(removals, upto, clock::now()).await?;
            self.wake.queued(notified);
        }
        self.records.end_retraction().await?;
        Ok(Step::Moved)
    }

    async fn find_fork(&self, newest: BlockRef) -> Result<Fork, StoreError> {
        let mut lowest = newest.number;
        let mut below = newest.number.saturating_add(1);
        loop {
            let blocks = self.records.list_matched_blocks(below, COMPARED_AT_ONCE).await?;
            let Some(last) = blocks.last() else { return Ok(Fork { to: None, lowest }) };
            below = last.number;
            for block in blocks {
                if self.stands(block).await? {
                    return Ok(Fork { to: Some(block), lowest });
                }
                lowest = block.number;
            }
        }
    }

    async fn block_below(&self, number: BlockNumber) -> Result<Option<BlockRef>, StoreError> {
        let Some(below) = number.checked_sub(1) else { return Ok(None) };
        let block = self.chain.find_block(BlockId::Number(below)).await?;
        // The chain may not reach so far at this moment: the number is what counts.
        Ok(Some(block.map_or(BlockRef { number: below, hash: domain::B256::ZERO }, |block| block.id())))
    }
}

fn removal_of(delivery: &Delivery, body: &Bytes) -> Removal {
    Removal {
        of: delivery.number,
        delivery: NewDelivery {
            webhook: delivery.webhook,
            id: delivery.id.of_removal(),
            kind: EventKind::Removed,
            place: delivery.place,
            body: payload::removed(delivery, body),
        },
    }
}
