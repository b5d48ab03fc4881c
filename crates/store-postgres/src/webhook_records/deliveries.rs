//! The lifecycle of messages: queued, sent, dropped, deleted.

use std::collections::BTreeMap;

use deadpool_postgres::Transaction;
use domain::{
    Attempt, AttemptEffect, AttemptOutcome, AttemptReport, Delivery, DeliveryNumber, DeliveryStatus, EventKind,
    EventLocation, NewDelivery, NextStep, UnixMillis, WebhookId,
};
use store::{KEPT_ATTEMPTS, QueueLoads, Recipient, StoreError};

use super::{
    change::{Change, MISCOUNTED},
    rows::{DELIVERY, DeliveryRow, kind_number, status_number},
};
use crate::{
    database::{execute, find, query},
    rows::{RowExt, int8, limit},
};

/// A message to be queued.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewMessage {
    pub(super) event: u64,
    pub(super) kind: EventKind,
    pub(super) to: Recipient,
    /// The block whose reorg retracts it.
    pub(super) block: Option<u64>,
}

/// An event to be stored, and the number of its messages.
#[derive(Debug)]
pub(super) struct EventRow<'a> {
    pub(super) number: u64,
    pub(super) location: Option<EventLocation>,
    pub(super) body: &'a [u8],
    pub(super) uses: u64,
}

