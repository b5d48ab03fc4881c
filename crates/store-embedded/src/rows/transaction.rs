use alloy_primitives::{B256, U256};
use domain::{Address, BlockNumber, Bytes, Charges, Payment, Selector, Transaction};
use store::{StoreError, log_data};

use super::block::BlockRow;
use crate::{
    codec::{RowReader, RowWriter},
    keys::AddressId,
};

/// Increased by every change of these rows that other versions cannot read.
pub(super) const LAYOUT: u32 = 1;

const SUCCEEDED: u8 = 1;
const HAS_RECEIVER: u8 = 2;
const CREATED: u8 = 4;
const HAS_METHOD: u8 = 8;
const HAS_CHARGES: u8 = 16;
const STATUS_UNKNOWN: u8 = 32;
const FLAGS: u8 = SUCCEEDED | HAS_RECEIVER | CREATED | HAS_METHOD | HAS_CHARGES | STATUS_UNKNOWN;

/// How the payment of charges is written.
const PAID_IN_COIN: u8 = 0;
const PAID_IN_TOKEN: u8 = 1;
const PAID_BY_NOBODY: u8 = 2;

/// A transaction with addresses as ids. Its index in the block is its id minus the block's first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TransactionRow {
    pub(crate) hash: B256,
    pub(crate) block_number: BlockNumber,
    pub(crate) from: AddressId,
    pub(crate) to: Option<AddressId>,
    pub(crate) created: Option<AddressId>,
    pub(crate) value: U256,
    pub(crate) nonce: u64,
    pub(crate) gas_used: u64,
    pub(crate) gas_limit: Option<u64>,
    pub(crate) cumulative_gas_used: Option<u64>,
    pub(crate) gas_price: u128,
    pub(crate) charges: Option<Box<Charges>>,
    pub(crate) succeeded: bool,
    pub(crate) status_known: bool,
    pub(crate) method: Option<Selector>,
    /// It begins with the selector, if there is one.
    pub(crate) input: Option<Bytes>,
}

impl TransactionRow {
    pub(crate) fn new(tx: &Transaction, from: AddressId, to: Option<AddressId>, created: Option<AddressId>) -> Self {
        Self {
            hash: tx.hash,
            block_number: tx.block_number,
            from,
            to,
            created,
            value: tx.value,
            nonce: tx.nonce,
            gas_used: tx.gas_used,
            gas_limit: tx.gas_limit,
            cumulative_gas_used: tx.cumulative_gas_used,
            gas_price: tx.gas_price,
            charges: tx.charges.clone(),
            succeeded: tx.succeeded,
            status_known: tx.status_known,
            method: tx.method,
            input: tx.input.clone(),
        }
    }

    /// The transaction at a position in its block.
    pub(crate) fn into_transaction(
        self,
        index: u32,
        block: &BlockRow,
        address: impl Fn(AddressId) -> Result<Address, StoreError>,
    ) -> Result<Transaction, StoreError> {
        Ok(Transaction {
            hash: self.hash,
            block_number: self.block_number,
            block_hash: block.hash,
            index,
            timestamp: block.timestamp,
            from: address(self.from)?,
            to: self.to.map(&address).transpose()?,
            created: self.created.map(&address).transpose()?,
            value: self.value,
            nonce: self.nonce,
            gas_used: self.gas_used,
            gas_limit: self.gas_limit,
            cumulative_gas_used: self.cumulative_gas_used,
            gas_price: self.gas_price,
            charges: self.charges,
            succeeded: self.succeeded,
            status_known: self.status_known,
            method: self.method,
            input: self.input,
        })
    }

    pub(crate) fn to_row(&self) -> Vec<u8> {
        let mut row = RowWriter::with_capacity(88 + self.input.as_ref().map_or(0, |input| input.len()));
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        row.byte(
            flag(self.succeeded, SUCCEEDED)
                | flag(self.to.is_some(), HAS_RECEIVER)
                | flag(self.created.is_some(), CREATED)
                | flag(self.method.is_some(), HAS_METHOD)
                | flag(self.charges.is_some(), HAS_CHARGES)
                | flag(!self.status_known, STATUS_UNKNOWN),
        );
        row.bytes(self.hash.as_slice());
        row.varint(self.block_number);
        row.varint(self.from);
        for id in [self.to, self.created].into_iter().flatten() {
            row.varint(id);
        }
        if let Some(method) = self.method {
            row.bytes(&method);
        }
        row.amount(&self.value);
        row.varint(self.nonce);
        row.varint(self.gas_used);
        row.option(self.gas_limit);
        row.option(self.cumulative_gas_used);
        row.varint(self.gas_price);
        if let Some(charges) = &self.charges {
            row.charges(charges);
        }
        row.option(self.input.as_ref().map(|input| input.len() as u64));
        if let Some(input) = &self.input {
            // The selector is in the row already, and what follows it is words.
            row.words(input.get(self.selector_len()..).unwrap_or_default());
        }
        row.finish()
    }

