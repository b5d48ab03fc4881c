//! Webhooks and their deliveries. Every change reads, checks and writes under one lock; changes requested by owners and
//! queued matches are durable before the call returns.

mod access;
mod change;
pub(crate) mod check;
mod deliveries;
mod effects;
#[allow(clippy::expect_used, clippy::indexing_slicing, reason = "a fuzz target panics if a property does not hold")]
pub(crate) mod fuzzing;
mod load;
mod matches;
mod queues;
pub(crate) mod raw;
mod read;
mod rows;

use std::collections::BTreeMap;

use async_trait::async_trait;
use domain::{
    Address, AttemptReport, B256, BlockNumber, BlockRef, ClaimedDelivery, Delivery, DeliveryId, DeliveryNumber,
    DeliveryStatus, NewDelivery, NewWebhook, Page, PageRequest, SealedSecret, UnixMillis, Webhook, WebhookChange,
    WebhookId,
};
use store::{
    AddWebhookError, EnqueueError, InternalMatches, MatchedBlock, Matches, Orphaning, Progress, QueueCounts, QueueHead,
    QueueState, Removal, RetractedBatch, Retraction, RetractionCursor, StoreError, WEBHOOKS_PER_OWNER, WatchList,
    Watcher, WebhookRecords, WebhookTotals,
};

pub use self::access::EmbeddedWebhookRecords;
use self::access::Survives;
use crate::{
    engine::{Batch, View},
    keys::{Key, Table, number_in_key},
    meta,
};

/// Marks the cursor, if there is one: new events follow once the index, which is filled again, has reached it.
pub(crate) fn wait_for_index(view: &View, batch: &mut Batch) -> Result<(), StoreError> {
    if read::find_cursor(view)?.is_some() {
        batch.put(Table::WebhookMeta, &Key::name(read::COPIED), []);
    }
    Ok(())
}

/// Another chain is in the place of the matched one: all its blocks are orphaned, and the new ones are matched from the first on.
pub(crate) fn match_from_start(view: &View, batch: &mut Batch, first: BlockNumber) -> Result<(), StoreError> {
    if read::find_cursor(view)?.is_some() {
        // Only the newest matched blocks are known. One that no chain has says that none below is canonical either.
        let none = MatchedBlock { block: BlockRef { number: first, hash: B256::ZERO }, known_to: 0 };
        batch.put(Table::MatchedBlock, &Key::block(first), read::write_matched_block(&none));
        batch.delete(Table::WebhookMeta, &Key::name(read::COPIED));
    }
    Ok(())
}

#[async_trait]
impl WebhookRecords for EmbeddedWebhookRecords {
    async fn add_webhook(&self, new: NewWebhook) -> Result<Webhook, AddWebhookError> {
        let limits = self.limits();
        self.change(Survives::PowerLoss, move |changing| {
            let owned = changing.view.prefix(Table::WebhookByOwner, &Key::address(&new.owner));
            if owned.take(WEBHOOKS_PER_OWNER).count() == WEBHOOKS_PER_OWNER {
                return Err(AddWebhookError::QuotaReached);
            }
            let watching = changing.view.prefix(Table::WebhookByAddress, &Key::address(&new.watched));
            if watching.take(limits.per_address).count() == limits.per_address {
                return Err(AddWebhookError::AddressFull);
            }
            if changing.queues.loads.totals().webhooks >= limits.webhooks as u64 {
                return Err(AddWebhookError::Full);
            }
            let webhook =
                new.stored_as(read::last_id(changing.view)? + 1, meta::find_tip(changing.view)?.map(|tip| tip.block));
            changing.add_webhook(&webhook)?;
            Ok(webhook)
        })
        .await
    }

    async fn find_webhook(&self, id: WebhookId) -> Result<Option<Webhook>, StoreError> {
        self.read(move |view| read::find_webhook(view, id)).await
    }

