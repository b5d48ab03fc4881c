use domain::{Account, Code};
use store::StoreError;

use crate::codec::{RowReader, RowWriter};

/// Increased by every change of these rows that other versions cannot read.
pub(super) const LAYOUT: u32 = 0;

const NO_CODE: u8 = 0;
const CONTRACT: u8 = 1;
const DELEGATION: u8 = 2;

pub(crate) fn account_to_row(account: &Account) -> Vec<u8> {
    let mut row = RowWriter::with_capacity(64);
    row.amount(&account.balance);
    row.varint(account.nonce);
    row.varint(account.block);
    match account.code {
        Code::None => row.byte(NO_CODE),
        Code::Contract { hash } => {
            row.byte(CONTRACT);
            row.bytes(hash.as_slice());
        }
        Code::Delegation { target } => {
            row.byte(DELEGATION);
            row.bytes(target.as_slice());
        }
    }
    row.finish()
}

pub(crate) fn account_from_row(row: &[u8]) -> Result<Account, StoreError> {
    let mut row = RowReader::new(row);
    Ok(Account {
        balance: row.amount()?,
        nonce: row.varint()?,
        block: row.varint()?,
        code: match row.byte()? {
            NO_CODE => Code::None,
            CONTRACT => Code::Contract { hash: row.hash()? },
            DELEGATION => Code::Delegation { target: row.address()? },
            _ => return Err(StoreError::Corrupt("an account with code of an unknown kind")),
        },
    })
}
