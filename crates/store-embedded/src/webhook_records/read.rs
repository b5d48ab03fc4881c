use domain::{B256, BlockNumber, BlockRef, Delivery, DeliveryId, DeliveryNumber, DropCount, Webhook, WebhookId};
use store::{MatchedBlock, Orphaning, Progress, StoreError};

use super::rows::{self, DeliveryRow, EventNumber, EventRow};
use crate::{
    codec::{RowReader, RowWriter},
    engine::View,
    keys::{Key, Table, fits_into_key, number_in_key},
};

pub(super) const CURSOR: &str = "cursor";
pub(super) const VERSION: &str = "version";
pub(super) const LAST_ID: &str = "last id";
pub(super) const LAST_EVENT: &str = "last event";
/// The first block whose messages have to be retracted, during a retraction.
pub(super) const RETRACTING: &str = "retracting";
/// The newest block whose internal transactions were matched.
pub(super) const INTERNAL: &str = "internal";
/// Exists from the copy of the cursor from another store or index until it is moved.
pub(super) const COPIED: &str = "copied";

/// Delivery numbers without gaps: the oldest stored and the next to assign; and counts of what is between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DeliveryLog {
    pub(super) first: DeliveryNumber,
    pub(super) next: DeliveryNumber,
    /// No delivery below this number is still unsent.
    pub(super) fresh: DeliveryNumber,
    pub(super) pending: u64,
    pub(super) dropped: DropCount,
}

impl DeliveryLog {
    pub(super) fn to_row(self) -> Vec<u8> {
        let mut row = RowWriter::default();
        for number in [self.first, self.next, self.fresh, self.pending, self.dropped.total, self.dropped.reported] {
            row.varint(number);
        }
        row.finish()
    }

    pub(super) fn from_row(row: &[u8]) -> Result<Self, StoreError> {
        let mut row = RowReader::new(row);
        let (first, next, fresh, pending) = (row.varint()?, row.varint()?, row.varint()?, row.varint()?);
        if first > next {
            return Err(StoreError::Corrupt("a queue with a number before its first one"));
        }
        Ok(Self { first, next, fresh, pending, dropped: DropCount { total: row.varint()?, reported: row.varint()? } })
    }
}

pub(super) fn find_webhook(view: &View, id: WebhookId) -> Result<Option<Webhook>, StoreError> {
    if !fits_into_key(id) {
        return Ok(None);
    }
    view.get(Table::Webhook, &Key::id(id))?.map(|row| rows::read_webhook(id, &row)).transpose()
}

pub(super) fn list_all(view: &View) -> impl Iterator<Item = Result<Webhook, StoreError>> {
    view.prefix(Table::Webhook, &Key::EMPTY).map(|row| {
        let (key, row) = row?;
        rows::read_webhook(number_in_key(&key, 0)?, &row)
    })
}

/// The newest webhooks, newest first.
pub(super) fn list_newest(view: &View, limit: usize) -> Result<Vec<Webhook>, StoreError> {
    let newest = view.prefix(Table::Webhook, &Key::EMPTY).rev().take(limit);
    newest.map(|row| row.and_then(|(key, row)| rows::read_webhook(number_in_key(&key, 0)?, &row))).collect()
}

pub(super) fn list_active(view: &View) -> Result<Vec<Webhook>, StoreError> {
    list_all(view).filter(|webhook| webhook.as_ref().map_or(true, |webhook| webhook.active)).collect()
}

pub(super) fn delivery_log(view: &View, webhook: WebhookId) -> Result<DeliveryLog, StoreError> {
    match view.get(Table::DeliveryLog, &Key::id(webhook))? {
        Some(row) => DeliveryLog::from_row(&row),
        None => Ok(DeliveryLog { first: 1, next: 1, fresh: 1, pending: 0, dropped: DropCount::default() }),
    }
}

pub(super) fn find_row(
    view: &View,
    webhook: WebhookId,
    number: DeliveryNumber,
) -> Result<Option<DeliveryRow>, StoreError> {
    let row = view.get(Table::Delivery, &Key::delivery(webhook, number))?;
    row.map(|row| rows::read_delivery(webhook, number, &row)).transpose()
}

/// The newest delivery with this id.
pub(super) fn find_row_by_id(
    view: &View,
    webhook: WebhookId,
    id: &DeliveryId,
) -> Result<Option<DeliveryRow>, StoreError> {
    let Some(row) = view.get(Table::DeliveryById, &Key::delivery_by_id(webhook, id))? else { return Ok(None) };
    find_row(view, webhook, RowReader::new(&row).varint()?)
}

