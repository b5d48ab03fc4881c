//! Webhooks and their deliveries. Changes run one at a time, over all processes; leases are part of the rows.

mod announcements;
mod change;
mod deliveries;
mod handle;
mod matches;
mod queues;
pub(crate) mod raw;
mod rows;
mod sender;
mod shares;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::PoisonError,
    time::Instant,
};

use async_trait::async_trait;
use domain::{
    Address, AttemptReport, BlockNumber, BlockRef, ClaimedDelivery, Delivery, DeliveryId, DeliveryNumber,
    DeliveryStatus, NewDelivery, NewWebhook, Page, PageRequest, SealedSecret, UnixMillis, Webhook, WebhookChange,
    WebhookId,
};
use store::{
    AddWebhookError, EnqueueError, InternalMatches, Matches, Orphaning, Progress, QueueCounts, QueueHead, QueueState,
    Removal, RetractedBatch, Retraction, RetractionCursor, StoreError, WEBHOOKS_PER_OWNER, WatchList, Watcher,
    WebhookRecords, WebhookTotals,
};

use self::{
    change::Change,
    rows::{DELIVERY, DeliveryRow, WEBHOOK, find_webhook, webhook_from_row},
};
pub use self::{
    handle::PostgresWebhookRecords,
    sender::{QueueNews, Sender},
};
use crate::{
    chain::Chain,
    database::{execute, find, get, query, snapshot},
    error::store_error,
    rows::{RowExt, clamped, int8, limit},
};

/// Runs one change in a transaction. Its result is that of the block.
macro_rules! change {
    ($this:ident, |$change:ident| $work:expr) => {{
        let mut connection = $this.connection().await?;
        let tx = connection.transaction().await.map_err(store_error)?;
        #[allow(unused_mut, reason = "some changes need only the transaction")]
        let mut $change = Change::begin(&tx, $this.limits).await?;
        let outcome = $work;
        let progress = $change.finish().await?;
        tx.commit().await.map_err(store_error)?;
        $this.note_totals(&progress);
        Ok(outcome)
    }};
}

#[async_trait]
impl WebhookRecords for PostgresWebhookRecords {
    async fn add_webhook(&self, new: NewWebhook) -> Result<Webhook, AddWebhookError> {
        change!(self, |change| {
            let counts = "select (select count(*) from webhook where owner = $1),
                (select count(*) from webhook where watched = $2)";
            let row = get(change.tx, counts, &[&new.owner.as_slice(), &new.watched.as_slice()]).await?;
            if row.u64(0)? >= WEBHOOKS_PER_OWNER as u64 {
                return Err(AddWebhookError::QuotaReached);
            }
            if row.u64(1)? >= self.limits.per_address as u64 {
                return Err(AddWebhookError::AddressFull);
            }
            if change.progress.webhooks >= self.limits.webhooks as u64 {
                return Err(AddWebhookError::Full);
            }
            change.progress.last_webhook += 1;
            change.progress.webhooks += 1;
            change.progress.version += 1;
            let webhook = new.stored_as(change.progress.last_webhook, Chain::read(change.tx).await?.tip);
            rows::put_webhook(change.tx, &webhook).await?;
            change.record_change(webhook.id).await?;
            webhook
        })
    }

    async fn find_webhook(&self, id: WebhookId) -> Result<Option<Webhook>, StoreError> {
        find_webhook(&self.connection().await?, id).await
    }

    async fn list_webhooks(&self, owner: Address) -> Result<Vec<Webhook>, StoreError> {
        let sql = format!("select {WEBHOOK} from webhook w where w.owner = $1 order by w.id desc");
        let rows = query(&self.connection().await?, &sql, &[&owner.as_slice()]).await?;
        rows.iter().map(|row| webhook_from_row(row, 0)).collect()
    }

    async fn change_webhook(&self, id: WebhookId, changes: WebhookChange) -> Result<Option<Webhook>, StoreError> {
        change!(self, |change| change.change_webhook(id, |webhook| webhook.change(changes)).await?)
    }

    async fn rotate_secret(
        &self,
        id: WebhookId,
        secret: SealedSecret,
        old_until: UnixMillis,
    ) -> Result<Option<Webhook>, StoreError> {
        change!(self, |change| change.change_webhook(id, |webhook| webhook.rotate(secret, old_until)).await?)
    }

