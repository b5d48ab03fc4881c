use alloy_primitives::U256;
use domain::{Address, TokenKind, TransferEvent};
use store::{StoreError, rules::TransferIds};

use super::token::{kind_from_byte, kind_to_byte};
use crate::{
    codec::{RowReader, RowWriter},
    keys::{AddressId, TxId},
};

/// Increased by every change of these rows that other versions cannot read.
pub(super) const LAYOUT: u32 = 0;

/// A transfer with addresses as ids. Its block is that of its transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TransferRow {
    pub(crate) tx: TxId,
    pub(crate) log_index: u32,
    pub(crate) batch_index: u32,
    pub(crate) kind: TokenKind,
    pub(crate) token: AddressId,
    pub(crate) from: AddressId,
    pub(crate) to: AddressId,
    pub(crate) value: U256,
    pub(crate) token_id: Option<U256>,
}

impl TransferRow {
    pub(crate) fn new(event: &TransferEvent, tx: TxId, ids: TransferIds) -> Self {
        Self {
            tx,
            log_index: event.log_index,
            batch_index: event.batch_index,
            kind: event.kind,
            token: ids.token,
            from: ids.from,
            to: ids.to,
            value: event.value,
            token_id: event.token_id,
        }
    }

    pub(crate) fn into_event(
        self,
        tx_index: u32,
        address: impl Fn(AddressId) -> Result<Address, StoreError>,
    ) -> Result<TransferEvent, StoreError> {
        Ok(TransferEvent {
            tx_index,
            log_index: self.log_index,
            batch_index: self.batch_index,
            token: address(self.token)?,
            kind: self.kind,
            from: address(self.from)?,
            to: address(self.to)?,
            value: self.value,
            token_id: self.token_id,
        })
    }

    pub(crate) fn to_row(&self) -> Vec<u8> {
        let mut row = RowWriter::with_capacity(48);
        row.byte(kind_to_byte(self.kind) | u8::from(self.token_id.is_some()) << 4);
        row.varint(self.tx);
        row.varint(self.log_index);
        row.varint(self.batch_index);
        row.varint(self.token);
        row.varint(self.from);
        row.varint(self.to);
        row.amount(&self.value);
        if let Some(token_id) = &self.token_id {
            row.amount(token_id);
        }
        row.finish()
    }

    pub(crate) fn from_row(row: &[u8]) -> Result<Self, StoreError> {
        let mut row = RowReader::new(row);
        let head = row.byte()?;
        Ok(Self {
            kind: kind_from_byte(head & 0x0f)?,
            tx: row.varint()?,
            log_index: row.varint()?,
            batch_index: row.varint()?,
            token: row.varint()?,
            from: row.varint()?,
            to: row.varint()?,
            value: row.amount()?,
            token_id: (head >> 4 != 0).then(|| row.amount()).transpose()?,
        })
    }
}
