use domain::{B256, BlockRef, Delivery, DeliveryId, DeliveryNumber, Webhook, WebhookId};
use store::StoreError;

use super::rows;
use crate::codec::{RowReader, RowWriter};
use crate::engine::View;
use crate::keys::{Key, Table, number_in_key};

pub(super) const CURSOR: &str = "cursor";
pub(super) const VERSION: &str = "version";
pub(super) const LAST_ID: &str = "last id";

/// Numbers without gaps: the oldest that is kept, and the next to be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DeliveryLog {
    pub(super) first: DeliveryNumber,
    pub(super) next: DeliveryNumber,
}

impl DeliveryLog {
    pub(super) fn to_row(self) -> Vec<u8> {
        let mut row = RowWriter::default();
        row.varint(self.first);
        row.varint(self.next);
        row.finish()
    }
}

pub(super) fn find_webhook(view: &View, id: WebhookId) -> Result<Option<Webhook>, StoreError> {
    // A longer number has no key of its own.
    if id >> 40 != 0 {
        return Ok(None);
    }
    view.get(Table::Webhook, &Key::id(id))?.map(|row| rows::read_webhook(id, &row)).transpose()
}

pub(super) fn list_active(view: &View) -> Result<Vec<Webhook>, StoreError> {
    let mut webhooks = Vec::new();
    for row in view.prefix(Table::Webhook, &Key::EMPTY) {
        let (key, row) = row?;
        let webhook = rows::read_webhook(number_in_key(&key, 0), &row)?;
        if webhook.active {
            webhooks.push(webhook);
        }
    }
    Ok(webhooks)
}

pub(super) fn delivery_log(view: &View, webhook: WebhookId) -> Result<DeliveryLog, StoreError> {
    let Some(row) = view.get(Table::DeliveryLog, &Key::id(webhook))? else {
        return Ok(DeliveryLog { first: 1, next: 1 });
    };
    let mut row = RowReader::new(&row);
    Ok(DeliveryLog { first: row.varint()?, next: row.varint()? })
}

pub(super) fn find_delivery(
    view: &View,
    webhook: WebhookId,
    number: DeliveryNumber,
) -> Result<Option<Delivery>, StoreError> {
    let row = view.get(Table::Delivery, &Key::delivery(webhook, number))?;
    row.map(|row| rows::read_delivery(webhook, number, &row)).transpose()
}

pub(super) fn find_delivery_by_id(
    view: &View,
    webhook: WebhookId,
    id: &DeliveryId,
) -> Result<Option<Delivery>, StoreError> {
    let Some(row) = view.get(Table::DeliveryById, &Key::delivery_by_id(webhook, id))? else { return Ok(None) };
    find_delivery(view, webhook, RowReader::new(&row).varint()?)
}

pub(super) fn get_body(view: &View, webhook: WebhookId, number: DeliveryNumber) -> Result<domain::Bytes, StoreError> {
    let body = view.get(Table::DeliveryBody, &Key::delivery(webhook, number))?;
    let body = body.ok_or(StoreError::Corrupt("a delivery without a body"))?;
    Ok(domain::Bytes::copy_from_slice(&body))
}

pub(super) fn version(view: &View) -> Result<u64, StoreError> {
    number(view, VERSION)
}

pub(super) fn last_id(view: &View) -> Result<WebhookId, StoreError> {
    number(view, LAST_ID)
}

fn number(view: &View, name: &'static str) -> Result<u64, StoreError> {
    let row = view.get(Table::WebhookMeta, &Key::name(name))?;
    row.map_or(Ok(0), |row| RowReader::new(&row).varint())
}

pub(super) fn find_cursor(view: &View) -> Result<Option<BlockRef>, StoreError> {
    let row = view.get(Table::WebhookMeta, &Key::name(CURSOR))?;
    row.map(|row| rows::read_block(&mut RowReader::new(&row))).transpose()
}

pub(super) fn matched_block(key: &[u8], hash: &[u8]) -> Result<BlockRef, StoreError> {
    let hash = B256::try_from(hash).map_err(|_| StoreError::Corrupt("a hash that is none"))?;
    Ok(BlockRef { number: number_in_key(key, 0), hash })
}

pub(super) fn count_orphanings(view: &View, block: &BlockRef) -> Result<u32, StoreError> {
    let row = view.get(Table::OrphanedBlock, &Key::orphaned_block(block))?;
    row.map_or(Ok(0), |row| RowReader::new(&row).varint())
}
