//! Handles reorgs: retracts messages about orphaned blocks.

use std::collections::{BTreeSet, HashMap, hash_map::Entry};

use domain::{BlockId, BlockNumber, BlockRef, Bytes, Delivery, EventKind, NewDelivery, WebhookId};
use store::{Removal, Retraction, StoreError};

use super::{Matcher, Step};
use crate::{clock, payload};

/// Matched blocks compared with the chain per read.
const COMPARE_BATCH: usize = 64;
/// Messages retracted in one write.
const RETRACT_BATCH: usize = 2_000;

/// The fork point of the matched branch and the canonical chain.
struct Fork {
    /// The newest matched block that is still canonical, if any.
    to: Option<BlockRef>,
    /// The lowest orphaned matched block.
    lowest: BlockNumber,
}

impl Matcher {
    /// After a reorg: moves the cursor to the newest matched block that is still canonical.
    pub(super) async fn begin_retraction(&mut self, newest: BlockRef) -> Result<Step, StoreError> {
        let fork = self.find_fork(newest).await?;
        // If no stored block is canonical, the blocks below are older than every webhook and are not matched again.
        let rebase_to = match fork.to {
            Some(to) => Some(to),
            None => self.block_below(fork.lowest).await?,
        };
        let mut rebased = Vec::new();
        for watcher in self.records.watch_list().await?.watchers {
            if let Some(after) = watcher.after
                && rebase_to.is_none_or(|to| after.number > to.number)
                && !self.is_canonical(after).await?
            {
                rebased.push(watcher.webhook);
            }
        }
        tracing::info!(from = newest.number, to = fork.to.map(|to| to.number), "webhooks handle a reorg");
        self.watch = None;
        self.records.begin_retraction(Retraction { to: fork.to, rebased, rebase_to }).await?;
        Ok(Step::Advanced)
    }

    /// Retracts messages about orphaned blocks, in batches.
    pub(super) async fn finish_retraction(&mut self) -> Result<Step, StoreError> {
        let mut wants_removed: HashMap<WebhookId, bool> = HashMap::new();
        loop {
            let batch = self.records.list_retracted(RETRACT_BATCH).await?;
            let Some(upto) = batch.upto else { break };
            let mut removals = Vec::new();
            for (delivery, body) in batch.deliveries {
                let id = delivery.webhook;
                if let Entry::Vacant(unknown) = wants_removed.entry(id) {
                    let webhook = self.records.find_webhook(id).await?;
                    unknown.insert(webhook.is_some_and(|webhook| webhook.events.contains(EventKind::Removed)));
                }
                if wants_removed.get(&id) == Some(&true) {
                    removals.push(removal_of(&delivery, &body)?);
                }
            }
            let notified: BTreeSet<WebhookId> = removals.iter().map(|removal| removal.delivery.webhook).collect();
            self.records.retract(removals, upto, clock::now()).await?;
            self.wake.queued(notified);
        }
        self.records.end_retraction().await?;
        Ok(Step::Advanced)
    }

    async fn find_fork(&self, newest: BlockRef) -> Result<Fork, StoreError> {
        let mut lowest = newest.number;
        let mut below = newest.number.saturating_add(1);
        loop {
            let blocks = self.records.list_matched_blocks(below, COMPARE_BATCH).await?;
            let Some(last) = blocks.last() else { return Ok(Fork { to: None, lowest }) };
            below = last.number;
            for block in blocks {
                if self.is_canonical(block).await? {
                    return Ok(Fork { to: Some(block), lowest });
                }
                lowest = block.number;
            }
        }
    }

    async fn block_below(&self, number: BlockNumber) -> Result<Option<BlockRef>, StoreError> {
        let Some(below) = number.checked_sub(1) else { return Ok(None) };
        let block = self.chain.find_block(BlockId::Number(below)).await?;
        // The chain may be shorter at the moment: only the number matters.
        Ok(Some(block.map_or(BlockRef { number: below, hash: domain::B256::ZERO }, |block| block.id())))
    }
}

fn removal_of(delivery: &Delivery, body: &Bytes) -> Result<Removal, StoreError> {
    Ok(Removal {
        of: delivery.number,
        delivery: NewDelivery {
            webhook: delivery.webhook,
            id: delivery.id.of_removal(),
            kind: EventKind::Removed,
            location: delivery.location,
            body: payload::removed(delivery, body)?,
        },
    })
}