    async fn list_webhooks(&self, owner: Address) -> Result<Vec<Webhook>, StoreError> {
        self.read(move |view| {
            let mut webhooks = Vec::new();
            for row in view.prefix(Table::WebhookByOwner, &Key::address(&owner)).rev() {
                let webhook = read::find_webhook(view, number_in_key(&row?.0, owner.len())?)?;
                webhooks.push(webhook.ok_or(StoreError::Corrupt("a listed webhook is missing"))?);
            }
            Ok(webhooks)
        })
        .await
    }

    async fn change_webhook(&self, id: WebhookId, change: WebhookChange) -> Result<Option<Webhook>, StoreError> {
        self.change_one(id, move |webhook| webhook.change(change)).await
    }

    async fn rotate_secret(
        &self,
        id: WebhookId,
        secret: SealedSecret,
        old_until: UnixMillis,
    ) -> Result<Option<Webhook>, StoreError> {
        self.change_one(id, move |webhook| webhook.rotate(secret, old_until)).await
    }

    async fn delete_webhook(&self, id: WebhookId) -> Result<bool, StoreError> {
        self.change(Survives::PowerLoss, move |changing| {
            let Some(webhook) = read::find_webhook(changing.view, id)? else { return Ok(false) };
            changing.delete_webhook(&webhook)?;
            Ok(true)
        })
        .await
    }

    async fn list_newest_webhooks(&self, limit: u32) -> Result<Vec<Webhook>, StoreError> {
        self.read(move |view| read::list_newest(view, limit as usize)).await
    }

    async fn drop_pending(&self, id: WebhookId) -> Result<Option<u64>, StoreError> {
        self.change(Survives::PowerLoss, move |changing| {
            if read::find_webhook(changing.view, id)?.is_none() {
                return Ok(None);
            }
            changing.drop_pending(id).map(Some)
        })
        .await
    }

    async fn watch_list(&self) -> Result<WatchList, StoreError> {
        self.read(|view| {
            let watchers = read::list_active(view)?.into_iter().map(|webhook| Watcher {
                webhook: webhook.id,
                watched: webhook.watched,
                events: webhook.events,
                after: webhook.after,
            });
            Ok(WatchList { version: read::version(view)?, watchers: watchers.collect() })
        })
        .await
    }

    async fn progress(&self) -> Result<Progress, StoreError> {
        self.read(read::progress).await
    }

    async fn list_matched_blocks(&self, below: BlockNumber, limit: usize) -> Result<Vec<BlockRef>, StoreError> {
        self.read(move |view| {
            let rows = view.range(Table::MatchedBlock, &Key::block(0), &Key::block(below)).rev().take(limit);
            let blocks = rows.map(|row| row.and_then(|(key, row)| read::matched_block(&key, &row)));
            blocks.map(|matched| matched.map(|matched| matched.block)).collect()
        })
        .await
    }

    async fn find_orphaning(&self, block: BlockRef) -> Result<Option<Orphaning>, StoreError> {
        self.read(move |view| read::find_orphaning(view, &block)).await
    }

    async fn enqueue_matches(&self, matches: Matches, now: UnixMillis) -> Result<(), EnqueueError> {
        // A lost cursor is recovered by matching the same blocks again; queued events must be durable, since they may
        // be sent.
        let survives = if matches.events.is_empty() { Survives::Crash } else { Survives::PowerLoss };
        self.change(survives, move |changing| {
            let current = (read::version(changing.view)?, read::find_cursor(changing.view)?);
            if current != (matches.version, matches.from) {
                return Err(EnqueueError::Stale);
            }
            Ok(changing.enqueue_matches(matches, now)?)
        })
        .await
    }

    async fn enqueue_internal(&self, matches: InternalMatches, now: UnixMillis) -> Result<(), EnqueueError> {
        let survives = if matches.events.is_empty() { Survives::Crash } else { Survives::PowerLoss };
        self.change(survives, move |changing| {
            let current = (read::version(changing.view)?, read::find_internal(changing.view)?);
            if current != (matches.version, matches.from) {
                return Err(EnqueueError::Stale);
            }
            Ok(changing.enqueue_internal(matches, now)?)
        })
        .await
    }

