//! Whether rows are of the form of their tables, for a check of the store.

use store::StoreError;

use super::{read_ids, row};

pub(crate) fn key(row: &[u8]) -> Result<(), StoreError> {
    row::read(0, row).map(drop)
}

pub(crate) fn active_keys(row: &[u8]) -> Result<(), StoreError> {
    read_ids(row).map(drop)
}