pub(super) fn event(view: &View, number: EventNumber) -> Result<EventRow, StoreError> {
    let row = view.get(Table::Event, &Key::id(number))?;
    rows::read_event(&row.ok_or(StoreError::Corrupt("a delivery without its event"))?)
}

/// A delivery with its position in the chain.
pub(super) fn with_position(view: &View, row: DeliveryRow) -> Result<Delivery, StoreError> {
    let location = event(view, row.event)?.location;
    Ok(Delivery { location, ..row.delivery })
}

pub(super) fn version(view: &View) -> Result<u64, StoreError> {
    number(view, VERSION)
}

pub(super) fn last_id(view: &View) -> Result<WebhookId, StoreError> {
    number(view, LAST_ID)
}

pub(super) fn last_event(view: &View) -> Result<EventNumber, StoreError> {
    number(view, LAST_EVENT)
}

fn number(view: &View, name: &'static str) -> Result<u64, StoreError> {
    let row = view.get(Table::WebhookMeta, &Key::name(name))?;
    row.map_or(Ok(0), |row| RowReader::new(&row).varint())
}

pub(super) fn find_cursor(view: &View) -> Result<Option<BlockRef>, StoreError> {
    let row = view.get(Table::WebhookMeta, &Key::name(CURSOR))?;
    row.map(|row| rows::read_block(&mut RowReader::new(&row))).transpose()
}

/// The first block whose messages have to be retracted; None outside a retraction.
pub(super) fn find_retracting(view: &View) -> Result<Option<u64>, StoreError> {
    let row = view.get(Table::WebhookMeta, &Key::name(RETRACTING))?;
    row.map(|row| RowReader::new(&row).varint()).transpose()
}

/// The cursor of internal transactions.
pub(super) fn find_internal(view: &View) -> Result<Option<BlockNumber>, StoreError> {
    let row = view.get(Table::WebhookMeta, &Key::name(INTERNAL))?;
    row.map(|row| RowReader::new(&row).varint()).transpose()
}

pub(super) fn progress(view: &View) -> Result<Progress, StoreError> {
    let cursor = find_cursor(view)?;
    let newest = view.prefix(Table::MatchedBlock, &Key::EMPTY).next_back().transpose()?;
    let newest = newest.map(|(key, row)| matched_block(&key, &row)).transpose()?.map(|matched| matched.block);
    let begun = newest.filter(|newest| cursor.is_none_or(|cursor| newest.number > cursor.number));
    Ok(Progress {
        cursor,
        begun,
        internal: find_internal(view)?,
        retracting: find_retracting(view)?.is_some(),
        copied: is_copied(view)?,
    })
}

/// Whether the cursor was copied from another store, and not moved since.
pub(super) fn is_copied(view: &View) -> Result<bool, StoreError> {
    Ok(view.get(Table::WebhookMeta, &Key::name(COPIED))?.is_some())
}

pub(super) fn write_matched_block(matched: &MatchedBlock) -> Vec<u8> {
    let mut row = RowWriter::with_capacity(40);
    row.bytes(matched.block.hash.as_slice());
    row.varint(matched.known_to);
    row.finish()
}

pub(super) fn matched_block(key: &[u8], row: &[u8]) -> Result<MatchedBlock, StoreError> {
    let mut row = RowReader::new(row);
    let hash: B256 = row.hash()?;
    Ok(MatchedBlock { block: BlockRef { number: number_in_key(key, 0)?, hash }, known_to: row.varint()? })
}

pub(super) fn find_orphaning(view: &View, block: &BlockRef) -> Result<Option<Orphaning>, StoreError> {
    let row = view.get(Table::OrphanedBlock, &Key::orphaned_block(block))?;
    row.map(|row| {
        let mut row = RowReader::new(&row);
        Ok(Orphaning { times: row.varint()?, known_to: row.varint()? })
    })
    .transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_does_not_have_fewer_than_no_messages() {
        let log = DeliveryLog { first: 7, next: 7, fresh: 7, pending: 0, dropped: DropCount::default() };
        assert_eq!(DeliveryLog::from_row(&log.to_row()).unwrap(), log);
        let read = DeliveryLog::from_row(&DeliveryLog { next: 6, ..log }.to_row());
        assert!(matches!(read, Err(StoreError::Corrupt(_))), "{read:?}");
    }
}
