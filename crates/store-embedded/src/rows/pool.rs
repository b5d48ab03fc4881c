use domain::PoolStyle;
use store::{RowNumber, StoreError, rules::Exchange};

use crate::{
    codec::{RowReader, RowWriter},
    keys::AddressId,
};

/// Increased by every change of these rows that other versions cannot read.
pub(super) const LAYOUT: u32 = 0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PoolRow {
    pub(crate) style: PoolStyle,
    pub(crate) factory: AddressId,
    pub(crate) token0: AddressId,
    pub(crate) token1: AddressId,
}

impl PoolRow {
    pub(crate) fn exchange(&self) -> Exchange {
        Exchange { style: self.style, factory: self.factory }
    }

    pub(crate) fn to_row(self) -> Vec<u8> {
        let mut row = RowWriter::with_capacity(16);
        row.byte(self.style.to_number());
        row.varint(self.factory);
        row.varint(self.token0);
        row.varint(self.token1);
        row.finish()
    }

    pub(crate) fn from_row(row: &[u8]) -> Result<Self, StoreError> {
        let mut row = RowReader::new(row);
        let style = PoolStyle::from_number(row.byte()?)?;
        Ok(Self { style, factory: row.varint()?, token0: row.varint()?, token1: row.varint()? })
    }
}
