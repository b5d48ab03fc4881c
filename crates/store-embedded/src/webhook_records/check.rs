//! Whether rows are of the form of their tables, for a check of the store.

use store::StoreError;

use super::{
    read::{self, DeliveryLog},
    rows,
};
use crate::{codec::RowReader, keys::Key};

pub(crate) fn webhook(row: &[u8]) -> Result<(), StoreError> {
    rows::read_webhook(0, row).map(drop)
}

pub(crate) fn delivery_log(row: &[u8]) -> Result<(), StoreError> {
    DeliveryLog::from_row(row).map(drop)
}

pub(crate) fn delivery(row: &[u8]) -> Result<(), StoreError> {
    rows::read_delivery(0, 0, row).map(drop)
}

pub(crate) fn event(row: &[u8]) -> Result<(), StoreError> {
    rows::read_event(row).map(drop)
}

pub(crate) fn matched_block(row: &[u8]) -> Result<(), StoreError> {
    read::matched_block(Key::block(0).as_slice(), row).map(drop)
}

/// How often a block was orphaned, and the newest webhook that existed when it was first matched.
pub(crate) fn orphaned_block(row: &[u8]) -> Result<(), StoreError> {
    let mut row = RowReader::new(row);
    row.varint::<u32>()?;
    row.varint::<u64>().map(drop)
}