impl Change<'_> {
    pub(super) async fn add_events(&self, events: &[EventRow<'_>]) -> Result<(), StoreError> {
        if events.is_empty() {
            return Ok(());
        }
        let numbers: Vec<i64> = events.iter().map(|event| int8(event.number)).collect();
        let blocks: Vec<Option<i64>> =
            events.iter().map(|event| event.location.map(|location| int8(location.block.number))).collect();
        let hashes: Vec<Option<Vec<u8>>> =
            events.iter().map(|event| event.location.map(|location| location.block.hash.to_vec())).collect();
        let transactions: Vec<Option<Vec<u8>>> =
            events.iter().map(|event| event.location.map(|location| location.tx_hash.to_vec())).collect();
        let bodies: Vec<&[u8]> = events.iter().map(|event| event.body).collect();
        let uses: Vec<i64> = events.iter().map(|event| int8(event.uses)).collect();
        let sql = "insert into event
            select * from unnest($1::int8[], $2::int8[], $3::bytea[], $4::bytea[], $5::bytea[], $6::int8[])";
        execute(self.tx, sql, &[&numbers, &blocks, &hashes, &transactions, &bodies, &uses]).await?;
        Ok(())
    }

    /// Appends messages to the queues of their webhooks. Returns their numbers.
    pub(super) async fn push(
        &mut self,
        messages: &[NewMessage],
        now: UnixMillis,
    ) -> Result<Vec<DeliveryNumber>, StoreError> {
        let mut assigned = Vec::with_capacity(messages.len());
        for message in messages {
            let log = self.log(message.to.webhook).await?;
            assigned.push(log.next);
            log.next += 1;
            log.pending += 1;
        }
        if messages.is_empty() {
            return Ok(assigned);
        }
        let webhooks: Vec<i64> = messages.iter().map(|message| int8(message.to.webhook)).collect();
        let numbers: Vec<i64> = assigned.iter().map(|number| int8(*number)).collect();
        let ids: Vec<&[u8]> = messages.iter().map(|message| message.to.id.as_bytes().as_slice()).collect();
        let kinds: Vec<i16> = messages.iter().map(|message| kind_number(message.kind)).collect();
        let events: Vec<i64> = messages.iter().map(|message| int8(message.event)).collect();
        let sql = "insert into delivery
            select m.webhook, m.number, m.id, m.kind, m.event, $6::int8, 0, null::int8, false, null::int8, 0, '{}'::int8[],
                '{}'::int8[], '{}'::int4[], '{}'::boolean[], '{}'::bytea[]
            from unnest($1::int8[], $2::int8[], $3::bytea[], $4::int2[], $5::int8[]) as m(webhook, number, id, kind, event)";
        execute(self.tx, sql, &[&webhooks, &numbers, &ids, &kinds, &events, &int8(now)]).await?;
        let of_blocks = messages.iter().zip(&assigned);
        let of_blocks = of_blocks.filter_map(|(message, number)| Some((message.block?, message.to.webhook, *number)));
        self.note_blocks_of(&of_blocks.collect::<Vec<_>>()).await?;
        Ok(assigned)
    }

    /// Records which messages depend on blocks.
    pub(super) async fn note_blocks_of(&self, messages: &[(u64, WebhookId, DeliveryNumber)]) -> Result<(), StoreError> {
        if messages.is_empty() {
            return Ok(());
        }
        let blocks: Vec<i64> = messages.iter().map(|(block, ..)| int8(*block)).collect();
        let webhooks: Vec<i64> = messages.iter().map(|(_, webhook, _)| int8(*webhook)).collect();
        let numbers: Vec<i64> = messages.iter().map(|(.., number)| int8(*number)).collect();
        let sql = "insert into delivery_of_block select * from unnest($1::int8[], $2::int8[], $3::int8[])
            on conflict do nothing";
        execute(self.tx, sql, &[&blocks, &webhooks, &numbers]).await?;
        Ok(())
    }

    /// Queues one message with its own body.
    pub(super) async fn push_single(&mut self, new: NewDelivery, now: UnixMillis) -> Result<Delivery, StoreError> {
        self.progress.last_event += 1;
        let event = self.progress.last_event;
        let NewDelivery { webhook, id, kind, location, body } = new;
        self.add_events(&[EventRow { number: event, location, body: &body, uses: 1 }]).await?;
        let message = NewMessage { event, kind, to: Recipient { webhook, id }, block: None };
        let numbers = self.push(&[message], now).await?;
        let number = numbers.first().copied().ok_or(StoreError::Corrupt("a message without a number"))?;
        Ok(Delivery {
            webhook,
            number,
            id,
            kind,
            location,
            created_at: now,
            status: DeliveryStatus::Pending { due: None },
            retracted: false,
            attempt_count: 0,
            attempts: Vec::new(),
        })
    }

    /// The loads that decide which messages are dropped, if `new` messages are queued.
    pub(super) async fn loads(&mut self, webhooks: &[WebhookId], new: u64) -> Result<QueueLoads, StoreError> {
        let sql = "select w.id, w.owner, coalesce(l.pending, 0) from webhook w
            left join delivery_log l on l.webhook = w.id";
        let exceeds_total = self.progress.pending + new > self.limits.pending;
        let rows = if exceeds_total {
            query(self.tx, sql, &[]).await?
        } else {
            let sql = format!("{sql} where w.owner in (select owner from webhook where id = any($1))");
            let ids: Vec<i64> = webhooks.iter().map(|webhook| int8(*webhook)).collect();
            query(self.tx, &sql, &[&ids]).await?
        };
        let mut loads = QueueLoads::default();
        for row in &rows {
            loads.add(row.u64(0)?, row.address(1)?, row.u64(2)?);
        }
        loads.set_total(self.progress.pending);
        Ok(loads)
    }

    /// Makes room for the given number of new messages per webhook: the oldest pending ones are dropped and counted.
    pub(super) async fn make_room(&mut self, new: &BTreeMap<WebhookId, u64>) -> Result<(), StoreError> {
        let webhooks: Vec<WebhookId> = new.keys().copied().collect();
        let loads = self.loads(&webhooks, new.values().sum()).await?;
        for (webhook, count) in loads.make_room(new, &self.limits) {
            self.drop_oldest(webhook, count).await?;
        }
        Ok(())
    }

    /// Drops all pending messages of a webhook, and returns how many.
    pub(super) async fn drop_pending(&mut self, webhook: WebhookId) -> Result<u64, StoreError> {
        let pending = self.log(webhook).await?.pending;
        if pending > 0 {
            self.drop_oldest(webhook, pending).await?;
        }
        Ok(pending)
    }

    /// Drops the oldest pending messages of a webhook, and everything older.
    async fn drop_oldest(&mut self, webhook: WebhookId, count: u64) -> Result<(), StoreError> {
        let sql =
            "select number from delivery where webhook = $1 and status in (0, 1) order by number offset $2 limit 1";
        let last = find(self.tx, sql, &[&int8(webhook), &int8(count.saturating_sub(1))]).await?;
        let end = match last {
            Some(row) => row.u64(0)? + 1,
            None => self.log(webhook).await?.next,
        };
        let pending = self.erase(webhook, end).await?;
        self.log(webhook).await?.dropped.total += pending;
        Ok(())
    }

    /// Deletes the messages of a webhook below a number. Returns how many of them were pending.
    async fn erase(&mut self, webhook: WebhookId, end: DeliveryNumber) -> Result<u64, StoreError> {
        let sql = "with erased as (delete from delivery where webhook = $1 and number < $2 returning event, status),
            released as (
                update event e set uses = e.uses - r.uses
                from (select event, count(*) as uses from erased group by event) r where e.number = r.event
                returning e.number, e.uses
            )
            select (select count(*) from erased where status in (0, 1)),
                array(select number from released where uses <= 0), exists (select 1 from released where uses < 0)";
        let Some(row) = find(self.tx, sql, &[&int8(webhook), &int8(end)]).await? else { return Ok(0) };
        if row.value(2)? {
            return Err(StoreError::Corrupt("an event with more messages than it counts"));
        }
        let (pending, unused) = (row.u64(0)?, row.value::<Vec<i64>>(1)?);
        if !unused.is_empty() {
            execute(self.tx, "delete from event where number = any($1)", &[&unused]).await?;
        }
        let log = self.log(webhook).await?;
        log.first = log.first.max(end);
        log.pending = log.pending.checked_sub(pending).ok_or(MISCOUNTED)?;
        Ok(pending)
    }

    /// Deletes the oldest messages of a webhook that has too many. A pending one moves to the end.
    pub(super) async fn truncate_log(&mut self, webhook: WebhookId, now: UnixMillis) -> Result<(), StoreError> {
        let log = *self.log(webhook).await?;
        let excess = (log.next - log.first).saturating_sub(self.limits.kept_per_webhook());
        if excess == 0 {
            return Ok(());
        }
        let sql = format!(
            "select {DELIVERY} from delivery d join event e on e.number = d.event
            where d.webhook = $1 and d.number < $2 order by d.number"
        );
        let rows = query(self.tx, &sql, &[&int8(webhook), &int8(log.first + excess)]).await?;
        let mut end = log.first;
        for row in &rows {
            let row = DeliveryRow::from_row(row, 0)?;
            // In flight: it stays, and so do newer ones.
            if row.lease_until.is_some_and(|until| until > now) {
                break;
            }
            end = row.delivery.number + 1;
            if row.is_pending() {
                self.move_to_end(row, now).await?;
            }
        }
        self.erase(webhook, end).await?;
        Ok(())
    }

    async fn move_to_end(&mut self, row: DeliveryRow, now: UnixMillis) -> Result<(), StoreError> {
        let Delivery { webhook, number, kind, location, .. } = row.delivery;
        let log = self.log(webhook).await?;
        let next = log.next;
        log.next += 1;
        let sql =
            "update delivery set number = $3, status = 1, due = coalesce(due, $4) where webhook = $1 and number = $2";
        execute(self.tx, sql, &[&int8(webhook), &int8(number), &int8(next), &int8(now)]).await?;
        if let Some(location) = location.filter(|_| kind.depends_on_block()) {
            self.note_blocks_of(&[(location.block.number, webhook, next)]).await?;
        }
        Ok(())
    }

    /// Deletes messages that were created before a time or belong to deleted webhooks.
    pub(super) async fn forget_deliveries(&mut self, before: UnixMillis, count: usize) -> Result<usize, StoreError> {
        let sql =
            "select l.webhook from delivery_log l left join delivery d on d.webhook = l.webhook and d.number = l.first
            where l.is_orphaned or d.created_at < $1 order by l.webhook";
        let mut forgotten = 0;
        for row in query(self.tx, sql, &[&int8(before)]).await? {
            if forgotten >= count {
                break;
            }
            forgotten += self.forget(row.u64(0)?, before, count - forgotten).await?;
        }
        Ok(forgotten)
    }

    async fn forget(&mut self, webhook: WebhookId, before: UnixMillis, count: usize) -> Result<usize, StoreError> {
        let log = *self.log(webhook).await?;
        let sql =
            "select number, created_at from delivery where webhook = $1 and number >= $2 order by number limit $3";
        let mut end = log.first;
        for row in query(self.tx, sql, &[&int8(webhook), &int8(log.first), &limit(count)]).await? {
            if !log.is_orphaned && row.u64(1)? >= before {
                break;
            }
            end = row.u64(0)? + 1;
        }
        self.erase(webhook, end).await?;
        if log.is_orphaned && end == log.next {
            self.drop_log(webhook).await?;
        }
        Ok(usize::try_from(end - log.first).unwrap_or(usize::MAX))
    }

    /// Records the results of attempts.
    pub(super) async fn record(&mut self, reports: Vec<AttemptReport>) -> Result<(), StoreError> {
        let mut left = reports;
        while !left.is_empty() {
            // One statement changes a message once.
            let (mut round, mut later) = (BTreeMap::new(), Vec::new());
            for report in left {
                match round.entry((report.webhook, report.number)) {
                    std::collections::btree_map::Entry::Vacant(entry) => {
                        entry.insert(report);
                    }
                    std::collections::btree_map::Entry::Occupied(_) => later.push(report),
                }
            }
            self.record_round(round.into_values().collect()).await?;
            left = later;
        }
        Ok(())
    }

    /// Of each message at most one report.
    async fn record_round(&mut self, reports: Vec<AttemptReport>) -> Result<(), StoreError> {
        let known = self.find_deliveries(reports.iter().map(|report| (report.webhook, report.number))).await?;
        let mut recorded = Vec::new();
        for report in reports {
            let Some(hook) = self.find_webhook(report.webhook).await? else { continue };
            let was_active = hook.active;
            hook.note(report.effect, report.attempt.at + u64::from(report.attempt.millis));
            if hook.active != was_active {
                self.progress.version += 1;
            }
            let log = self.log(report.webhook).await?;
            if report.effect == AttemptEffect::Succeeded {
                log.dropped.reported = log.dropped.reported.max(report.dropped);
            }
            let Some(row) = known.get(&(report.webhook, report.number)) else { continue };
            let was_pending = row.is_pending();
            let status = match report.next {
                NextStep::Done => DeliveryStatus::Delivered,
                NextStep::RetryAt(due) if was_pending => DeliveryStatus::Pending { due: Some(due) },
                NextStep::GiveUp if was_pending => DeliveryStatus::Failed,
                // Cancelled while in flight, or already delivered.
                NextStep::RetryAt(_) | NextStep::GiveUp => row.delivery.status,
            };
            let is_pending = matches!(status, DeliveryStatus::Pending { .. });
            let pending = (log.pending + u64::from(is_pending)).checked_sub(u64::from(was_pending));
            log.pending = pending.ok_or(MISCOUNTED)?;
            recorded.push((report, status));
        }
        put_attempts(self.tx, &recorded).await
    }

    async fn find_deliveries(
        &self,
        keys: impl Iterator<Item = (WebhookId, DeliveryNumber)>,
    ) -> Result<BTreeMap<(WebhookId, DeliveryNumber), DeliveryRow>, StoreError> {
        let (webhooks, numbers): (Vec<i64>, Vec<i64>) =
            keys.map(|(webhook, number)| (int8(webhook), int8(number))).unzip();
        let sql = format!(
            "select {DELIVERY} from unnest($1::int8[], $2::int8[]) as k(webhook, number)
            join delivery d on d.webhook = k.webhook and d.number = k.number join event e on e.number = d.event"
        );
        let rows = query(self.tx, &sql, &[&webhooks, &numbers]).await?;
        let row = |row: &tokio_postgres::Row| {
            let row = DeliveryRow::from_row(row, 0)?;
            Ok(((row.delivery.webhook, row.delivery.number), row))
        };
        rows.iter().map(row).collect()
    }
}

