//! A change in the making: what it has read and will write. A batch shows nothing of itself, so rows that come up more
//! than once are held here.

use std::collections::BTreeMap;

use domain::{
    Attempt, AttemptEffect, AttemptReport, BlockNumber, BlockRef, Delivery, DeliveryNumber, DeliveryStatus, EventKind,
    NewDelivery, NextStep, UnixMillis, Webhook, WebhookId,
};
use store::{KEPT_ATTEMPTS, Matches, REMEMBERED_BLOCKS, Retraction, StoreError};

use super::queues::Queues;
use super::read::{self, DeliveryLog};
use super::rows;
use crate::codec::RowWriter;
use crate::engine::{Batch, View};
use crate::keys::{Key, Table, delivery_in_block_key, number_in_key};

pub(super) struct Change<'a> {
    pub(super) view: &'a View,
    pub(super) batch: &'a mut Batch,
    pub(super) queues: &'a mut Queues,
    logs: BTreeMap<WebhookId, Held<DeliveryLog>>,
    webhooks: BTreeMap<WebhookId, Held<Option<Webhook>>>,
}

/// A row as it was read, and as it is to be.
struct Held<T> {
    before: T,
    now: T,
}

impl<T: Clone + PartialEq> Held<T> {
    fn new(row: T) -> Self {
        Self { before: row.clone(), now: row }
    }

    fn changed(&self) -> Option<&T> {
        (self.before != self.now).then_some(&self.now)
    }
}

impl<'a> Change<'a> {
    pub(super) fn new(view: &'a View, batch: &'a mut Batch, queues: &'a mut Queues) -> Self {
        Self { view, batch, queues, logs: BTreeMap::new(), webhooks: BTreeMap::new() }
    }

    /// Writes the rows that were held and have changed.
    pub(super) fn finish(self) {
        for (webhook, log) in &self.logs {
            if let Some(log) = log.changed() {
                self.batch.put(Table::DeliveryLog, &Key::id(*webhook), log.to_row());
            }
        }
        for webhook in self.webhooks.values().filter_map(Held::changed).flatten() {
            self.batch.put(Table::Webhook, &Key::id(webhook.id), rows::write_webhook(webhook));
        }
    }

    pub(super) fn webhook(&mut self, id: WebhookId) -> Result<Option<&mut Webhook>, StoreError> {
        if !self.webhooks.contains_key(&id) {
            self.webhooks.insert(id, Held::new(read::find_webhook(self.view, id)?));
        }
        Ok(self.webhooks.get_mut(&id).and_then(|held| held.now.as_mut()))
    }

    pub(super) fn touch_watch_list(&mut self) -> Result<(), StoreError> {
        let version = read::version(self.view)? + 1;
        let mut row = RowWriter::default();
        row.varint(version);
        self.batch.put(Table::WebhookMeta, &Key::name(read::VERSION), row.finish());
        Ok(())
    }

    fn log(&mut self, webhook: WebhookId) -> Result<&mut DeliveryLog, StoreError> {
        if !self.logs.contains_key(&webhook) {
            self.logs.insert(webhook, Held::new(read::delivery_log(self.view, webhook)?));
        }
        let held = self.logs.get_mut(&webhook).ok_or(StoreError::Corrupt("a log that was just read"))?;
        Ok(&mut held.now)
    }

    /// Puts a message at the end of its webhook's queue.
    pub(super) fn push(&mut self, new: NewDelivery, now: UnixMillis) -> Result<Delivery, StoreError> {
        let log = self.log(new.webhook)?;
        let number = log.next;
        log.next += 1;
        let delivery = Delivery {
            webhook: new.webhook,
            number,
            id: new.id,
            kind: new.kind,
            place: new.place,
            created_at: now,
            status: DeliveryStatus::Pending { due: None },
            attempt_count: 0,
            attempts: Vec::new(),
        };
        let key = Key::delivery(new.webhook, number);
        self.put_delivery(&delivery);
        self.batch.put(Table::DeliveryBody, &key, &new.body[..]);
        self.batch.put(Table::FreshDelivery, &key, []);
        let mut row = RowWriter::default();
        row.varint(number);
        self.batch.put(Table::DeliveryById, &Key::delivery_by_id(new.webhook, &new.id), row.finish());
        if let Some(block) = tells_of_block(&delivery) {
            self.batch.put(Table::DeliveryByBlock, &Key::delivery_by_block(block, new.webhook, number), []);
        }
        Ok(delivery)
    }

