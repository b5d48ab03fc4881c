//! How a block, a transaction, an address and an account stand on disk.

mod account;
mod address;
mod block;
mod transaction;

pub(crate) use account::{account_from_row, account_to_row};
pub(crate) use address::AddressRow;
pub(crate) use block::{BlockRow, Totals};
pub(crate) use transaction::TransactionRow;
