use alloy_primitives::U256;
use domain::{Address, BlockNumber, CreditEvent, CreditSource};
use store::StoreError;

use crate::{
    codec::{RowReader, RowWriter},
    keys::AddressId,
};

/// Increased by every change of these rows that other versions cannot read.
pub(super) const LAYOUT: u32 = 0;

/// A credit with its receiver as an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CreditRow {
    pub(crate) block: BlockNumber,
    pub(crate) to: AddressId,
    amount: U256,
    pub(crate) source: CreditSource,
}

const WITHDRAWAL: u8 = 0;
const BLOCK_REWARD: u8 = 1;
const UNCLE_REWARD: u8 = 2;
const MINT: u8 = 3;
const GENESIS: u8 = 4;

impl CreditRow {
    pub(crate) fn new(event: &CreditEvent, block: BlockNumber, to: AddressId) -> Self {
        Self { block, to, amount: event.amount, source: event.source }
    }

    pub(crate) fn to_event(&self, to: Address) -> CreditEvent {
        CreditEvent { to, amount: self.amount, source: self.source }
    }

    pub(crate) fn to_row(&self) -> Vec<u8> {
        let mut row = RowWriter::with_capacity(32);
        row.byte(match self.source {
            CreditSource::Withdrawal { .. } => WITHDRAWAL,
            CreditSource::BlockReward => BLOCK_REWARD,
            CreditSource::UncleReward { .. } => UNCLE_REWARD,
            CreditSource::Mint { .. } => MINT,
            CreditSource::Genesis => GENESIS,
        });
        row.varint(self.block);
        row.varint(self.to);
        row.amount(&self.amount);
        match self.source {
            CreditSource::Withdrawal { index, validator } => {
                row.varint(index);
                row.varint(validator);
            }
            CreditSource::BlockReward | CreditSource::Genesis => {}
            CreditSource::UncleReward { number, hash, timestamp } => {
                row.varint(number);
                row.varint(timestamp);
                row.bytes(hash.as_slice());
            }
            CreditSource::Mint { tx_index } => row.varint(tx_index),
        }
        row.finish()
    }

    pub(crate) fn from_row(row: &[u8]) -> Result<Self, StoreError> {
        let mut row = RowReader::new(row);
        let source = row.byte()?;
        let (block, to, amount) = (row.varint()?, row.varint()?, row.amount()?);
        let source = match source {
            WITHDRAWAL => CreditSource::Withdrawal { index: row.varint()?, validator: row.varint()? },
            BLOCK_REWARD => CreditSource::BlockReward,
            UNCLE_REWARD => {
                let (number, timestamp) = (row.varint()?, row.varint()?);
                CreditSource::UncleReward { number, hash: row.hash()?, timestamp }
            }
            MINT => CreditSource::Mint { tx_index: row.varint()? },
            GENESIS => CreditSource::Genesis,
            _ => return Err(StoreError::Corrupt("a credit from an unknown source")),
        };
        Ok(Self { block, to, amount, source })
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::B256;

    use super::*;

    #[test]
    fn a_row_is_read_as_it_was_written() {
        let sources = [
            CreditSource::Withdrawal { index: u64::MAX, validator: 9 },
            CreditSource::BlockReward,
            CreditSource::UncleReward { number: 6, hash: B256::repeat_byte(3), timestamp: 1_500_000_000 },
            CreditSource::Mint { tx_index: 7 },
            CreditSource::Genesis,
        ];
        for source in sources {
            let event = CreditEvent { to: Address::ZERO, amount: U256::from(5).pow(U256::from(60)), source };
            let row = CreditRow::new(&event, 8, 4);
            assert_eq!(CreditRow::from_row(&row.to_row()).unwrap(), row);
            assert_eq!(row.to_event(Address::ZERO), event);
        }
    }

    #[test]
    fn a_withdrawal_takes_some_twenty_bytes() {
        let event = CreditEvent::withdrawal(90_000_000, 1_500_000, Address::ZERO, 19_000_000);
        assert_eq!(CreditRow::new(&event, 23_000_000, 400_000_000).to_row().len(), 25);
    }
}
