use alloy_primitives::U256;
use domain::{Address, TokenKind, TransferEvent};
use store::{RowNumber, StoreError, rules::TransferIds};

use crate::{
    codec::{RowReader, RowWriter},
    keys::{AddressId, TxId},
};

/// Increased by every change of these rows that other versions cannot read.
pub(super) const LAYOUT: u32 = 0;

const HAS_ID: u8 = 0x10;

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
        row.byte(self.kind.to_number() | if self.token_id.is_some() { HAS_ID } else { 0 });
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
            // Any other bit belongs to no kind.
            kind: TokenKind::from_number(head & !HAS_ID)?,
            tx: row.varint()?,
            log_index: row.varint()?,
            batch_index: row.varint()?,
            token: row.varint()?,
            from: row.varint()?,
            to: row.varint()?,
            value: row.amount()?,
            token_id: (head & HAS_ID != 0).then(|| row.amount()).transpose()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bit_that_is_not_known_is_damage() {
        for token_id in [None, Some(U256::from(300))] {
            let row = TransferRow {
                tx: 7,
                log_index: 3,
                batch_index: 0,
                kind: TokenKind::Bep1155,
                token: 1,
                from: 2,
                to: 3,
                value: U256::from(9),
                token_id,
            };
            let bytes = row.to_row();
            assert_eq!(TransferRow::from_row(&bytes).unwrap(), row);
            for bit in [0x08, 0x20, 0x40, 0x80] {
                let mut damaged = bytes.clone();
                damaged[0] |= bit;
                let read = TransferRow::from_row(&damaged);
                assert!(matches!(read, Err(StoreError::Corrupt(_))), "{bit}: {read:?}");
            }
        }
    }
}
