use alloy_primitives::{B256, U256};
use domain::{Address, BlockNumber, Charges, Payment, Selector, Transaction};
use store::StoreError;

use super::block::BlockRow;
use crate::{
    codec::{RowReader, RowWriter},
    keys::AddressId,
};

/// Increased by every change of these rows that other versions cannot read.
pub(super) const LAYOUT: u32 = 0;

const SUCCEEDED: u8 = 1;
const HAS_RECEIVER: u8 = 2;
const CREATED: u8 = 4;
const HAS_METHOD: u8 = 8;
const HAS_CHARGES: u8 = 16;

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
    pub(crate) gas_price: u128,
    pub(crate) charges: Option<Box<Charges>>,
    pub(crate) succeeded: bool,
    pub(crate) method: Option<Selector>,
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
            gas_price: tx.gas_price,
            charges: tx.charges.clone(),
            succeeded: tx.succeeded,
            method: tx.method,
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
            gas_price: self.gas_price,
            charges: self.charges,
            succeeded: self.succeeded,
            method: self.method,
        })
    }

    pub(crate) fn to_row(&self) -> Vec<u8> {
        let mut row = RowWriter::with_capacity(80);
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        row.byte(
            flag(self.succeeded, SUCCEEDED)
                | flag(self.to.is_some(), HAS_RECEIVER)
                | flag(self.created.is_some(), CREATED)
                | flag(self.method.is_some(), HAS_METHOD)
                | flag(self.charges.is_some(), HAS_CHARGES),
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
        row.varint(self.gas_price);
        if let Some(charges) = &self.charges {
            row.charges(charges);
        }
        row.finish()
    }

    pub(crate) fn from_row(row: &[u8]) -> Result<Self, StoreError> {
        let mut row = RowReader::new(row);
        let flags = row.byte()?;
        let has = |flag: u8| flags & flag != 0;
        Ok(Self {
            succeeded: has(SUCCEEDED),
            hash: row.hash()?,
            block_number: row.varint()?,
            from: row.varint()?,
            to: has(HAS_RECEIVER).then(|| row.varint()).transpose()?,
            created: has(CREATED).then(|| row.varint()).transpose()?,
            method: has(HAS_METHOD).then(|| row.array()).transpose()?,
            value: row.amount()?,
            nonce: row.varint()?,
            gas_used: row.varint()?,
            gas_price: row.wide_varint()?,
            charges: has(HAS_CHARGES).then(|| row.charges().map(Box::new)).transpose()?,
        })
    }
}

impl RowWriter {
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
