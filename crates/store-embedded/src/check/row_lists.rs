//! The lists that a row belongs to, from the row alone and those that it refers to.

use store::{
    StoreError,
    rules::{
        Entries, lists_of_block, lists_of_credit, lists_of_log, lists_of_nft, lists_of_nft_transfer, lists_of_trade,
        lists_of_transaction, lists_of_transfer,
    },
};

use super::list_sums::ListSums;
use crate::{
    engine::View,
    keys::{Key, ListKind, Table, number_in_key},
    rows::{BlockRow, CreditRow, LogRow, LogSource, NftRow, PoolRow, TokenRow, TradeRow, TransactionRow, TransferRow},
};

/// Tables whose rows are in lists, the tables that they refer to, and the entries of these lists.
pub(super) const SOURCES: &[(Table, &[Table], Entries)] = &[
    (Table::Block, &[], Entries::Blocks),
    (Table::Transaction, &[], Entries::Transactions),
    (Table::Transfer, &[Table::Token, Table::NftId], Entries::Transfers),
    (Table::Trade, &[Table::Transaction, Table::Pool], Entries::Trades),
    (Table::Log, &[Table::LogSource], Entries::Logs),
    (Table::Nft, &[], Entries::Nfts),
    (Table::Credit, &[], Entries::Credits),
];

/// The lists with such entries, if they follow from rows: which transactions involve an address otherwise does not.
pub(super) fn kinds(entries: Entries) -> impl Iterator<Item = ListKind> {
    ListKind::ALL.iter().copied().filter(move |kind| kind.entries() == entries && *kind != ListKind::Involved)
}

/// Adds the entries of a row.
pub(super) fn expect(view: &View, table: Table, id: u64, row: &[u8], sums: &mut ListSums) -> Result<(), StoreError> {
    match table {
        Table::Block => sums.expect_in(lists_of_block(BlockRow::from_row(row)?.miner), id),
        Table::Transaction => {
            let row = TransactionRow::from_row(row)?;
            sums.expect_in(lists_of_transaction(row.from, row.to), id);
        }
        Table::Transfer => {
            let row = TransferRow::from_row(row)?;
            sums.expect_in(lists_of_transfer(row.token, row.from, row.to), id);
            if let Some(token_id) = row.token_id
                && TokenRow::from_row(&referred(view, Table::Token, &Key::id(row.token))?)?.kind == row.kind
            {
                let nft = referred(view, Table::NftId, &Key::nft(row.token, &token_id))?;
                sums.expect_in(lists_of_nft_transfer(number_in_key(&nft, 0)?), id);
            }
        }
        Table::Trade => {
            let row = TradeRow::from_row(row)?;
            let maker = TransactionRow::from_row(&referred(view, Table::Transaction, &Key::id(row.tx))?)?.from;
            let pool = PoolRow::from_row(&referred(view, Table::Pool, &Key::id(row.pool))?)?;
            sums.expect_in(lists_of_trade(maker, row.pool, pool.exchange()), id);
        }
        Table::Log => {
            let row = LogRow::from_row(row)?;
            let source = LogSource::from_row(&referred(view, Table::LogSource, &Key::id(row.source))?)?;
            let topics = source.topic.into_iter().chain(row.topics);
            sums.expect_in(lists_of_log(source.emitter, row.source, topics), id);
        }
        Table::Credit => {
            let row = CreditRow::from_row(row)?;
            sums.expect_in(lists_of_credit(row.source, row.to), id);
        }
        Table::Nft => sums.expect_in(lists_of_nft(NftRow::from_row(row)?.token), id),
        _ => {}
    }
    Ok(())
}

fn referred(view: &View, table: Table, key: &Key) -> Result<Vec<u8>, StoreError> {
    let row = view.get(table, key)?.ok_or(StoreError::Corrupt("it is missing"))?;
    Ok(row.to_vec())
}
