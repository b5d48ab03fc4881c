//! Going back where the chain did.

use std::collections::{BTreeSet, HashMap, hash_map::Entry};

use domain::{BlockRef, EventKind, NewDelivery, WebhookId};
use store::{Removal, Retraction, StoreError};

use super::{Matcher, Step};
use crate::{clock, payload};

/// Matched blocks compared with the chain in one look.
const COMPARED_AT_ONCE: usize = 64;

impl Matcher {
    /// The chain was reorganised: goes back to the newest matched block that still stands, and takes back what was told of
    /// those that do not.
    pub(super) async fn retract(&mut self, cursor: BlockRef) -> Result<Step, StoreError> {
        let to = self.find_fork(cursor).await?;
        let above = to.map_or(0, |to| to.number);
        let mut removals = Vec::new();
        let mut wanting: HashMap<WebhookId, bool> = HashMap::new();
        for (delivery, body) in self.records.list_deliveries_above(above).await? {
            let id = delivery.webhook;
            if let Entry::Vacant(unknown) = wanting.entry(id) {
                let webhook = self.records.find_webhook(id).await?;
                unknown.insert(webhook.is_some_and(|webhook| webhook.events.contains(EventKind::Removed)));
            }
            if wanting.get(&id) == Some(&true) {
                removals.push(Removal {
                    of: delivery.number,
                    delivery: NewDelivery {
                        webhook: id,
                        id: delivery.id.of_removal(),
                        kind: EventKind::Removed,
                        place: delivery.place,
                        body: payload::removed(&delivery, &body),
                    },
                });
            }
        }
        let mut rebased = Vec::new();
        for watcher in self.records.watch_list().await?.watchers {
            if let Some(after) = watcher.after
                && to.is_none_or(|to| after.number > to.number)
                && !self.stands(after).await?
            {
                rebased.push(watcher.webhook);
            }
        }
        tracing::info!(from = cursor.number, to = above, "webhooks follow a reorganisation");
        let told: BTreeSet<WebhookId> = removals.iter().map(|removal| removal.delivery.webhook).collect();
        self.watch = None;
        self.records.retract_matches(Retraction { to, removals, rebased }, clock::now()).await?;
        self.wake.queued(told);
        Ok(Step::Moved)
    }

    async fn find_fork(&self, cursor: BlockRef) -> Result<Option<BlockRef>, StoreError> {
        let mut below = cursor.number.saturating_add(1);
        loop {
            let blocks = self.records.list_matched_blocks(below, COMPARED_AT_ONCE).await?;
            let Some(last) = blocks.last() else { return Ok(None) };
            below = last.number;
            for block in blocks {
                if self.stands(block).await? {
                    return Ok(Some(block));
                }
            }
        }
    }
}