    pub(super) fn put_delivery(&mut self, delivery: &Delivery) {
        let key = Key::delivery(delivery.webhook, delivery.number);
        self.batch.put(Table::Delivery, &key, rows::write_delivery(delivery));
    }

    /// Takes a message out of the queue, if it is in one.
    pub(super) fn unqueue(&mut self, delivery: &Delivery) {
        let Delivery { webhook, number, .. } = *delivery;
        match delivery.status {
            DeliveryStatus::Pending { due: None } => {
                self.batch.delete(Table::FreshDelivery, &Key::delivery(webhook, number));
            }
            DeliveryStatus::Pending { due: Some(due) } => {
                self.batch.delete(Table::RetryDelivery, &Key::retry(webhook, due, number));
            }
            _ => {}
        }
    }

    pub(super) fn queue_at(&mut self, delivery: &mut Delivery, due: UnixMillis) {
        delivery.status = DeliveryStatus::Pending { due: Some(due) };
        self.batch.put(Table::RetryDelivery, &Key::retry(delivery.webhook, due, delivery.number), []);
        self.queues.note_retry(delivery.webhook, due);
    }

    pub(super) fn enqueue_matches(&mut self, matches: Matches, now: UnixMillis) -> Result<(), StoreError> {
        for delivery in matches.deliveries {
            self.push(delivery, now)?;
        }
        for block in &matches.blocks {
            self.batch.put(Table::MatchedBlock, &Key::block(block.number), block.hash.as_slice());
        }
        if let Some(cursor) = matches.blocks.last() {
            self.put_cursor(cursor);
            self.forget_blocks(cursor.number.saturating_sub(REMEMBERED_BLOCKS))?;
        }
        Ok(())
    }

    fn put_cursor(&mut self, cursor: &BlockRef) {
        let mut row = RowWriter::default();
        rows::write_block(&mut row, cursor);
        self.batch.put(Table::WebhookMeta, &Key::name(read::CURSOR), row.finish());
    }

    /// Drops what is only needed as long as a block may leave the chain.
    fn forget_blocks(&mut self, below: BlockNumber) -> Result<(), StoreError> {
        let from = self.queues.pruned_below;
        if below <= from {
            return Ok(());
        }
        for table in [Table::MatchedBlock, Table::DeliveryByBlock, Table::OrphanedBlock] {
            for row in self.view.range(table, &Key::block(from), &Key::block(below)) {
                if let Some(key) = Key::from_slice(&row?.0) {
                    self.batch.delete(table, &key);
                }
            }
        }
        self.queues.pruned_below = below;
        Ok(())
    }

    pub(super) fn retract(&mut self, retraction: Retraction, now: UnixMillis) -> Result<(), StoreError> {
        let first = retraction.to.map_or(0, |to| to.number + 1);
        let mut removals: BTreeMap<(WebhookId, DeliveryNumber), NewDelivery> = retraction
            .removals
            .into_iter()
            .map(|removal| ((removal.delivery.webhook, removal.of), removal.delivery))
            .collect();
        for row in self.view.range_from(Table::DeliveryByBlock, &Key::block(first), &Key::EMPTY) {
            let (key, _) = row?;
            let (webhook, number) = delivery_in_block_key(&key);
            if let Some(key) = Key::from_slice(&key) {
                self.batch.delete(Table::DeliveryByBlock, &key);
            }
            let Some(mut delivery) = read::find_delivery(self.view, webhook, number)? else { continue };
            let on_its_way = self.queues.leased(webhook, number, now).is_some();
            if let Some(removal) = removals.remove(&(webhook, number))
                && (on_its_way || delivery.was_received())
                && self.webhook(webhook)?.is_some()
            {
                self.push(removal, now)?;
            }
            if let DeliveryStatus::Pending { .. } = delivery.status {
                self.unqueue(&delivery);
                delivery.status = DeliveryStatus::Cancelled;
                self.put_delivery(&delivery);
            }
        }
        self.leave_blocks(first)?;
        match retraction.to {
            Some(to) => self.put_cursor(&to),
            None => self.batch.delete(Table::WebhookMeta, &Key::name(read::CURSOR)),
        }
        for id in retraction.rebased {
            if let Some(webhook) = self.webhook(id)? {
                webhook.after = retraction.to;
            }
        }
        self.queues.pruned_below = self.queues.pruned_below.min(first);
        self.touch_watch_list()
    }

