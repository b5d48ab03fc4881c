//! An unfinished change: rows that it uses more than once, as read and as they will be written.

use std::collections::{BTreeMap, BTreeSet};

use deadpool_postgres::Transaction;
use domain::{BlockNumber, BlockRef, DeliveryNumber, DropCount, Webhook, WebhookId};
use store::{StoreError, WebhookLimits};

use super::{
    announcements,
    rows::{self, find_webhook},
};
use crate::{
    database::{Connection, execute, find, get, query},
    locks,
    rows::{RowExt, int8},
};

pub(super) const MISCOUNTED: StoreError = StoreError::Corrupt("a queue with other messages than it counts");

/// The row about all webhooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProgressRow {
    pub(super) version: u64,
    pub(super) last_webhook: WebhookId,
    pub(super) last_event: u64,
    pub(super) cursor: Option<BlockRef>,
    pub(super) retracting_from: Option<BlockNumber>,
    /// The cursor of internal transactions.
    pub(super) internal: Option<BlockNumber>,
    /// Whether the cursor was copied from another store, and not moved since.
    pub(super) is_copied: bool,
    pub(super) webhooks: u64,
    pub(super) pending: u64,
    pub(super) dropped: u64,
}

impl ProgressRow {
    pub(super) async fn read(client: &dyn Connection) -> Result<Self, StoreError> {
        let sql =
            "select version, last_webhook, last_event, cursor_number, cursor_hash, retracting_from, webhooks, pending,
            dropped, is_copied, internal_cursor from webhook_progress";
        let row = get(client, sql, &[]).await?;
        Ok(Self {
            version: row.u64(0)?,
            last_webhook: row.u64(1)?,
            last_event: row.u64(2)?,
            cursor: row.option_block(3)?,
            retracting_from: row.option_u64(5)?,
            webhooks: row.u64(6)?,
            pending: row.u64(7)?,
            dropped: row.u64(8)?,
            is_copied: row.value(9)?,
            internal: row.option_u64(10)?,
        })
    }

    async fn write(&self, tx: &Transaction<'_>) -> Result<(), StoreError> {
        let sql = "update webhook_progress set version = $1, last_webhook = $2, last_event = $3, cursor_number = $4,
            cursor_hash = $5, retracting_from = $6, webhooks = $7, pending = $8, dropped = $9,
            is_copied = $10, internal_cursor = $11";
        execute(
            tx,
            sql,
            &[
                &int8(self.version),
                &int8(self.last_webhook),
                &int8(self.last_event),
                &self.cursor.map(|cursor| int8(cursor.number)),
                &self.cursor.map(|cursor| cursor.hash.to_vec()),
                &self.retracting_from.map(int8),
                &int8(self.webhooks),
                &int8(self.pending),
                &int8(self.dropped),
                &self.is_copied,
                &self.internal.map(int8),
            ],
        )
        .await?;
        Ok(())
    }
}

/// Delivery numbers without gaps: the oldest stored and the next to assign; and counts of what is between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DeliveryLog {
    pub(super) first: DeliveryNumber,
    pub(super) next: DeliveryNumber,
    pub(super) pending: u64,
    pub(super) dropped: DropCount,
    /// Whether the webhook was deleted. Then its messages do not count.
    pub(super) is_orphaned: bool,
}

pub(super) async fn read_log(client: &dyn Connection, webhook: WebhookId) -> Result<DeliveryLog, StoreError> {
    let sql = "select first, next, pending, dropped, reported, is_orphaned from delivery_log where webhook = $1";
    let Some(row) = find(client, sql, &[&int8(webhook)]).await? else {
        let dropped = DropCount::default();
        return Ok(DeliveryLog { first: 1, next: 1, pending: 0, dropped, is_orphaned: false });
    };
    let (first, next) = (row.u64(0)?, row.u64(1)?);
    if first > next {
        return Err(StoreError::Corrupt("a queue with a number before its first one"));
    }
    Ok(DeliveryLog {
        first,
        next,
        pending: row.u64(2)?,
        dropped: DropCount { total: row.u64(3)?, reported: row.u64(4)? },
        is_orphaned: row.value(5)?,
    })
}

/// A row as read, and as it will be written.
#[derive(Debug)]
struct Tracked<T> {
    before: T,
    now: T,
}

impl<T: Clone + PartialEq> Tracked<T> {
    fn new(row: T) -> Self {
        Self { before: row.clone(), now: row }
    }

    fn is_changed(&self) -> bool {
        self.before != self.now
    }
}

pub(super) struct Change<'a> {
    pub(super) tx: &'a Transaction<'a>,
    pub(super) limits: WebhookLimits,
    pub(super) progress: ProgressRow,
    progress_before: ProgressRow,
    logs: BTreeMap<WebhookId, Tracked<DeliveryLog>>,
    webhooks: BTreeMap<WebhookId, Tracked<Option<Webhook>>>,
    /// Webhooks whose queues are announced to senders.
    announced: BTreeSet<WebhookId>,
}

impl<'a> Change<'a> {
    /// Waits for other changes.
    pub(super) async fn begin(tx: &'a Transaction<'a>, limits: WebhookLimits) -> Result<Self, StoreError> {
        query(tx, "select pg_advisory_xact_lock($1)", &[&locks::WEBHOOKS]).await?;
        let progress = ProgressRow::read(tx).await?;
        let (logs, webhooks, announced) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        Ok(Self { tx, limits, progress_before: progress.clone(), progress, logs, webhooks, announced })
    }