    async fn delete_webhook(&self, id: WebhookId) -> Result<bool, StoreError> {
        change!(self, |change| {
            let is_known = execute(change.tx, "delete from webhook where id = $1", &[&int8(id)]).await? > 0;
            if is_known {
                change.progress.webhooks = change.progress.webhooks.checked_sub(1).ok_or(change::MISCOUNTED)?;
                change.progress.version += 1;
                change.orphan_log(id).await?;
                change.record_change(id).await?;
            }
            is_known
        })
    }

    async fn list_newest_webhooks(&self, limit: u32) -> Result<Vec<Webhook>, StoreError> {
        let sql = format!("select {WEBHOOK} from webhook w order by w.id desc limit $1");
        let rows = query(&self.connection().await?, &sql, &[&i64::from(limit)]).await?;
        rows.iter().map(|row| webhook_from_row(row, 0)).collect()
    }

    async fn drop_pending(&self, id: WebhookId) -> Result<Option<u64>, StoreError> {
        change!(self, |change| {
            if find_webhook(change.tx, id).await?.is_none() {
                return Ok(None);
            }
            let dropped = change.drop_pending(id).await?;
            change.record_change(id).await?;
            Some(dropped)
        })
    }

    async fn watch_list(&self) -> Result<WatchList, StoreError> {
        // One statement: the version belongs to the watchers.
        let sql = "select p.version, w.id, w.watched, w.events, w.after_number, w.after_hash
            from webhook_progress p left join webhook w on w.is_active order by w.id";
        let rows = query(&self.connection().await?, sql, &[]).await?;
        let version = rows.first().map_or(Ok(0), |row| row.u64(0))?;
        let mut watchers = Vec::with_capacity(rows.len());
        for row in &rows {
            let Some(webhook) = row.option_u64(1)? else { continue };
            let events = rows::events_from(row.value(3)?)?;
            watchers.push(Watcher { webhook, watched: row.address(2)?, events, after: row.option_block(4)? });
        }
        Ok(WatchList { version, watchers })
    }

    async fn progress(&self) -> Result<Progress, StoreError> {
        let sql = "select p.cursor_number, p.cursor_hash, b.number, b.hash, p.retracting_from is not null, p.is_copied,
            p.internal_cursor
            from webhook_progress p
            left join lateral (select * from matched_block order by number desc limit 1) b on true";
        let row = get(&self.connection().await?, sql, &[]).await?;
        let (cursor, newest) = (row.option_block(0)?, row.option_block(2)?);
        let begun = newest.filter(|newest| cursor.is_none_or(|cursor| newest.number > cursor.number));
        Ok(Progress { cursor, begun, internal: row.option_u64(6)?, retracting: row.value(4)?, copied: row.value(5)? })
    }

    async fn list_matched_blocks(&self, below: BlockNumber, count: usize) -> Result<Vec<BlockRef>, StoreError> {
        let sql = "select number, hash from matched_block where number < $1 order by number desc limit $2";
        let rows = query(&self.connection().await?, sql, &[&clamped(below), &limit(count)]).await?;
        rows.iter().map(|row| Ok(BlockRef { number: row.u64(0)?, hash: row.hash(1)? })).collect()
    }

    async fn find_orphaning(&self, block: BlockRef) -> Result<Option<Orphaning>, StoreError> {
        let sql = "select times, known_to from orphaned_block where number = $1 and hash = substr($2::bytea, 1, 8)";
        let client = self.connection().await?;
        let Some(row) = find(&client, sql, &[&int8(block.number), &block.hash.as_slice()]).await? else {
            return Ok(None);
        };
        let times = u32::try_from(row.u64(0)?).map_err(|_| StoreError::Corrupt("a count of reorgs"))?;
        Ok(Some(Orphaning { times, known_to: row.u64(1)? }))
    }

    async fn enqueue_matches(&self, matches: Matches, now: UnixMillis) -> Result<(), EnqueueError> {
        change!(self, |change| {
            if (change.progress.version, change.progress.cursor) != (matches.version, matches.from) {
                return Err(EnqueueError::Stale);
            }
            change.enqueue_matches(matches, now).await?
        })
    }

    async fn enqueue_internal(&self, matches: InternalMatches, now: UnixMillis) -> Result<(), EnqueueError> {
        change!(self, |change| {
            if (change.progress.version, change.progress.internal) != (matches.version, matches.from) {
                return Err(EnqueueError::Stale);
            }
            change.enqueue_internal(matches, now).await?
        })
    }

