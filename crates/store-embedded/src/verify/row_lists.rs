//! The lists that a row belongs to, from the row alone and those that it refers to. Which transactions involve an address otherwise,
//! and internal transactions, do not follow from rows.

use store::StoreError;

use super::list_sums::ListSums;
use crate::{
    engine::View,
    keys::{Key, ListKind, TOPIC_LISTS, Table, number_in_key},
    lists::{Entry, Roles},
    rows::{
        BlockRow, LogRow, LogSource, NftRow, PoolRow, TokenRow, TradeRow, TransactionRow, TransferRow, exchange_list,
    },
};

/// Tables whose rows are in lists, the tables that they refer to, and the kinds of lists.
pub(super) const SOURCES: &[(Table, &[Table], &[ListKind])] = &[
    (Table::Block, &[], &[ListKind::Mined]),
    (Table::Transaction, &[], &[ListKind::Transactions]),
    (
        Table::Transfer,
        &[Table::Token, Table::NftId],
        &[ListKind::TokenTransfers, ListKind::Transfers, ListKind::NftTransfers],
    ),
    (
        Table::Trade,
        &[Table::Transaction, Table::Pool],
        &[ListKind::MakerTrades, ListKind::PoolTrades, ListKind::V2Trades, ListKind::V3Trades],
    ),
    (
        Table::Log,
        &[Table::LogSource],
        &[
            ListKind::EmitterLogs,
            ListKind::SourceLogs,
            ListKind::Topic0Logs,
            ListKind::Topic1Logs,
            ListKind::Topic2Logs,
            ListKind::Topic3Logs,
        ],
    ),
    (Table::Nft, &[], &[ListKind::TokenNfts]),
];

/// Adds the entries of a row.
pub(super) fn expect(view: &View, table: Table, id: u64, row: &[u8], sums: &mut ListSums) -> Result<(), StoreError> {
    let entry = Entry { id, roles: Roles::NONE };
    match table {
        Table::Block => sums.expect(ListKind::Mined.of(BlockRow::from_row(row)?.miner), entry),
        Table::Transaction => {
            let row = TransactionRow::from_row(row)?;
            expect_parties(ListKind::Transactions, id, row.from, row.to, sums);
        }
        Table::Transfer => {
            let row = TransferRow::from_row(row)?;
            sums.expect(ListKind::TokenTransfers.of(row.token), entry);
            expect_parties(ListKind::Transfers, id, row.from, Some(row.to), sums);
            if let Some(token_id) = row.token_id
                && TokenRow::from_row(&referred(view, Table::Token, &Key::id(row.token))?)?.kind == row.kind
            {
                let nft = referred(view, Table::NftId, &Key::nft(row.token, &token_id))?;
                sums.expect(ListKind::NftTransfers.of(number_in_key(&nft, 0)?), entry);
            }
        }
        Table::Trade => {
            let row = TradeRow::from_row(row)?;
            let maker = TransactionRow::from_row(&referred(view, Table::Transaction, &Key::id(row.tx))?)?.from;
            let pool = PoolRow::from_row(&referred(view, Table::Pool, &Key::id(row.pool))?)?;
            sums.expect(ListKind::MakerTrades.of(maker), entry);
            sums.expect(ListKind::PoolTrades.of(row.pool), entry);
            sums.expect(exchange_list(pool.style).of(pool.factory), entry);
        }
        Table::Log => {
            let row = LogRow::from_row(row)?;
            let source = LogSource::from_row(&referred(view, Table::LogSource, &Key::id(row.source))?)?;
            sums.expect(ListKind::EmitterLogs.of(source.emitter), entry);
            sums.expect(ListKind::SourceLogs.of(row.source), entry);
            for (list, topic) in TOPIC_LISTS.into_iter().zip(source.topic.into_iter().chain(row.topics)) {
                sums.expect(list.of(topic), entry);
            }
        }
        Table::Nft => sums.expect(ListKind::TokenNfts.of(NftRow::from_row(row)?.token), entry),
        _ => {}
    }
    Ok(())
}

fn expect_parties(kind: ListKind, id: u64, from: u64, to: Option<u64>, sums: &mut ListSums) {
    let roles = Roles { from: true, to: to == Some(from) };
    sums.expect(kind.of(from), Entry { id, roles });
    if let Some(to) = to.filter(|to| *to != from) {
        sums.expect(kind.of(to), Entry { id, roles: Roles { from: false, to: true } });
    }
}

fn referred(view: &View, table: Table, key: &Key) -> Result<Vec<u8>, StoreError> {
    let row = view.get(table, key)?.ok_or(StoreError::Corrupt("it is missing"))?;
    Ok(row.to_vec())
}
