use alloy_primitives::U256;
use domain::{Address, TradeDirection, TradeEvent};
use store::{RowNumber, StoreError};

use crate::{
    codec::{RowReader, RowWriter},
    keys::{AddressId, TxId},
};

/// Increased by every change of these rows that other versions cannot read.
pub(super) const LAYOUT: u32 = 0;

/// A trade with its pool as an id. Maker and block are those of its transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TradeRow {
    pub(crate) tx: TxId,
    pub(crate) log_index: u32,
    pub(crate) pool: AddressId,
    pub(crate) direction: TradeDirection,
    pub(crate) amount_in: U256,
    pub(crate) amount_out: U256,
}

impl TradeRow {
    pub(crate) fn new(event: &TradeEvent, tx: TxId, pool: AddressId) -> Self {
        Self {
            tx,
            log_index: event.log_index,
            pool,
            direction: event.direction,
            amount_in: event.amount_in,
            amount_out: event.amount_out,
        }
    }

    pub(crate) fn to_event(&self, tx_index: u32, pool: Address) -> TradeEvent {
        TradeEvent {
            tx_index,
            log_index: self.log_index,
            pool,
            direction: self.direction,
            amount_in: self.amount_in,
            amount_out: self.amount_out,
        }
    }

    pub(crate) fn to_row(&self) -> Vec<u8> {
        let mut row = RowWriter::with_capacity(48);
        row.byte(self.direction.to_number());
        row.varint(self.tx);
        row.varint(self.log_index);
        row.varint(self.pool);
        row.amount(&self.amount_in);
        row.amount(&self.amount_out);
        row.finish()
    }

    pub(crate) fn from_row(row: &[u8]) -> Result<Self, StoreError> {
        let mut row = RowReader::new(row);
        Ok(Self {
            direction: TradeDirection::from_number(row.byte()?)?,
            tx: row.varint()?,
            log_index: row.varint()?,
            pool: row.varint()?,
            amount_in: row.amount()?,
            amount_out: row.amount()?,
        })
    }
}
