use alloy_primitives::{Address, U256};
use domain::ApprovalScope;
use store::StoreError;

use crate::{
    codec::{RowReader, RowWriter},
    keys::{AddressId, TxId},
};

/// Increased by every change of these rows that other versions cannot read.
pub(super) const LAYOUT: u32 = 0;

/// An approval as its last event says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ApprovalRow {
    pub(crate) token: AddressId,
    pub(crate) owner: AddressId,
    /// Not an id: a spender may be in no transaction.
    pub(crate) spender: Address,
    pub(crate) scope: ApprovalScope,
    /// 0 if it is revoked.
    pub(crate) value: U256,
    /// The transaction of the last event.
    pub(crate) tx: TxId,
}

impl ApprovalRow {
    pub(crate) fn is_given(&self) -> bool {
        !self.value.is_zero()
    }

    pub(crate) fn to_row(self) -> Vec<u8> {
        let mut row = RowWriter::with_capacity(48);
        row.byte(match self.scope {
            ApprovalScope::Amount => 0,
            ApprovalScope::Id(_) => 1,
            ApprovalScope::All => 2,
        });
        row.varint(self.token);
        row.varint(self.owner);
        row.bytes(self.spender.as_slice());
        row.varint(self.tx);
        row.amount(&self.value);
        if let ApprovalScope::Id(id) = self.scope {
            row.amount(&id);
        }
        row.finish()
    }

    pub(crate) fn from_row(row: &[u8]) -> Result<Self, StoreError> {
        let mut row = RowReader::new(row);
        let scope = row.byte()?;
        let (token, owner, spender) = (row.varint()?, row.varint()?, row.address()?);
        let (tx, value) = (row.varint()?, row.amount()?);
        let scope = match scope {
            0 => ApprovalScope::Amount,
            1 => ApprovalScope::Id(row.amount()?),
            2 => ApprovalScope::All,
            _ => return Err(StoreError::Corrupt("an approval of an unknown scope")),
        };
        Ok(Self { token, owner, spender, scope, value, tx })
    }
}
