//! The tables of what blocks contain. How a row is written and how it is read stand in one file: both name all columns.

mod block;
mod credit;
mod internal_transaction;
mod trade;
mod transaction;
mod transfer;

pub(crate) use self::{
    block::{BLOCK, BlockCopy, block_from_row, copy_blocks},
    credit::{CREDITS, CreditCopy, copy_credits, credit_from_row},
    internal_transaction::{INTERNAL, InternalCopy, copy_internal_transactions, internal_from_row},
    trade::{PoolCopy, TRADES, TradeCopy, copy_pools, copy_trades, trade_from_row},
    transaction::{TRANSACTIONS, TransactionCopy, copy_transactions, transaction_from_row},
    transfer::{TRANSFERS, TransferCopy, copy_transfers, transfer_from_row},
};

/// The rows of a page: `select`s columns after the total and the id, from the rows `{rows}` of `page.ids`, as `u.id` in the
/// order of `u.n`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows {
    pub(crate) columns: &'static str,
    pub(crate) joins: &'static str,
}

impl Rows {
    pub(crate) fn statement(self, page: &str) -> String {
        let Self { columns, joins } = self;
        format!(
            "with page as materialized ({page})
            select page.total, u.id, {columns} from page
            left join lateral unnest(page.ids) with ordinality u(id, n) on true {joins} order by u.n"
        )
    }
}
