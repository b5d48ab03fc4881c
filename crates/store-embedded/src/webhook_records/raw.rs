//! Reads and writes webhooks, their queues and the matching for files of records.

use std::collections::BTreeMap;

use domain::{BlockNumber, DeliveryId, DeliveryStatus, UnixMillis, Webhook, WebhookId};
use store::{
    DeliveryLogRecord, DeliveryRecord, EventRecord, HashPrefix, MatchedBlock, MatchingRecord, OrphanedBlockRecord,
    Record, RecordPosition, StoreError,
};

use super::{
    change::varint,
    read::{self, DeliveryLog},
    rows::{self, DeliveryRow, EventRow},
};
use crate::{
    codec::{RowReader, RowWriter},
    engine::{Batch, View},
    keys::{Key, Table, ids_in_key, number_in_key, split_key},
};

pub(crate) fn read_webhooks(
    view: &View,
    after: Option<RecordPosition>,
    limit: usize,
) -> Result<Vec<Record>, StoreError> {
    let from = match after {
        Some(RecordPosition::Webhook(id)) => Key::id(id + 1),
        _ => Key::EMPTY,
    };
    let found = view.range_from(Table::Webhook, &from, &Key::EMPTY).take(limit);
    found
        .map(|row| {
            let (key, row) = row?;
            Ok(Record::Webhook(rows::read_webhook(number_in_key(&key, 0)?, &row)?))
        })
        .collect()
}

pub(crate) fn read_logs(view: &View, after: Option<RecordPosition>, limit: usize) -> Result<Vec<Record>, StoreError> {
    let from = match after {
        Some(RecordPosition::DeliveryLog(webhook)) => Key::id(webhook + 1),
        _ => Key::EMPTY,
    };
    let found = view.range_from(Table::DeliveryLog, &from, &Key::EMPTY).take(limit);
    found
        .map(|row| {
            let (key, row) = row?;
            let DeliveryLog { first, next, pending, dropped, .. } = DeliveryLog::from_row(&row)?;
            let webhook = number_in_key(&key, 0)?;
            Ok(Record::DeliveryLog(DeliveryLogRecord { webhook, first, next, pending, dropped }))
        })
        .collect()
}

pub(crate) fn read_events(view: &View, after: Option<RecordPosition>, limit: usize) -> Result<Vec<Record>, StoreError> {
    let from = match after {
        Some(RecordPosition::Event(number)) => Key::id(number + 1),
        _ => Key::EMPTY,
    };
    let found = view.range_from(Table::Event, &from, &Key::EMPTY).take(limit);
    found
        .map(|row| {
            let (key, row) = row?;
            let number = number_in_key(&key, 0)?;
            let EventRow { location, body } = rows::read_event(&row)?;
            let uses = view.get(Table::EventUses, &Key::id(number))?;
            let uses = uses.map_or(Ok(0), |row| RowReader::new(&row).varint())?;
            Ok(Record::Event(EventRecord { number, location, body, uses }))
        })
        .collect()
}

pub(crate) fn read_deliveries(
    view: &View,
    after: Option<RecordPosition>,
    limit: usize,
    now: UnixMillis,
) -> Result<Vec<Record>, StoreError> {
    let from = match after {
        Some(RecordPosition::Delivery(webhook, number)) => Key::delivery(webhook, number + 1),
        _ => Key::EMPTY,
    };
    let found = view.range_from(Table::Delivery, &from, &Key::EMPTY).take(limit);
    found
        .map(|row| {
            let (key, row) = row?;
            let (webhook, number) = ids_in_key(&key)?;
            let DeliveryRow { event, maybe_received, delivery, .. } = rows::read_delivery(webhook, number, &row)?;
            // The process that had the folder open may have sent what was due, without a record of it.
            let was_due = match delivery.status {
                // Without a time, it is due at once.
                DeliveryStatus::Pending { due } => due.is_none_or(|due| due <= now),
                DeliveryStatus::Delivered | DeliveryStatus::Failed | DeliveryStatus::Cancelled => false,
            };
            let location = read::event(view, event)?.location;
            let retracted_with = match location.map(|location| location.block.number) {
                Some(block) if is_in_run(view, block, webhook, number)? => Some(block),
                _ => None,
            };
            let maybe_received = maybe_received || was_due;
            Ok(Record::Delivery(DeliveryRecord { event, maybe_received, retracted_with, delivery }))
        })
        .collect()
}