    pub(crate) fn from_row(row: &[u8]) -> Result<Self, StoreError> {
        let mut row = RowReader::new(row);
        let flags = row.byte()?;
        if flags & !FLAGS != 0 {
            return Err(StoreError::Corrupt("a transaction of an unknown form"));
        }
        let has = |flag: u8| flags & flag != 0;
        let mut read = Self {
            succeeded: has(SUCCEEDED),
            status_known: !has(STATUS_UNKNOWN),
            hash: row.hash()?,
            block_number: row.varint()?,
            from: row.varint()?,
            to: has(HAS_RECEIVER).then(|| row.varint()).transpose()?,
            created: has(CREATED).then(|| row.varint()).transpose()?,
            method: has(HAS_METHOD).then(|| row.array()).transpose()?,
            value: row.amount()?,
            nonce: row.varint()?,
            gas_used: row.varint()?,
            gas_limit: row.option()?,
            cumulative_gas_used: row.option()?,
            gas_price: row.wide_varint()?,
            charges: has(HAS_CHARGES).then(|| row.charges().map(Box::new)).transpose()?,
            input: None,
        };
        if let Some(size) = row.option()? {
            read.input = Some(read.read_input(row.rest(), size)?);
        }
        Ok(read)
    }

    /// Bytes of the input that the selector has.
    fn selector_len(&self) -> usize {
        self.method.map_or(0, |method| method.len())
    }

    fn read_input(&self, packed: &[u8], size: u64) -> Result<Bytes, StoreError> {
        let corrupt = || StoreError::Corrupt("the input of a transaction is not of its size");
        let rest = usize::try_from(size).ok().and_then(|size| size.checked_sub(self.selector_len()));
        let rest = rest.filter(|rest| *rest <= Transaction::MAX_INPUT).and_then(|rest| u32::try_from(rest).ok());
        let words = log_data::unpack(packed, rest.ok_or_else(corrupt)?).ok_or_else(corrupt)?;
        Ok(self.method.into_iter().flatten().chain(words).collect())
    }
}

impl RowWriter {
    /// 0 if absent, else the number plus one.
    fn option(&mut self, number: Option<u64>) {
        self.varint(number.map_or(0, |number| u128::from(number) + 1));
    }

    fn charges(&mut self, charges: &Charges) {
        let Charges { blob, l1, operator, payment } = charges;
        match payment {
            Payment::Coin => self.byte(PAID_IN_COIN),
            Payment::Token(token) => {
                self.byte(PAID_IN_TOKEN);
                self.bytes(token.as_slice());
            }
            Payment::Nothing => self.byte(PAID_BY_NOBODY),
        }
        for amount in [blob, l1, operator] {
            self.amount(amount);
        }
    }
}

impl RowReader<'_> {
    fn option(&mut self) -> Result<Option<u64>, StoreError> {
        let number = self.wide_varint()?;
        let number = number.checked_sub(1).map(u64::try_from).transpose();
        number.map_err(|_| StoreError::Corrupt("a number of more than 64 bits"))
    }

    fn charges(&mut self) -> Result<Charges, StoreError> {
        let payment = match self.byte()? {
            PAID_IN_COIN => Payment::Coin,
            PAID_IN_TOKEN => Payment::Token(self.address()?),
            PAID_BY_NOBODY => Payment::Nothing,
            _ => return Err(StoreError::Corrupt("an unknown payment of a transaction")),
        };
        Ok(Charges { payment, blob: self.amount()?, l1: self.amount()?, operator: self.amount()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_that_is_not_known_is_damage() {
        let row = TransactionRow::new(&Transaction::sample(), 1, Some(2), None);
        let bytes = row.to_row();
        assert_eq!(TransactionRow::from_row(&bytes).unwrap(), row);
        for flag in [0x40, 0x80] {
            let mut damaged = bytes.clone();
            damaged[0] |= flag;
            let read = TransactionRow::from_row(&damaged);
            assert!(matches!(read, Err(StoreError::Corrupt(_))), "{flag}: {read:?}");
        }
    }
}