    /// Writes the tracked rows that have changed.
    pub(super) async fn finish(mut self) -> Result<ProgressRow, StoreError> {
        let changed: Vec<(&WebhookId, &Tracked<DeliveryLog>)> =
            self.logs.iter().filter(|(_, log)| log.is_changed()).collect();
        for (webhook, Tracked { before, now }) in &changed {
            if !now.is_orphaned {
                let pending = (self.progress.pending + now.pending).checked_sub(before.pending);
                self.progress.pending = pending.ok_or(MISCOUNTED)?;
            }
            if now.next > before.next {
                self.announced.insert(**webhook);
            }
            self.progress.dropped += now.dropped.total - before.dropped.total;
        }
        if !changed.is_empty() {
            let webhooks: Vec<i64> = changed.iter().map(|(webhook, _)| int8(**webhook)).collect();
            let numbers = |number: fn(&DeliveryLog) -> u64| -> Vec<i64> {
                changed.iter().map(|(_, log)| int8(number(&log.now))).collect()
            };
            let orphaned: Vec<bool> = changed.iter().map(|(_, log)| log.now.is_orphaned).collect();
            let sql = "insert into delivery_log (webhook, first, next, pending, dropped, reported, is_orphaned)
                select * from unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[], $5::int8[], $6::int8[], $7::boolean[])
                on conflict (webhook) do update set first = excluded.first, next = excluded.next,
                    pending = excluded.pending, dropped = excluded.dropped, reported = excluded.reported,
                    is_orphaned = excluded.is_orphaned";
            execute(
                self.tx,
                sql,
                &[
                    &webhooks,
                    &numbers(|log| log.first),
                    &numbers(|log| log.next),
                    &numbers(|log| log.pending),
                    &numbers(|log| log.dropped.total),
                    &numbers(|log| log.dropped.reported),
                    &orphaned,
                ],
            )
            .await?;
        }
        for tracked in self.webhooks.values().filter(|tracked| tracked.is_changed()) {
            if let Some(webhook) = &tracked.now {
                rows::put_webhook(self.tx, webhook).await?;
            }
        }
        if self.progress != self.progress_before {
            self.progress.write(self.tx).await?;
        }
        if !self.announced.is_empty() {
            let text = announcements::payload(self.announced.into_iter());
            query(self.tx, "select pg_notify($1, $2)", &[&announcements::CHANNEL, &text]).await?;
        }
        Ok(self.progress)
    }

    /// Tells the processes that send to look at the queue of a webhook.
    pub(super) fn announce(&mut self, webhook: WebhookId) {
        self.announced.insert(webhook);
    }

    pub(super) async fn find_webhook(&mut self, id: WebhookId) -> Result<Option<&mut Webhook>, StoreError> {
        if !self.webhooks.contains_key(&id) {
            self.webhooks.insert(id, Tracked::new(find_webhook(self.tx, id).await?));
        }
        Ok(self.webhooks.get_mut(&id).and_then(|tracked| tracked.now.as_mut()))
    }

    /// Changes a webhook, and returns it; None if it is unknown.
    pub(super) async fn change_webhook(
        &mut self,
        id: WebhookId,
        change: impl FnOnce(&mut Webhook),
    ) -> Result<Option<Webhook>, StoreError> {
        let Some(webhook) = self.find_webhook(id).await? else { return Ok(None) };
        change(webhook);
        let webhook = webhook.clone();
        self.progress.version += 1;
        self.record_change(id).await?;
        Ok(Some(webhook))
    }

    /// Announces a webhook to the process that sends. Changes run one at a time, so their numbers are in order.
    pub(super) async fn record_change(&self, webhook: WebhookId) -> Result<(), StoreError> {
        let sql = "insert into webhook_change values ($1, nextval('webhook_change_number'))
            on conflict (webhook) do update set number = excluded.number";
        execute(self.tx, sql, &[&int8(webhook)]).await?;
        Ok(())
    }

    pub(super) async fn log(&mut self, webhook: WebhookId) -> Result<&mut DeliveryLog, StoreError> {
        if !self.logs.contains_key(&webhook) {
            self.logs.insert(webhook, Tracked::new(read_log(self.tx, webhook).await?));
        }
        let tracked = self.logs.get_mut(&webhook).ok_or(StoreError::Corrupt("a log that was just read"))?;
        Ok(&mut tracked.now)
    }

    /// The webhook of a log was deleted: its messages no longer count.
    pub(super) async fn orphan_log(&mut self, webhook: WebhookId) -> Result<(), StoreError> {
        self.log(webhook).await?.is_orphaned = true;
        // What this change did to the log is not part of the total yet, and will not be.
        let counted = self.logs.get(&webhook).filter(|log| !log.before.is_orphaned).map_or(0, |log| log.before.pending);
        self.progress.pending = self.progress.pending.checked_sub(counted).ok_or(MISCOUNTED)?;
        Ok(())
    }

    /// Deletes the log of a deleted webhook.
    pub(super) async fn drop_log(&mut self, webhook: WebhookId) -> Result<(), StoreError> {
        self.logs.remove(&webhook);
        for table in ["delivery_log", "webhook_change"] {
            let sql = format!("delete from {table} where webhook = $1");
            execute(self.tx, &sql, &[&int8(webhook)]).await?;
        }
        Ok(())
    }
}