    async fn begin_retraction(&self, retraction: Retraction) -> Result<(), StoreError> {
        self.change(Survives::PowerLoss, move |changing| changing.begin_retraction(retraction)).await
    }

    async fn list_retracted(&self, limit: usize) -> Result<RetractedBatch, StoreError> {
        self.read(move |view| matches::list_retracted(view, limit)).await
    }

    async fn retract(&self, removals: Vec<Removal>, upto: RetractionCursor, now: UnixMillis) -> Result<(), StoreError> {
        self.change(Survives::PowerLoss, move |changing| changing.retract(removals, upto, now)).await
    }

    async fn end_retraction(&self) -> Result<(), StoreError> {
        self.change(Survives::Crash, |changing| {
            changing.batch.delete(Table::WebhookMeta, &Key::name(read::RETRACTING));
            Ok(())
        })
        .await
    }

    async fn enqueue(&self, new: NewDelivery, now: UnixMillis) -> Result<Option<Delivery>, StoreError> {
        self.change(Survives::PowerLoss, move |changing| {
            if changing.webhook(new.webhook)?.is_none() {
                return Ok(None);
            }
            changing.make_room(&BTreeMap::from([(new.webhook, 1)]))?;
            changing.push_single(new, now).map(Some)
        })
        .await
    }

    async fn requeue(
        &self,
        webhook: WebhookId,
        id: DeliveryId,
        now: UnixMillis,
    ) -> Result<Option<Delivery>, StoreError> {
        self.change(Survives::PowerLoss, move |changing| {
            if changing.webhook(webhook)?.is_none() {
                return Ok(None);
            }
            let Some(mut row) = read::find_row_by_id(changing.view, webhook, &id)? else { return Ok(None) };
            // A message in flight, or queued for the first time, is not queued again.
            let under_way = changing.queues.leased(webhook, row.delivery.number, now).is_some();
            if !under_way && row.delivery.status != (DeliveryStatus::Pending { due: None }) {
                changing.unqueue(&row.delivery)?;
                changing.queue_at(&mut row.delivery, now)?;
                changing.put(&row);
            }
            read::with_position(changing.view, row).map(Some)
        })
        .await
    }

    async fn find_delivery(&self, webhook: WebhookId, id: DeliveryId) -> Result<Option<Delivery>, StoreError> {
        self.read(move |view| {
            let row = read::find_row_by_id(view, webhook, &id)?;
            row.map(|row| read::with_position(view, row)).transpose()
        })
        .await
    }

    async fn list_queues(&self) -> Result<Vec<QueueHead>, StoreError> {
        self.with_queues(|view, queues| {
            let mut heads = Vec::new();
            for webhook in read::list_active(view)? {
                if let Some(due) = queues.find_due(view, webhook.id, 0)? {
                    heads.push(QueueHead { webhook: webhook.id, due });
                }
            }
            Ok(heads)
        })
        .await
    }

    async fn find_oldest_untried(&self) -> Result<Option<UnixMillis>, StoreError> {
        self.with_queues(|view, queues| {
            let mut oldest = None;
            for webhook in read::list_active(view)? {
                let Some(number) = queues.find_untried(view, webhook.id)? else { continue };
                let queued_at = read::find_row(view, webhook.id, number)?.map(|row| row.delivery.created_at);
                oldest = oldest.into_iter().chain(queued_at).min();
            }
            Ok(oldest)
        })
        .await
    }

    async fn find_due(&self, webhook: WebhookId) -> Result<Option<UnixMillis>, StoreError> {
        self.with_queues(move |view, queues| match read::find_webhook(view, webhook)? {
            Some(found) if found.active => queues.find_due(view, webhook, 0),
            _ => Ok(None),
        })
        .await
    }