/// Writes the new status of messages, appends their attempts, and ends their leases.
async fn put_attempts(tx: &Transaction<'_>, recorded: &[(AttemptReport, DeliveryStatus)]) -> Result<(), StoreError> {
    if recorded.is_empty() {
        return Ok(());
    }
    let webhooks: Vec<i64> = recorded.iter().map(|(report, _)| int8(report.webhook)).collect();
    let numbers: Vec<i64> = recorded.iter().map(|(report, _)| int8(report.number)).collect();
    let (statuses, due): (Vec<i16>, Vec<Option<i64>>) =
        recorded.iter().map(|(_, status)| status_number(*status)).unzip();
    let times: Vec<i64> = recorded.iter().map(|(report, _)| int8(report.attempt.at)).collect();
    let millis: Vec<i64> = recorded.iter().map(|(report, _)| i64::from(report.attempt.millis)).collect();
    let answers: Vec<Option<i32>> = recorded.iter().map(|(report, _)| answer(&report.attempt)).collect();
    let sent: Vec<bool> = recorded.iter().map(|(report, _)| was_sent(&report.attempt)).collect();
    let texts: Vec<&[u8]> = recorded.iter().map(|(report, _)| text(&report.attempt).as_bytes()).collect();
    let kept = KEPT_ATTEMPTS - 1;
    let sql = format!(
        "update delivery d set status = r.status, due = r.due, lease_until = null, attempt_count = d.attempt_count + 1,
            attempt_at = array_append(d.attempt_at[greatest(cardinality(d.attempt_at) - {kept}, 0) + 1:], r.at),
            attempt_millis = array_append(d.attempt_millis[greatest(cardinality(d.attempt_at) - {kept}, 0) + 1:], r.millis),
            attempt_status = array_append(d.attempt_status[greatest(cardinality(d.attempt_at) - {kept}, 0) + 1:], r.answer),
            attempt_sent = array_append(d.attempt_sent[greatest(cardinality(d.attempt_at) - {kept}, 0) + 1:], r.sent),
            attempt_text = array_append(d.attempt_text[greatest(cardinality(d.attempt_at) - {kept}, 0) + 1:], r.text)
        from unnest($1::int8[], $2::int8[], $3::int2[], $4::int8[], $5::int8[], $6::int8[], $7::int4[], $8::boolean[],
            $9::bytea[]) as r(webhook, number, status, due, at, millis, answer, sent, text)
        where d.webhook = r.webhook and d.number = r.number"
    );
    execute(tx, &sql, &[&webhooks, &numbers, &statuses, &due, &times, &millis, &answers, &sent, &texts]).await?;
    Ok(())
}

pub(super) fn answer(attempt: &Attempt) -> Option<i32> {
    match attempt.outcome {
        AttemptOutcome::Answered { status, .. } => Some(i32::from(status)),
        AttemptOutcome::Unanswered { .. } => None,
    }
}

pub(super) fn was_sent(attempt: &Attempt) -> bool {
    match attempt.outcome {
        AttemptOutcome::Answered { .. } => true,
        AttemptOutcome::Unanswered { sent, .. } => sent,
    }
}

pub(super) fn text(attempt: &Attempt) -> &str {
    match &attempt.outcome {
        AttemptOutcome::Answered { body, .. } => body,
        AttemptOutcome::Unanswered { reason, .. } => reason,
    }
}
