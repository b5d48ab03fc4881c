use alloy_primitives::U256;
use domain::{Address, InternalEvent, InternalKind};
use store::{RowNumber, StoreError};

use crate::{
    codec::{RowReader, RowWriter},
    keys::{PartyId, TxId},
};

/// Increased by every change of these rows that other versions cannot read.
pub(super) const LAYOUT: u32 = 1;

/// An internal transaction with its parties as ids. Its block is that of its transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InternalRow {
    pub(crate) tx: TxId,
    pub(crate) position: u32,
    pub(crate) kind: InternalKind,
    pub(crate) from: PartyId,
    pub(crate) to: Option<PartyId>,
    pub(crate) value: U256,
    pub(crate) gas: u64,
    pub(crate) gas_used: u64,
    pub(crate) error: Option<String>,
}

/// Errors that nearly all failed calls have.
const COMMON_ERRORS: [&str; 2] = ["execution reverted", "out of gas"];

/// The lower bits of the kind, and where its upper bit is.
const KIND_BITS: u8 = 0b0011;
const KIND_WIDTH: u32 = 2;
const KIND_SHIFT: u32 = 7;
const HAS_TO: u8 = 0b0100;
/// From this bit on: 0 without an error, 1 for one in the row, then the common ones.
const ERROR_SHIFT: u32 = 3;
const ERROR_BITS: u8 = 0b0011;
const OTHER_ERROR: u8 = 1;
/// Always 0.
const UNUSED_BITS: u8 = 0b0110_0000;

impl InternalRow {
    pub(crate) fn new(event: &InternalEvent, tx: TxId, from: PartyId, to: Option<PartyId>) -> Self {
        Self {
            tx,
            position: event.position,
            kind: event.kind,
            from,
            to,
            value: event.value,
            gas: event.gas,
            gas_used: event.gas_used,
            error: event.error.clone(),
        }
    }

    pub(crate) fn into_event(
        self,
        tx_index: u32,
        party: impl Fn(PartyId) -> Result<Address, StoreError>,
    ) -> Result<InternalEvent, StoreError> {
        Ok(InternalEvent {
            tx_index,
            position: self.position,
            kind: self.kind,
            from: party(self.from)?,
            to: self.to.map(&party).transpose()?,
            value: self.value,
            gas: self.gas,
            gas_used: self.gas_used,
            error: self.error,
        })
    }

    pub(crate) fn to_row(&self) -> Vec<u8> {
        let kind = self.kind.to_number();
        let error = self.error.as_deref().map_or(0, |error| {
            let common = (OTHER_ERROR + 1..).zip(COMMON_ERRORS).find(|(_, common)| *common == error);
            common.map_or(OTHER_ERROR, |(bits, _)| bits)
        });
        let mut row = RowWriter::with_capacity(40);
        let kind = kind & KIND_BITS | kind >> KIND_WIDTH << KIND_SHIFT;
        row.byte(kind | if self.to.is_some() { HAS_TO } else { 0 } | error << ERROR_SHIFT);
        row.varint(self.tx);
        row.varint(self.position);
        row.varint(self.from);
        if let Some(to) = self.to {
            row.varint(to);
        }
        row.amount(&self.value);
        row.varint(self.gas);
        row.varint(self.gas_used);
        if let Some(error) = self.error.as_deref().filter(|_| error == OTHER_ERROR) {
            row.text(error);
        }
        row.finish()
    }

    pub(crate) fn from_row(row: &[u8]) -> Result<Self, StoreError> {
        const UNKNOWN: StoreError = StoreError::Corrupt("an internal transaction of an unknown kind");
        let mut row = RowReader::new(row);
        let head = row.byte()?;
        if head & UNUSED_BITS != 0 {
            return Err(UNKNOWN);
        }
        let kind = head & KIND_BITS | head >> KIND_SHIFT << KIND_WIDTH;
        let kind = InternalKind::from_number(kind)?;
        let (tx, position, from) = (row.varint()?, row.varint()?, row.varint()?);
        let to = (head & HAS_TO != 0).then(|| row.varint()).transpose()?;
        let (value, gas, gas_used) = (row.amount()?, row.varint()?, row.varint()?);
        let error = match head >> ERROR_SHIFT & ERROR_BITS {
            0 => None,
            OTHER_ERROR => Some(row.text()?),
            common => {
                let common = COMMON_ERRORS.get(usize::from(common - OTHER_ERROR - 1)).ok_or(UNKNOWN)?;
                Some((*common).to_owned())
            }
        };
        Ok(Self { tx, position, kind, from, to, value, gas, gas_used, error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_read_back() {
        let errors = [None, Some("out of gas"), Some("invalid opcode"), Some("")];
        for (kind, error) in InternalKind::ALL.into_iter().flat_map(|kind| errors.map(|error| (kind, error))) {
            let row = InternalRow {
                tx: 1 << 30,
                position: 10_000,
                kind,
                from: 7,
                to: error.is_none().then_some(9),
                value: U256::MAX,
                gas: u64::MAX,
                gas_used: 0,
                error: error.map(str::to_owned),
            };
            let mut bytes = row.to_row();
            assert_eq!(InternalRow::from_row(&bytes).unwrap(), row);
            bytes[0] |= 0x20;
            assert!(matches!(InternalRow::from_row(&bytes), Err(StoreError::Corrupt(_))), "an unknown bit");
        }
    }
}
