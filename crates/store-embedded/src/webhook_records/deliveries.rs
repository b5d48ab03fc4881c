//! The lifecycle of messages: queued, sent, dropped, deleted.

use std::collections::BTreeMap;

use domain::{
    Attempt, AttemptEffect, AttemptReport, Delivery, DeliveryId, DeliveryStatus, EventKind, NewDelivery, NextStep,
    UnixMillis, WebhookId,
};
use store::{KEPT_ATTEMPTS, Recipient, StoreError};

use super::{
    change::{Change, varint},
    effects::QueueNote,
    read,
    rows::{self, DeliveryRow, EventNumber},
};
use crate::keys::{Key, Table, number_after_id, number_in_key};

impl Change<'_> {
    /// Appends a message to its webhook's queue.
    pub(super) fn push(
        &mut self,
        event: EventNumber,
        kind: EventKind,
        to: Recipient,
        now: UnixMillis,
    ) -> Result<Delivery, StoreError> {
        let log = self.log(to.webhook)?;
        let number = log.next;
        log.next += 1;
        log.pending += 1;
        let delivery = Delivery {
            webhook: to.webhook,
            number,
            id: to.id,
            kind,
            location: None,
            created_at: now,
            status: DeliveryStatus::Pending { due: None },
            retracted: false,
            attempt_count: 0,
            attempts: Vec::new(),
        };
        self.use_event(event)?;
        let row = DeliveryRow { event, superseded: false, maybe_received: false, delivery };
        self.put(&row);
        self.put_id(&row.delivery);
        Ok(row.delivery)
    }

    /// Queues one message with its own body.
    pub(super) fn push_single(&mut self, new: NewDelivery, now: UnixMillis) -> Result<Delivery, StoreError> {
        let event = self.add_event(rows::write_event(new.location, &new.body))?;
        let to = Recipient { webhook: new.webhook, id: new.id };
        Ok(Delivery { location: new.location, ..self.push(event, new.kind, to, now)? })
    }

    /// Releases an id for another delivery, if one has it.
    pub(super) fn supersede(&mut self, webhook: WebhookId, id: &DeliveryId) -> Result<(), StoreError> {
        if let Some(mut old) = read::find_row_by_id(self.view, webhook, id)? {
            old.superseded = true;
            self.put(&old);
        }
        Ok(())
    }

    pub(super) fn put(&mut self, row: &DeliveryRow) {
        let key = Key::delivery(row.delivery.webhook, row.delivery.number);
        self.batch.put(Table::Delivery, &key, rows::write_delivery(row));
    }

    fn put_id(&mut self, delivery: &Delivery) {
        let key = Key::delivery_by_id(delivery.webhook, &delivery.id);
        self.batch.put(Table::DeliveryById, &key, varint(delivery.number));
    }

    /// Removes a message from the queue, if it is in one.
    pub(super) fn unqueue(&mut self, delivery: &Delivery) -> Result<(), StoreError> {
        let DeliveryStatus::Pending { due } = delivery.status else { return Ok(()) };
        if let Some(due) = due {
            self.batch.delete(Table::RetryDelivery, &Key::retry(delivery.webhook, due, delivery.number));
        }
        let log = self.log(delivery.webhook)?;
        log.pending =
            log.pending.checked_sub(1).ok_or(StoreError::Corrupt("a queue with more messages than it counts"))?;
        Ok(())
    }

    /// Queues a message that is not queued, due at a time.
    pub(super) fn queue_at(&mut self, delivery: &mut Delivery, due: UnixMillis) -> Result<(), StoreError> {
        delivery.status = DeliveryStatus::Pending { due: Some(due) };
        self.batch.put(Table::RetryDelivery, &Key::retry(delivery.webhook, due, delivery.number), []);
        self.note(QueueNote::Retry(delivery.webhook, due));
        self.log(delivery.webhook)?.pending += 1;
        Ok(())
    }

    pub(super) fn record(&mut self, report: AttemptReport) -> Result<(), StoreError> {
        let AttemptReport { webhook, number, attempt, effect, next, dropped } = report;
        self.note(QueueNote::Released(webhook, number));
        let at = attempt.at + u64::from(attempt.millis);
        let Some(hook) = self.webhook(webhook)? else { return Ok(()) };
        let was_active = hook.active;
        hook.note(effect, at);
        if hook.active != was_active {
            self.touch_watch_list()?;
        }
        let fresh = self.queues.first_fresh(webhook);
        let log = self.log(webhook)?;
        log.fresh = log.fresh.max(fresh);
        if effect == AttemptEffect::Succeeded {
            log.dropped.reported = log.dropped.reported.max(dropped);
        }
        let Some(mut row) = read::find_row(self.view, webhook, number)? else { return Ok(()) };
        // This attempt replaces the traces of an earlier one: the time at which it is due, and perhaps its entry in the list.
        row.maybe_received |= row.delivery.may_have_been_received() || self.queues.was_claimed_before(webhook, number);
        save_attempt(&mut row.delivery, attempt);
        let was_pending = matches!(row.delivery.status, DeliveryStatus::Pending { .. });
        self.unqueue(&row.delivery)?;
        match next {
            NextStep::Done => row.delivery.status = DeliveryStatus::Delivered,
            NextStep::RetryAt(due) if was_pending => self.queue_at(&mut row.delivery, due)?,
            NextStep::GiveUp if was_pending => row.delivery.status = DeliveryStatus::Failed,
            // Cancelled while in flight, or already delivered.
            NextStep::RetryAt(_) | NextStep::GiveUp => {}
        }
        self.put(&row);
        Ok(())
    }

    /// Makes room for the given number of new messages per webhook: the oldest pending ones are dropped and counted.
    pub(super) fn make_room(&mut self, new: &BTreeMap<WebhookId, u64>) -> Result<(), StoreError> {
        for (webhook, count) in self.queues.loads.queues.make_room(new, self.limits) {
            self.drop_oldest(webhook, count)?;
        }
        Ok(())
    }

    /// Drops all pending messages of a webhook, and returns how many.
    pub(super) fn drop_pending(&mut self, webhook: WebhookId) -> Result<u64, StoreError> {
        let pending = self.log(webhook)?.pending;
        self.drop_oldest(webhook, pending)?;
        Ok(pending)
    }

    /// Drops the oldest pending messages of a webhook, and everything older.
    fn drop_oldest(&mut self, webhook: WebhookId, count: u64) -> Result<(), StoreError> {
        let mut left = count;
        let mut first = self.log(webhook)?.first;
        for row in self.view.range_from(Table::Delivery, &Key::delivery(webhook, first), &Key::id(webhook)) {
            if left == 0 {
                break;
            }
            let (key, row) = row?;
            let row = rows::read_delivery(webhook, number_after_id(&key)?, &row)?;
            if matches!(row.delivery.status, DeliveryStatus::Pending { .. }) {
                self.log(webhook)?.dropped.total += 1;
                left -= 1;
            }
            self.erase(&row)?;
            first = row.delivery.number + 1;
        }
        self.log(webhook)?.first = first;
        self.note(QueueNote::SkipTo(webhook, first));
        Ok(())
    }

    /// Deletes the oldest messages of a webhook that has too many. A pending one moves to the end.
    pub(super) fn truncate_log(&mut self, webhook: WebhookId, now: UnixMillis) -> Result<(), StoreError> {
        let log = *self.log(webhook)?;
        let excess = (log.next - log.first).saturating_sub(self.limits.kept_per_webhook());
        for number in log.first..log.first + excess {
            // Being queued or in flight: it stays, and so do newer ones.
            let Some(mut row) = read::find_row(self.view, webhook, number)? else { break };
            if self.queues.leased(webhook, number, now).is_some() {
                break;
            }
            if let DeliveryStatus::Pending { due } = row.delivery.status {
                row.maybe_received |= self.queues.was_claimed_before(webhook, number);
                let location = read::event(self.view, row.event)?.location;
                self.use_event(row.event)?;
                self.erase(&row)?;
                let log = self.log(webhook)?;
                row.delivery.number = log.next;
                log.next += 1;
                self.queue_at(&mut row.delivery, due.unwrap_or(now))?;
                self.put(&row);
                self.put_id(&row.delivery);
                if let Some(location) = location.filter(|_| row.delivery.kind.depends_on_block()) {
                    self.note_block(location.block.number, webhook, row.delivery.number);
                }
            } else {
                self.erase(&row)?;
            }
            self.log(webhook)?.first = number + 1;
        }
        let first = self.log(webhook)?.first;
        self.note(QueueNote::SkipTo(webhook, first));
        Ok(())
    }

    /// Deletes the messages of a webhook that were created before a time, or all if the webhook was deleted.
    pub(super) fn forget(&mut self, webhook: WebhookId, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        let deleted = self.webhook(webhook)?.is_none();
        let log = *self.log(webhook)?;
        let mut first = log.first;
        while first < log.next && usize::try_from(first - log.first).unwrap_or(usize::MAX) < limit {
            if let Some(row) = read::find_row(self.view, webhook, first)? {
                if !deleted && row.delivery.created_at >= before {
                    break;
                }
                self.erase(&row)?;
            }
            first += 1;
        }
        self.log(webhook)?.first = first;
        self.note(QueueNote::SkipTo(webhook, first));
        if deleted && first == log.next {
            self.drop_log(webhook);
        }
        Ok(usize::try_from(first - log.first).unwrap_or(usize::MAX))
    }

    fn erase(&mut self, row: &DeliveryRow) -> Result<(), StoreError> {
        let Delivery { webhook, number, id, .. } = row.delivery;
        self.unqueue(&row.delivery)?;
        self.release_event(row.event)?;
        self.batch.delete(Table::Delivery, &Key::delivery(webhook, number));
        if !row.superseded {
            self.batch.delete(Table::DeliveryById, &Key::delivery_by_id(webhook, &id));
        }
        Ok(())
    }

    /// Webhooks with messages, including deleted ones.
    pub(super) fn webhooks_with_log(&self) -> Result<Vec<WebhookId>, StoreError> {
        let rows = self.view.prefix(Table::DeliveryLog, &Key::EMPTY);
        rows.map(|row| row.and_then(|(key, _)| number_in_key(&key, 0))).collect()
    }
}

fn save_attempt(delivery: &mut Delivery, attempt: Attempt) {
    delivery.attempt_count += 1;
    delivery.attempts.push(attempt);
    let beyond = delivery.attempts.len().saturating_sub(KEPT_ATTEMPTS);
    delivery.attempts.drain(..beyond);
}