    async fn claim(
        &self,
        webhook: WebhookId,
        limit: usize,
        now: UnixMillis,
        lease_until: UnixMillis,
    ) -> Result<Vec<ClaimedDelivery>, StoreError> {
        self.with_queues(move |view, queues| {
            if !read::find_webhook(view, webhook)?.is_some_and(|webhook| webhook.active) {
                return Ok(Vec::new());
            }
            let dropped = read::delivery_log(view, webhook)?.dropped;
            let mut claimed = Vec::new();
            for number in queues.take(view, webhook, limit, now)? {
                let row = read::find_row(view, webhook, number)?;
                let row = row.ok_or(StoreError::Corrupt("a queued delivery is missing"))?;
                claimed.push(ClaimedDelivery {
                    webhook,
                    number,
                    id: row.delivery.id,
                    kind: row.delivery.kind,
                    body: read::event(view, row.event)?.body,
                    created_at: row.delivery.created_at,
                    attempt_count: row.delivery.attempt_count,
                    dropped,
                });
                queues.lease(webhook, number, lease_until);
            }
            Ok(claimed)
        })
        .await
    }

    async fn release(&self, claims: Vec<(WebhookId, DeliveryNumber)>) -> Result<(), StoreError> {
        self.with_queues(move |_, queues| {
            claims.into_iter().for_each(|(webhook, number)| queues.release(webhook, number));
            Ok(())
        })
        .await
    }

    async fn end_leases(&self) -> Result<(), StoreError> {
        self.with_queues(|_, queues| {
            queues.end_leases();
            Ok(())
        })
        .await
    }

    async fn record_attempts(&self, reports: Vec<AttemptReport>) -> Result<Vec<QueueState>, StoreError> {
        self.change_and_read(
            // If the record is lost in a loss of power, the attempt is repeated: the receiver deduplicates by id.
            Survives::Crash,
            move |changing| {
                let mut webhooks: Vec<WebhookId> = reports.iter().map(|report| report.webhook).collect();
                webhooks.sort_unstable();
                webhooks.dedup();
                reports.into_iter().try_for_each(|report| changing.record(report))?;
                Ok(webhooks)
            },
            |webhooks, view, queues| {
                let mut states = Vec::new();
                for id in webhooks {
                    if let Some(webhook) = read::find_webhook(view, id)? {
                        let due = if webhook.active { queues.find_due(view, id, 0)? } else { None };
                        states.push(QueueState { webhook, due });
                    }
                }
                Ok(states)
            },
        )
        .await
    }

    async fn list_deliveries(&self, webhook: WebhookId, page: PageRequest) -> Result<Page<Delivery>, StoreError> {
        self.read(move |view| {
            let log = read::delivery_log(view, webhook)?;
            let total = log.next - log.first;
            let items = page.ranks(total).map(|rank| {
                let row = read::find_row(view, webhook, log.first + rank)?;
                read::with_position(view, row.ok_or(StoreError::Corrupt("a delivery is missing"))?)
            });
            Ok(Page { items: items.collect::<Result<_, _>>()?, total })
        })
        .await
    }

    async fn queue_counts(&self, webhook: WebhookId) -> Result<QueueCounts, StoreError> {
        self.read(move |view| {
            let log = read::delivery_log(view, webhook)?;
            Ok(QueueCounts { pending: log.pending, dropped: log.dropped.total })
        })
        .await
    }

    fn totals(&self) -> WebhookTotals {
        self.last_totals()
    }

    async fn forget_deliveries(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.change(Survives::Crash, move |changing| {
            let mut forgotten = 0;
            for webhook in changing.webhooks_with_log()? {
                if forgotten < limit {
                    forgotten += changing.forget(webhook, before, limit - forgotten)?;
                }
            }
            Ok(forgotten)
        })
        .await
    }
}