    fn leave_blocks(&mut self, first: BlockNumber) -> Result<(), StoreError> {
        for row in self.view.range_from(Table::MatchedBlock, &Key::block(first), &Key::EMPTY) {
            let (key, hash) = row?;
            let block = read::matched_block(&key, &hash)?;
            let times = read::count_orphanings(self.view, &block)? + 1;
            let mut row = RowWriter::default();
            row.varint(times);
            self.batch.put(Table::OrphanedBlock, &Key::orphaned_block(&block), row.finish());
            self.batch.delete(Table::MatchedBlock, &Key::block(block.number));
        }
        Ok(())
    }

    pub(super) fn record(&mut self, report: AttemptReport) -> Result<(), StoreError> {
        let AttemptReport { webhook, number, attempt, effect, next } = report;
        self.queues.release(webhook, number);
        let at = attempt.at + u64::from(attempt.millis);
        let Some(hook) = self.webhook(webhook)? else { return Ok(()) };
        let was_active = hook.active;
        hook.note(effect, at);
        if hook.active != was_active {
            self.touch_watch_list()?;
        }
        let Some(mut delivery) = read::find_delivery(self.view, webhook, number)? else { return Ok(()) };
        keep_attempt(&mut delivery, attempt);
        let waiting = matches!(delivery.status, DeliveryStatus::Pending { .. });
        self.unqueue(&delivery);
        match next {
            NextStep::Done => delivery.status = DeliveryStatus::Delivered,
            NextStep::RetryAt(due) if waiting => self.queue_at(&mut delivery, due),
            NextStep::GiveUp if waiting => delivery.status = DeliveryStatus::Failed,
            // Cancelled while it was under way, or delivered by somebody else.
            NextStep::RetryAt(_) | NextStep::GiveUp => {}
        }
        debug_assert!(effect != AttemptEffect::Succeeded || next == NextStep::Done);
        self.put_delivery(&delivery);
        Ok(())
    }

    /// Drops the oldest messages of a webhook that are older than a time, or all where the webhook is gone.
    pub(super) fn forget(&mut self, webhook: WebhookId, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        let gone = self.webhook(webhook)?.is_none();
        let log = *self.log(webhook)?;
        let mut first = log.first;
        while first < log.next && usize::try_from(first - log.first).unwrap_or(usize::MAX) < limit {
            let delivery = read::find_delivery(self.view, webhook, first)?;
            if let Some(delivery) = delivery {
                if !gone && delivery.created_at >= before {
                    break;
                }
                self.erase(&delivery);
            }
            first += 1;
        }
        self.log(webhook)?.first = first;
        if gone && first == log.next {
            self.logs.remove(&webhook);
            self.batch.delete(Table::DeliveryLog, &Key::id(webhook));
            self.queues.drop_webhook(webhook);
        }
        Ok(usize::try_from(first - log.first).unwrap_or(usize::MAX))
    }

    fn erase(&mut self, delivery: &Delivery) {
        let Delivery { webhook, number, .. } = *delivery;
        self.unqueue(delivery);
        let key = Key::delivery(webhook, number);
        self.batch.delete(Table::Delivery, &key);
        self.batch.delete(Table::DeliveryBody, &key);
        self.batch.delete(Table::DeliveryById, &Key::delivery_by_id(webhook, &delivery.id));
        if let Some(block) = tells_of_block(delivery) {
            self.batch.delete(Table::DeliveryByBlock, &Key::delivery_by_block(block, webhook, number));
        }
    }

    /// Webhooks with messages, those that are gone among them.
    pub(super) fn webhooks_with_log(&self) -> Result<Vec<WebhookId>, StoreError> {
        let rows = self.view.prefix(Table::DeliveryLog, &Key::EMPTY);
        rows.map(|row| row.map(|(key, _)| number_in_key(&key, 0))).collect()
    }
}

/// The block whose leaving the chain makes the message untrue.
fn tells_of_block(delivery: &Delivery) -> Option<BlockNumber> {
    let place = delivery.place?;
    matches!(delivery.kind, EventKind::Tx | EventKind::TokenTransfer).then_some(place.block.number)
}

fn keep_attempt(delivery: &mut Delivery, attempt: Attempt) {
    delivery.attempt_count += 1;
    delivery.attempts.push(attempt);
    let beyond = delivery.attempts.len().saturating_sub(KEPT_ATTEMPTS);
    delivery.attempts.drain(..beyond);
}
