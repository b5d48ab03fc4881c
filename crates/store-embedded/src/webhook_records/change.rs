//! An unfinished change: the rows it has read and will write. A batch cannot be read back, so rows that are used more
//! than once are held here.

use std::collections::BTreeMap;

use domain::{BlockNumber, DeliveryNumber, Webhook, WebhookId};
use store::{StoreError, WebhookLimits};

use super::{
    effects::{Effects, QueueNote},
    queues::Queues,
    read::{self, DeliveryLog},
    rows::{self, EventNumber},
};
use crate::{
    codec::{RowReader, RowWriter},
    engine::{Batch, View},
    keys::{Key, Table},
};

pub(super) struct Change<'a> {
    pub(super) view: &'a View,
    pub(super) batch: &'a mut Batch,
    /// As they were before the change: what it means for them is noted, and happens once it is on disk.
    pub(super) queues: &'a Queues,
    pub(super) limits: &'a WebhookLimits,
    logs: BTreeMap<WebhookId, Held<DeliveryLog>>,
    webhooks: BTreeMap<WebhookId, Held<Option<Webhook>>>,
    uses: BTreeMap<EventNumber, Held<u64>>,
    last_event: Option<EventNumber>,
    /// Runs of deliveries for the same block.
    runs: BTreeMap<(BlockNumber, WebhookId), Run>,
    effects: Effects,
}

/// Consecutive numbers.
#[derive(Debug, Clone, Copy)]
struct Run {
    first: DeliveryNumber,
    last: DeliveryNumber,
}

