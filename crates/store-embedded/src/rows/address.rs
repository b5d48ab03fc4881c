use alloy_primitives::Address;
use domain::BlockNumber;
use store::StoreError;

use crate::codec::{RowReader, RowWriter};

/// Increased by every change of these rows that other versions cannot read.
pub(super) const LAYOUT: u32 = 0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AddressRow {
    pub(crate) address: Address,
    pub(crate) first_seen: BlockNumber,
}

impl AddressRow {
    pub(crate) fn to_row(self) -> Vec<u8> {
        let mut row = RowWriter::with_capacity(26);
        row.bytes(self.address.as_slice());
        row.varint(self.first_seen);
        row.finish()
    }

    pub(crate) fn from_row(row: &[u8]) -> Result<Self, StoreError> {
        let mut row = RowReader::new(row);
        Ok(Self { address: row.address()?, first_seen: row.varint()? })
    }
}
