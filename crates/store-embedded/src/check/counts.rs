//! Every row is of the form of its table, and there are as many rows as the totals say.

use domain::{Balance, TokenKind};

use super::{Check, Faults, Total, row_forms, scan, total_of};
use crate::{
    keys::{Key, Pair, Table, number_in_key},
    rows::{TokenRow, balance_from_row},
};

/// Tables with one row for each row of another, and the total of these.
const LOOKUPS: [(Table, Total); 7] = [
    (Table::TransactionByHash, |totals| totals.transactions),
    (Table::AddressId, |totals| totals.addresses),
    (Table::LogTopicId, |totals| totals.log_topics),
    (Table::LogSourceId, |totals| totals.log_sources),
    (Table::NftId, |totals| totals.nfts),
    (Table::ApprovalId, |totals| totals.approvals),
    (Table::Token, |totals| totals.tokens),
];

/// Whether all rows can be read and are of the right form.
pub(super) fn check_table(check: &mut Check<'_>, table: Table) -> bool {
    let (mut rows, mut expected, mut invalid, mut missing) = (0, 0, Faults::default(), Faults::default());
    let numbered = total_of(table);
    let gap = scan(check.view, table, |key, row| {
        rows += 1;
        let id = match numbered.map(|_| number_in_key(key, 0)).transpose() {
            Ok(id) => id,
            Err(error) => return invalid.add(None, || format!("a key of the table {table:?} is invalid: {error}")),
        };
        if let Err(error) = row_forms::check(table, row) {
            invalid.add(None, || match id {
                Some(id) => format!("row {id} of the table {table:?} is invalid: {error}"),
                None => format!("a row of the table {table:?} is invalid: {error}"),
            });
        }
        if let Some(id) = id {
            if id != expected {
                missing.add(None, || {
                    format!("rows {expected} to {} of the table {table:?} are missing", id.saturating_sub(1))
                });
            }
            expected = id + 1;
        }
    });
    let is_valid = invalid.listed.is_empty();
    check.add_all(table, invalid);
    check.add_all(table, missing);
    if let Some(gap) = gap {
        check.add_gap(table, &gap);
        return false;
    }
    match (table, check.tip) {
        (Table::Block, _) => check.found.blocks = rows,
        (Table::Transaction, _) => check.found.transactions = rows,
        _ => {}
    }
    let Some(tip) = check.tip else { return is_valid };
    let lookup = LOOKUPS.iter().find(|(lookup, _)| *lookup == table).map(|(_, total)| *total);
    let total = match table {
        Table::Block | Table::BlockByHash => Some(tip.block.number - tip.start_block + 1),
        _ => numbered.or(lookup).map(|total| total(&tip.totals)),
    };
    if let Some(total) = total.filter(|total| *total != rows) {
        check.add(table, format!("the table {table:?} has {rows} rows, but should have {total}"), None);
    }
    is_valid
}

/// The number of holders of each token is that of its balances above zero, and those of a fungible one have what it counts.
pub(super) fn check_holders(check: &mut Check<'_>) {
    let view = check.view;
    let (mut faults, mut invalid_keys, mut counted) =
        (Faults::default(), Faults::default(), None::<(u64, u64, Balance)>);
    let mut compare = |counted: Option<(u64, u64, Balance)>| {
        let Some((token, holders, held)) = counted else { return };
        let row = scan::contain(|| view.get(Table::Token, &Key::id(token)));
        // Balances of a token may be known before its first transfer.
        let Ok(Some(Ok(row))) = row.map(|row| row.map(|row| TokenRow::from_row(&row))) else { return };
        if row.holder_count != holders {
            let stored = row.holder_count;
            faults.add(None, || {
                format!("the token with id {token} has {stored} holders, but {holders} balances above zero")
            });
        }
        if row.kind == TokenKind::Bep20 && row.held != held {
            let stored = row.held;
            faults.add(None, || {
                format!("the holders of the token with id {token} have {stored}, but {held} by balances")
            });
        }
    };
    scan(view, Table::Balance, |key, row| {
        let Ok(Pair { token, .. }) = Pair::from_key(key) else {
            invalid_keys.add(None, || "a balance with a key of an invalid length".to_owned());
            return;
        };
        if counted.is_none_or(|(last, ..)| last != token) {
            compare(counted.replace((token, 0, Balance::ZERO)));
        }
        // An invalid row is a fault of its own.
        if let (Ok(balance), Some((_, holders, held))) = (balance_from_row(row), &mut counted) {
            *holders += u64::from(!balance.is_zero());
            *held = held.saturating_add(balance);
        }
    });
    compare(counted);
    check.add_all(Table::Token, faults);
    check.add_all(Table::Balance, invalid_keys);
}
