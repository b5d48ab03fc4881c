//! Webhooks and their deliveries. Every change reads, checks and writes under one lock; what an owner or the matching asks
//! for is on the disk before it is answered.

mod access;
mod change;
mod queues;
mod read;
mod rows;

use async_trait::async_trait;
use domain::{
    Address, AttemptReport, BlockNumber, BlockRef, Bytes, ClaimedDelivery, Delivery, DeliveryId, DeliveryNumber,
    DeliveryStatus, NewDelivery, NewWebhook, Page, PageRequest, SealedSecret, UnixMillis, Webhook, WebhookChange,
    WebhookId,
};
use store::{
    AddWebhookError, EnqueueError, Matches, QueueHead, QueueState, Retraction, StoreError, WEBHOOKS_PER_OWNER,
    WatchList, Watcher, WebhookRecords,
};

pub use self::access::EmbeddedWebhookRecords;
use self::access::{Outlast, as_it_is};
use crate::codec::RowWriter;
use crate::keys::{Key, Table, delivery_in_block_key, number_in_key};
use crate::meta;

#[async_trait]
impl WebhookRecords for EmbeddedWebhookRecords {
    async fn add_webhook(&self, new: NewWebhook) -> Result<Webhook, AddWebhookError> {
        self.change(
            Outlast::Power,
            move |changing| {
                let owned = changing.view.prefix(Table::WebhookByOwner, &Key::address(&new.owner));
                if owned.take(WEBHOOKS_PER_OWNER).count() == WEBHOOKS_PER_OWNER {
                    return Err(AddWebhookError::QuotaReached);
                }
                let webhook = Webhook {
                    id: read::last_id(changing.view)? + 1,
                    owner: new.owner,
                    url: new.url,
                    watched: new.watched,
                    events: new.events,
                    active: true,
                    created_at: new.created_at,
                    after: meta::find_tip(changing.view)?.map(|tip| tip.block),
                    secret: new.secret,
                    retired_secrets: Vec::new(),
                    last_triggered_at: None,
                    fail_count: 0,
                    failing_since: None,
                    proven: false,
                };
                let mut last_id = RowWriter::default();
                last_id.varint(webhook.id);
                let batch = &mut *changing.batch;
                batch.put(Table::WebhookMeta, &Key::name(read::LAST_ID), last_id.finish());
                batch.put(Table::WebhookByOwner, &Key::webhook_by_owner(&webhook.owner, webhook.id), []);
                batch.put(Table::Webhook, &Key::id(webhook.id), rows::write_webhook(&webhook));
                changing.touch_watch_list()?;
                Ok(webhook)
            },
            as_it_is,
        )
        .await
    }

    async fn find_webhook(&self, id: WebhookId) -> Result<Option<Webhook>, StoreError> {
        self.read(move |view| read::find_webhook(view, id)).await
    }