/// A row as read, and as it will be written.
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
    pub(super) fn new(view: &'a View, batch: &'a mut Batch, queues: &'a Queues, limits: &'a WebhookLimits) -> Self {
        Self {
            view,
            batch,
            queues,
            limits,
            logs: BTreeMap::new(),
            webhooks: BTreeMap::new(),
            uses: BTreeMap::new(),
            last_event: None,
            runs: BTreeMap::new(),
            effects: Effects::default(),
        }
    }

    /// Writes the held rows that have changed.
    pub(super) fn finish(mut self) -> Effects {
        let runs: Vec<_> = std::mem::take(&mut self.runs).into_iter().collect();
        for ((block, webhook), run) in runs {
            self.put_run(block, webhook, run);
        }
        for (webhook, held) in &self.logs {
            if let Some(log) = held.changed() {
                self.batch.put(Table::DeliveryLog, &Key::id(*webhook), log.to_row());
                self.effects.pending.push((*webhook, log.pending));
                self.effects.dropped += log.dropped.total - held.before.dropped.total;
            }
        }
        for webhook in self.webhooks.values().filter_map(Held::changed).flatten() {
            self.batch.put(Table::Webhook, &Key::id(webhook.id), rows::write_webhook(webhook));
        }
        for (event, uses) in &self.uses {
            match uses.changed() {
                Some(0) => {
                    self.batch.delete(Table::EventUses, &Key::id(*event));
                    self.batch.delete(Table::Event, &Key::id(*event));
                }
                Some(uses) => self.batch.put(Table::EventUses, &Key::id(*event), varint(*uses)),
                None => {}
            }
        }
        if let Some(last) = self.last_event {
            self.batch.put(Table::WebhookMeta, &Key::name(read::LAST_EVENT), varint(last));
        }
        self.effects
    }

    pub(super) fn webhook(&mut self, id: WebhookId) -> Result<Option<&mut Webhook>, StoreError> {
        if !self.webhooks.contains_key(&id) {
            self.webhooks.insert(id, Held::new(read::find_webhook(self.view, id)?));
        }
        Ok(self.webhooks.get_mut(&id).and_then(|held| held.now.as_mut()))
    }

    pub(super) fn add_webhook(&mut self, webhook: &Webhook) -> Result<(), StoreError> {
        let id = webhook.id;
        self.batch.put(Table::WebhookMeta, &Key::name(read::LAST_ID), varint(id));
        self.batch.put(Table::WebhookByOwner, &Key::webhook_by_owner(&webhook.owner, id), []);
        self.batch.put(Table::WebhookByAddress, &Key::webhook_by_address(&webhook.watched, id), []);
        self.batch.put(Table::Webhook, &Key::id(id), rows::write_webhook(webhook));
        self.effects.added.push((id, webhook.owner));
        self.touch_watch_list()
    }

    pub(super) fn delete_webhook(&mut self, webhook: &Webhook) -> Result<(), StoreError> {
        let id = webhook.id;
        self.batch.delete(Table::Webhook, &Key::id(id));
        self.batch.delete(Table::WebhookByOwner, &Key::webhook_by_owner(&webhook.owner, id));
        self.batch.delete(Table::WebhookByAddress, &Key::webhook_by_address(&webhook.watched, id));
        self.effects.deleted.push(id);
        self.touch_watch_list()
    }

    pub(super) fn touch_watch_list(&mut self) -> Result<(), StoreError> {
        let version = read::version(self.view)? + 1;
        self.batch.put(Table::WebhookMeta, &Key::name(read::VERSION), varint(version));
        Ok(())
    }

    pub(super) fn log(&mut self, webhook: WebhookId) -> Result<&mut DeliveryLog, StoreError> {
        if !self.logs.contains_key(&webhook) {
            self.logs.insert(webhook, Held::new(read::delivery_log(self.view, webhook)?));
        }
        let held = self.logs.get_mut(&webhook).ok_or(StoreError::Corrupt("a log that was just read"))?;
        Ok(&mut held.now)
    }

    /// Deletes the log of a deleted webhook.
    pub(super) fn drop_log(&mut self, webhook: WebhookId) {
        self.logs.remove(&webhook);
        self.batch.delete(Table::DeliveryLog, &Key::id(webhook));
        self.note(QueueNote::LogGone(webhook));
    }

    pub(super) fn note(&mut self, note: QueueNote) {
        self.effects.queue_notes.push(note);
    }

    /// Adds an event without deliveries yet.
    pub(super) fn add_event(&mut self, row: Vec<u8>) -> Result<EventNumber, StoreError> {
        let last = match self.last_event {
            Some(last) => last,
            None => read::last_event(self.view)?,
        };
        let number = last + 1;
        self.last_event = Some(number);
        self.batch.put(Table::Event, &Key::id(number), row);
        self.uses.insert(number, Held::new(0));
        Ok(number)
    }

    pub(super) fn use_event(&mut self, event: EventNumber) -> Result<(), StoreError> {
        *self.uses_of(event)? += 1;
        Ok(())
    }

    /// Removes one use of the event; the last one deletes it.
    pub(super) fn release_event(&mut self, event: EventNumber) -> Result<(), StoreError> {
        let uses = self.uses_of(event)?;
        *uses = uses.checked_sub(1).ok_or(StoreError::Corrupt("an event with more messages than it counts"))?;
        Ok(())
    }

    fn uses_of(&mut self, event: EventNumber) -> Result<&mut u64, StoreError> {
        if !self.uses.contains_key(&event) {
            let row = self.view.get(Table::EventUses, &Key::id(event))?;
            let uses = row.map_or(Ok(0), |row| RowReader::new(&row).varint())?;
            self.uses.insert(event, Held::new(uses));
        }
        let held = self.uses.get_mut(&event).ok_or(StoreError::Corrupt("a count that was just read"))?;
        Ok(&mut held.now)
    }

    /// Records that a delivery depends on a block.
    pub(super) fn note_block(&mut self, block: BlockNumber, webhook: WebhookId, number: DeliveryNumber) {
        let new = Run { first: number, last: number };
        let Some(run) = self.runs.get_mut(&(block, webhook)) else {
            self.runs.insert((block, webhook), new);
            return;
        };
        if run.last + 1 == number {
            run.last = number;
        } else {
            let ended = std::mem::replace(run, new);
            self.put_run(block, webhook, ended);
        }
    }

    fn put_run(&mut self, block: BlockNumber, webhook: WebhookId, run: Run) {
        let key = Key::delivery_by_block(block, webhook, run.first);
        self.batch.put(Table::DeliveryByBlock, &key, varint(run.last));
    }
}

pub(super) fn varint(number: u64) -> Vec<u8> {
    let mut row = RowWriter::default();
    row.varint(number);
    row.finish()
}
