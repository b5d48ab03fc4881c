use alloy_primitives::U256;
use domain::TokenKind;
use store::{RowNumber, StoreError};

use crate::{
    codec::{RowReader, RowWriter},
    keys::AddressId,
};

/// Increased by every change of these rows that other versions cannot read.
pub(super) const LAYOUT: u32 = 0;

/// One id of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NftRow {
    pub(crate) token: AddressId,
    pub(crate) kind: TokenKind,
    pub(crate) id: U256,
}

impl NftRow {
    pub(crate) fn to_row(self) -> Vec<u8> {
        let mut row = RowWriter::with_capacity(12);
        row.byte(self.kind.to_number());
        row.varint(self.token);
        row.amount(&self.id);
        row.finish()
    }

    pub(crate) fn from_row(row: &[u8]) -> Result<Self, StoreError> {
        let mut row = RowReader::new(row);
        Ok(Self { kind: TokenKind::from_number(row.byte()?)?, token: row.varint()?, id: row.amount()? })
    }
}