/// Whether a reorg of the block retracts the delivery.
fn is_in_run(view: &View, block: BlockNumber, webhook: WebhookId, number: u64) -> Result<bool, StoreError> {
    let (first, end) = (Key::delivery_by_block(block, webhook, 0), Key::delivery_by_block(block, webhook, number + 1));
    for row in view.range(Table::DeliveryByBlock, &first, &end).rev() {
        if RowReader::new(&row?.1).varint::<u64>()? >= number {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(crate) fn read_matched_blocks(
    view: &View,
    after: Option<RecordPosition>,
    limit: usize,
) -> Result<Vec<Record>, StoreError> {
    let from = match after {
        Some(RecordPosition::MatchedBlock(number)) => Key::block(number.saturating_add(1)),
        _ => Key::EMPTY,
    };
    let found = view.range_from(Table::MatchedBlock, &from, &Key::EMPTY).take(limit);
    found
        .map(|row| {
            let (key, row) = row?;
            Ok(Record::MatchedBlock(read::matched_block(&key, &row)?))
        })
        .collect()
}

pub(crate) fn read_orphaned_blocks(
    view: &View,
    after: Option<RecordPosition>,
    limit: usize,
) -> Result<Vec<Record>, StoreError> {
    let from = match after {
        Some(RecordPosition::OrphanedBlock(number, prefix)) => Key::orphaned_prefix(number, &prefix).then(&[0]),
        _ => Key::EMPTY,
    };
    let found = view.range_from(Table::OrphanedBlock, &from, &Key::EMPTY).take(limit);
    found
        .map(|row| {
            let (key, row) = row?;
            let (number, prefix) = split_key(&key, 8)?;
            let hash_prefix = HashPrefix::try_from(prefix);
            let hash_prefix = hash_prefix.map_err(|_| StoreError::Corrupt("an orphaned block without its hash"))?;
            let mut row = RowReader::new(&row);
            let (times, known_to) = (row.varint()?, row.varint()?);
            let number = number_in_key(number, 0)?;
            Ok(Record::OrphanedBlock(OrphanedBlockRecord { number, hash_prefix, times, known_to }))
        })
        .collect()
}

pub(crate) fn read_matching(view: &View) -> Result<Record, StoreError> {
    Ok(Record::Matching(MatchingRecord {
        version: read::version(view)?,
        last_webhook: read::last_id(view)?,
        last_event: read::last_event(view)?,
        cursor: read::find_cursor(view)?,
        retracting_from: read::find_retracting(view)?,
        internal: read::find_internal(view)?,
    }))
}

pub(crate) fn write_webhook(batch: &mut Batch, webhook: &Webhook) {
    let id = webhook.id;
    batch.put(Table::WebhookByOwner, &Key::webhook_by_owner(&webhook.owner, id), []);
    batch.put(Table::WebhookByAddress, &Key::webhook_by_address(&webhook.watched, id), []);
    batch.put(Table::Webhook, &Key::id(id), rows::write_webhook(webhook));
}

pub(crate) fn write_log(batch: &mut Batch, record: &DeliveryLogRecord) {
    let DeliveryLogRecord { webhook, first, next, pending, dropped } = *record;
    // The scan for messages that were never sent starts at the oldest one.
    let log = DeliveryLog { first, next, fresh: first, pending, dropped };
    batch.put(Table::DeliveryLog, &Key::id(webhook), log.to_row());
}

pub(crate) fn write_event(batch: &mut Batch, event: &EventRecord) {
    batch.put(Table::Event, &Key::id(event.number), rows::write_event(event.location, &event.body));
    batch.put(Table::EventUses, &Key::id(event.number), varint(event.uses));
}

/// The deliveries of each webhook come by number.
pub(crate) fn write_deliveries<'a>(
    view: &View,
    batch: &mut Batch,
    deliveries: impl Iterator<Item = &'a DeliveryRecord>,
) -> Result<(), StoreError> {
    // A batch cannot be read back: of several deliveries with one id, all but the newest are superseded.
    let mut newest: BTreeMap<(WebhookId, DeliveryId), DeliveryRow> = BTreeMap::new();
    for record in deliveries {
        let delivery = &record.delivery;
        let (webhook, number) = (delivery.webhook, delivery.number);
        let older = match newest.remove(&(webhook, delivery.id)) {
            Some(older) => Some(older),
            None => read::find_row_by_id(view, webhook, &delivery.id)?,
        };
        if let Some(mut older) = older.filter(|older| older.delivery.number < number) {
            older.superseded = true;
            put_delivery(batch, &older);
        }
        let row = DeliveryRow {
            event: record.event,
            superseded: false,
            maybe_received: record.maybe_received,
            delivery: delivery.clone(),
        };
        put_delivery(batch, &row);
        batch.put(Table::DeliveryById, &Key::delivery_by_id(webhook, &delivery.id), varint(number));
        if let DeliveryStatus::Pending { due: Some(due) } = delivery.status {
            batch.put(Table::RetryDelivery, &Key::retry(webhook, due, number), []);
        }
        if let Some(block) = record.retracted_with {
            batch.put(Table::DeliveryByBlock, &Key::delivery_by_block(block, webhook, number), varint(number));
        }
        newest.insert((webhook, delivery.id), row);
    }
    Ok(())
}

fn put_delivery(batch: &mut Batch, row: &DeliveryRow) {
    let key = Key::delivery(row.delivery.webhook, row.delivery.number);
    batch.put(Table::Delivery, &key, rows::write_delivery(row));
}

pub(crate) fn write_matched_block(batch: &mut Batch, matched: &MatchedBlock) {
    batch.put(Table::MatchedBlock, &Key::block(matched.block.number), read::write_matched_block(matched));
}

pub(crate) fn write_orphaned_block(batch: &mut Batch, block: &OrphanedBlockRecord) {
    let mut row = RowWriter::default();
    row.varint(block.times);
    row.varint(block.known_to);
    batch.put(Table::OrphanedBlock, &Key::orphaned_prefix(block.number, &block.hash_prefix), row.finish());
}

pub(crate) fn write_matching(batch: &mut Batch, matching: &MatchingRecord) {
    let numbers = [
        (read::VERSION, Some(matching.version)),
        (read::LAST_ID, Some(matching.last_webhook)),
        (read::LAST_EVENT, Some(matching.last_event)),
        (read::RETRACTING, matching.retracting_from),
        (read::INTERNAL, matching.internal),
    ];
    for (name, number) in numbers {
        if let Some(number) = number {
            batch.put(Table::WebhookMeta, &Key::name(name), varint(number));
        }
    }
    if let Some(cursor) = &matching.cursor {
        let mut row = RowWriter::default();
        rows::write_block(&mut row, cursor);
        batch.put(Table::WebhookMeta, &Key::name(read::CURSOR), row.finish());
        batch.put(Table::WebhookMeta, &Key::name(read::COPIED), []);
    }
}