    async fn begin_retraction(&self, retraction: Retraction) -> Result<(), StoreError> {
        change!(self, |change| change.begin_retraction(retraction).await?)
    }

    async fn list_retracted(&self, count: usize) -> Result<RetractedBatch, StoreError> {
        let mut connection = self.connection().await?;
        let client = snapshot(&mut connection).await?;
        matches::list_retracted(&client, count).await
    }

    async fn retract(&self, removals: Vec<Removal>, upto: RetractionCursor, now: UnixMillis) -> Result<(), StoreError> {
        change!(self, |change| change.retract(removals, upto, now).await?)
    }

    async fn end_retraction(&self) -> Result<(), StoreError> {
        change!(self, |change| change.progress.retracting_from = None)
    }

    async fn enqueue(&self, new: NewDelivery, now: UnixMillis) -> Result<Option<Delivery>, StoreError> {
        change!(self, |change| {
            if change.find_webhook(new.webhook).await?.is_none() {
                None
            } else {
                change.make_room(&BTreeMap::from([(new.webhook, 1)])).await?;
                change.record_change(new.webhook).await?;
                Some(change.push_single(new, now).await?)
            }
        })
    }

    async fn requeue(
        &self,
        webhook: WebhookId,
        id: DeliveryId,
        now: UnixMillis,
    ) -> Result<Option<Delivery>, StoreError> {
        change!(self, |change| {
            if change.find_webhook(webhook).await?.is_none() {
                return Ok(None);
            }
            let Some(mut row) = rows::find_by_id(change.tx, webhook, id).await? else { return Ok(None) };
            // A message in flight, or queued for the first time, is not queued again.
            let in_flight = row.lease_until.is_some_and(|until| until > now);
            if !in_flight && row.delivery.status != (DeliveryStatus::Pending { due: None }) {
                let was_pending = row.is_pending();
                row.delivery.status = DeliveryStatus::Pending { due: Some(now) };
                change.log(webhook).await?.pending += u64::from(!was_pending);
                rows::put_status(change.tx, std::slice::from_ref(&row)).await?;
                change.record_change(webhook).await?;
            }
            Some(row.delivery)
        })
    }

    async fn find_delivery(&self, webhook: WebhookId, id: DeliveryId) -> Result<Option<Delivery>, StoreError> {
        let row = rows::find_by_id(&self.connection().await?, webhook, id).await?;
        Ok(row.map(|row| row.delivery))
    }

    async fn list_queues(&self) -> Result<Vec<QueueHead>, StoreError> {
        let due = queues::due_of("l.webhook");
        let sql = format!(
            "select l.webhook, {due} from delivery_log l join webhook w on w.id = l.webhook
            where w.is_active and l.pending > 0 order by l.webhook"
        );
        let mut heads = Vec::new();
        for row in query(&self.connection().await?, &sql, &[]).await? {
            let webhook = row.u64(0)?;
            if let Some(due) = row.option_u64(1)?.filter(|_| self.may_send(webhook)) {
                heads.push(QueueHead { webhook, due });
            }
        }
        Ok(heads)
    }

