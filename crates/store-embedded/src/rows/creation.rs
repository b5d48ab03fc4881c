use store::StoreError;

use crate::{
    codec::{RowReader, RowWriter},
    keys::{AddressId, TxId},
};

/// Increased by every change of these rows that other versions cannot read.
pub(super) const LAYOUT: u32 = 0;

/// How a contract was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CreationRow {
    pub(crate) tx: TxId,
    /// None if the transaction itself created it, with its sender as creator.
    pub(crate) creator: Option<AddressId>,
}

impl CreationRow {
    pub(crate) fn to_row(self) -> Vec<u8> {
        let mut row = RowWriter::with_capacity(12);
        row.varint(self.tx);
        if let Some(creator) = self.creator {
            row.varint(creator);
        }
        row.finish()
    }

    pub(crate) fn from_row(row: &[u8]) -> Result<Self, StoreError> {
        let mut row = RowReader::new(row);
        let tx = row.varint()?;
        Ok(Self { tx, creator: if row.is_empty() { None } else { Some(row.varint()?) } })
    }
}