    async fn list_webhooks(&self, owner: Address) -> Result<Vec<Webhook>, StoreError> {
        self.read(move |view| {
            let mut webhooks = Vec::new();
            for row in view.prefix(Table::WebhookByOwner, &Key::address(&owner)).rev() {
                let webhook = read::find_webhook(view, number_in_key(&row?.0, owner.len()))?;
                webhooks.push(webhook.ok_or(StoreError::Corrupt("a webhook that is listed but not there"))?);
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
        self.change(
            Outlast::Power,
            move |changing| {
                let Some(webhook) = read::find_webhook(changing.view, id)? else { return Ok(false) };
                changing.batch.delete(Table::Webhook, &Key::id(id));
                changing.batch.delete(Table::WebhookByOwner, &Key::webhook_by_owner(&webhook.owner, id));
                changing.touch_watch_list()?;
                Ok(true)
            },
            as_it_is,
        )
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

    async fn find_cursor(&self) -> Result<Option<BlockRef>, StoreError> {
        self.read(read::find_cursor).await
    }

    async fn list_matched_blocks(&self, below: BlockNumber, limit: usize) -> Result<Vec<BlockRef>, StoreError> {
        self.read(move |view| {
            let rows = view.range(Table::MatchedBlock, &Key::block(0), &Key::block(below)).rev().take(limit);
            rows.map(|row| row.and_then(|(key, hash)| read::matched_block(&key, &hash))).collect()
        })
        .await
    }

    async fn count_orphanings(&self, block: BlockRef) -> Result<u32, StoreError> {
        self.read(move |view| read::count_orphanings(view, &block)).await
    }

    async fn enqueue_matches(&self, matches: Matches, now: UnixMillis) -> Result<(), EnqueueError> {
        // A cursor alone is found again by looking through the same blocks. What is sent must not be found otherwise.
        let outlast = if matches.deliveries.is_empty() { Outlast::Process } else { Outlast::Power };
        self.change(
            outlast,
            move |changing| {
                let current = (read::version(changing.view)?, read::find_cursor(changing.view)?);
                if current != (matches.version, matches.from) {
                    return Err(EnqueueError::Stale);
                }
                Ok(changing.enqueue_matches(matches, now)?)
            },
            as_it_is,
        )
        .await
    }

    async fn list_deliveries_above(&self, number: BlockNumber) -> Result<Vec<(Delivery, Bytes)>, StoreError> {
        self.read(move |view| {
            let mut deliveries = Vec::new();
            let first = number.saturating_add(1);
            for row in view.range_from(Table::DeliveryByBlock, &Key::block(first), &Key::EMPTY) {
                let (webhook, number) = delivery_in_block_key(&row?.0);
                if let Some(delivery) = read::find_delivery(view, webhook, number)? {
                    deliveries.push((delivery, read::get_body(view, webhook, number)?));
                }
            }
            Ok(deliveries)
        })
        .await
    }

    async fn retract_matches(&self, retraction: Retraction, now: UnixMillis) -> Result<(), StoreError> {
        self.change(Outlast::Power, move |changing| changing.retract(retraction, now), as_it_is).await
    }

    async fn enqueue(&self, new: NewDelivery, now: UnixMillis) -> Result<Option<Delivery>, StoreError> {
        self.change(
            Outlast::Power,
            move |changing| match changing.webhook(new.webhook)? {
                Some(_) => changing.push(new, now).map(Some),
                None => Ok(None),
            },
            as_it_is,
        )
        .await
    }

    async fn requeue(
        &self,
        webhook: WebhookId,
        id: DeliveryId,
        now: UnixMillis,
    ) -> Result<Option<Delivery>, StoreError> {
        self.change(
            Outlast::Power,
            move |changing| {
                if changing.webhook(webhook)?.is_none() {
                    return Ok(None);
                }
                let Some(mut delivery) = read::find_delivery_by_id(changing.view, webhook, &id)? else {
                    return Ok(None);
                };
                // What is being sent at this moment, or stands in line for the first time, need not be queued again.
                let under_way = changing.queues.leased(webhook, delivery.number, now).is_some();
                if !under_way && delivery.status != (DeliveryStatus::Pending { due: None }) {
                    changing.unqueue(&delivery);
                    changing.queue_at(&mut delivery, now);
                    changing.put_delivery(&delivery);
                }
                Ok(Some(delivery))
            },
            as_it_is,
        )
        .await
    }

    async fn find_delivery(&self, webhook: WebhookId, id: DeliveryId) -> Result<Option<Delivery>, StoreError> {
        self.read(move |view| read::find_delivery_by_id(view, webhook, &id)).await
    }

    async fn list_queues(&self) -> Result<Vec<QueueHead>, StoreError> {
        self.alone(|view, queues| {
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

    async fn find_due(&self, webhook: WebhookId) -> Result<Option<UnixMillis>, StoreError> {
        self.alone(move |view, queues| match read::find_webhook(view, webhook)? {
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
        self.alone(move |view, queues| {
            if !read::find_webhook(view, webhook)?.is_some_and(|webhook| webhook.active) {
                return Ok(Vec::new());
            }
            let mut claimed = Vec::new();
            for number in queues.take(view, webhook, limit, now)? {
                let delivery = read::find_delivery(view, webhook, number)?;
                let delivery = delivery.ok_or(StoreError::Corrupt("a delivery that is queued but not there"))?;
                claimed.push(ClaimedDelivery {
                    webhook,
                    number,
                    id: delivery.id,
                    kind: delivery.kind,
                    body: read::get_body(view, webhook, number)?,
                    attempt_count: delivery.attempt_count,
                });
                queues.lease(webhook, number, lease_until);
            }
            Ok(claimed)
        })
        .await
    }

    async fn release(&self, claims: Vec<(WebhookId, DeliveryNumber)>) -> Result<(), StoreError> {
        self.alone(move |_, queues| {
            claims.into_iter().for_each(|(webhook, number)| queues.release(webhook, number));
            Ok(())
        })
        .await
    }

    async fn record_attempts(&self, reports: Vec<AttemptReport>) -> Result<Vec<QueueState>, StoreError> {
        self.change(
            // Lost with the power, an attempt is made again: the receiver knows its id.
            Outlast::Process,
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
                let delivery = read::find_delivery(view, webhook, log.first + rank)?;
                delivery.ok_or(StoreError::Corrupt("a delivery is missing"))
            });
            Ok(Page { items: items.collect::<Result<_, _>>()?, total })
        })
        .await
    }

    async fn forget_deliveries(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.change(
            Outlast::Process,
            move |changing| {
                let mut forgotten = 0;
                for webhook in changing.webhooks_with_log()? {
                    if forgotten < limit {
                        forgotten += changing.forget(webhook, before, limit - forgotten)?;
                    }
                }
                Ok(forgotten)
            },
            as_it_is,
        )
        .await
    }
}