    async fn find_oldest_untried(&self) -> Result<Option<UnixMillis>, StoreError> {
        let sql = "select min(created_at) from (
            select (select d.created_at from delivery d where d.webhook = l.webhook and d.status = 0 order by d.number limit 1)
            from delivery_log l join webhook w on w.id = l.webhook where w.is_active and l.pending > 0
        ) queue (created_at)";
        get(&self.connection().await?, sql, &[]).await?.option_u64(0)
    }

    fn may_send(&self, webhook: WebhookId) -> bool {
        self.sender.as_ref().is_none_or(|sender| sender.shares.may_send(webhook, Instant::now()))
    }

    async fn find_due(&self, webhook: WebhookId) -> Result<Option<UnixMillis>, StoreError> {
        if !self.may_send(webhook) {
            return Ok(None);
        }
        queues::find_due(&self.connection().await?, webhook).await
    }

    async fn claim(
        &self,
        webhook: WebhookId,
        count: usize,
        now: UnixMillis,
        lease_until: UnixMillis,
    ) -> Result<Vec<ClaimedDelivery>, StoreError> {
        if !self.may_send(webhook) {
            return Ok(Vec::new());
        }
        change!(self, |change| {
            if let Some(sender) = &self.sender
                && !sender.take(&change, webhook).await?
            {
                return Ok(Vec::new());
            }
            queues::claim(&mut change, webhook, count, now, lease_until).await?
        })
    }

    async fn release(&self, claims: Vec<(WebhookId, DeliveryNumber)>) -> Result<(), StoreError> {
        let (webhooks, numbers): (Vec<i64>, Vec<i64>) =
            claims.into_iter().map(|(webhook, number)| (int8(webhook), int8(number))).unzip();
        let sql = "update delivery d set lease_until = null from unnest($1::int8[], $2::int8[]) as c(webhook, number)
            where d.webhook = c.webhook and d.number = c.number and d.webhook = any($3)";
        change!(self, |change| {
            let owned = self.owned(&change, &webhooks).await?;
            let ids: Vec<i64> = owned.iter().map(|webhook| int8(*webhook)).collect();
            execute(change.tx, sql, &[&webhooks, &numbers, &ids]).await?;
            self.hand_over(&mut change, &owned).await?;
        })
    }

    async fn end_leases(&self) -> Result<(), StoreError> {
        // They were claimed, and may have been sent: the attempt stays recorded. Those of other senders stay.
        let owner = self.sender.as_ref().map(|sender| sender.shares.token());
        let sql = "update delivery d set lease_until = 0 where lease_until is not null
            and ($1::int8 is null or d.webhook in (select webhook from queue_owner where owner = $1))";
        change!(self, |change| {
            execute(change.tx, sql, &[&owner]).await?;
        })
    }

    async fn record_attempts(&self, reports: Vec<AttemptReport>) -> Result<Vec<QueueState>, StoreError> {
        let webhooks: BTreeSet<WebhookId> = reports.iter().map(|report| report.webhook).collect();
        let ids: Vec<i64> = webhooks.iter().map(|webhook| int8(*webhook)).collect();
        change!(self, |change| {
            let owned = self.owned(&change, &ids).await?;
            let (ours, lost): (Vec<_>, Vec<_>) =
                reports.into_iter().partition(|report| owned.contains(&report.webhook));
            if !lost.is_empty() {
                tracing::warn!(
                    messages = lost.len(),
                    "another process has taken over queues: it sends these messages again"
                );
            }
            change.record(ours).await?;
            self.hand_over(&mut change, &owned).await?;
            let mut states = Vec::new();
            for id in webhooks {
                let may_send = self.may_send(id);
                if let Some(webhook) = change.find_webhook(id).await?.cloned() {
                    let due = if webhook.active && may_send { queues::next_due(change.tx, id).await? } else { None };
                    states.push(QueueState { webhook, due });
                }
            }
            states
        })
    }

    async fn list_deliveries(&self, webhook: WebhookId, page: PageRequest) -> Result<Page<Delivery>, StoreError> {
        let mut connection = self.connection().await?;
        let client = snapshot(&mut connection).await?;
        let log = change::read_log(&client, webhook).await?;
        let total = log.next - log.first;
        let numbers: Vec<i64> = page.ranks(total).map(|rank| int8(log.first + rank)).collect();
        let sql = format!(
            "select {DELIVERY} from unnest($2::int8[]) with ordinality u(number, n)
            join delivery d on d.webhook = $1 and d.number = u.number join event e on e.number = d.event order by u.n"
        );
        let rows = query(&client, &sql, &[&int8(webhook), &numbers]).await?;
        if rows.len() != numbers.len() {
            return Err(StoreError::Corrupt("a delivery is missing"));
        }
        let items = rows.iter().map(|row| Ok(DeliveryRow::from_row(row, 0)?.delivery));
        Ok(Page { items: items.collect::<Result<_, StoreError>>()?, total })
    }

    async fn queue_counts(&self, webhook: WebhookId) -> Result<QueueCounts, StoreError> {
        let log = change::read_log(&self.connection().await?, webhook).await?;
        Ok(QueueCounts { pending: log.pending, dropped: log.dropped.total })
    }

    fn totals(&self) -> WebhookTotals {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner).now
    }

    async fn forget_deliveries(&self, before: UnixMillis, count: usize) -> Result<usize, StoreError> {
        change!(self, |change| change.forget_deliveries(before, count).await?)
    }
}
