//! The encoding of rows on disk.

mod account;
mod address;
mod approval;
mod block;
mod code_hash;
mod creation;
mod credit;
mod failure;
mod internal;
mod log;
mod nft;
mod nft_metadata;
mod pool;
mod token;
mod trade;
mod transaction;
mod transfer;

pub(crate) use account::{account_from_row, account_to_row};
pub(crate) use address::AddressRow;
pub(crate) use approval::ApprovalRow;
pub(crate) use block::BlockRow;
pub(crate) use code_hash::code_hash_from_row;
pub(crate) use creation::CreationRow;
pub(crate) use credit::CreditRow;
pub(crate) use failure::{failure_from_row, failure_to_row};
pub(crate) use internal::InternalRow;
pub(crate) use log::{LogRow, LogSource, topic_from_row, topic_to_row};
pub(crate) use nft::NftRow;
pub(crate) use nft_metadata::{nft_metadata_from_row, nft_metadata_to_row};
pub(crate) use pool::PoolRow;
pub(crate) use token::{
    AuditRow, CallHolders, TokenRow, balance_from_row, balance_to_row, metadata_from_row, metadata_to_row,
};
pub(crate) use trade::TradeRow;
pub(crate) use transaction::TransactionRow;
pub(crate) use transfer::TransferRow;

/// Of the rows of the index.
pub(crate) const LAYOUT: u32 = account::LAYOUT
    + address::LAYOUT
    + approval::LAYOUT
    + block::LAYOUT
    + creation::LAYOUT
    + credit::LAYOUT
    + internal::LAYOUT
    + log::LAYOUT
    + nft::LAYOUT
    + nft_metadata::LAYOUT
    + pool::LAYOUT
    + token::LAYOUT
    + trade::LAYOUT
    + transaction::LAYOUT
    + transfer::LAYOUT;
