//! The totals of fees are the sums of what the transactions of each block paid.

use domain::{Fee, U256};
use store::{ChainTotals, StoreError};

use super::{Check, Faults, scan};
use crate::{
    keys::{Key, Table, number_in_key},
    meta::Tip,
    rows::{BlockRow, TransactionRow},
};

pub(super) fn check(check: &mut Check<'_>, tip: &Tip) {
    let (mut faults, mut last) = (Faults::default(), None::<(u64, BlockRow)>);
    let view = check.view;
    let mut compare = |last: Option<(u64, BlockRow)>, next: &ChainTotals| {
        let Some((number, row)) = last else { return };
        let (low, high) = (row.totals.transactions, next.transactions);
        let paid = scan::contain(|| {
            let rows = view.range(Table::Transaction, &Key::id(low), &Key::id(high));
            let paid = rows.map(|found| {
                let tx = TransactionRow::from_row(&found?.1)?;
                Ok(Fee::for_gas(tx.gas_used, tx.gas_price, tx.charges.as_deref(), row.base_fee_per_gas))
            });
            paid.collect::<Result<Vec<Fee>, StoreError>>()
        });
        // A row that cannot be read is a fault of its own.
        let Ok(paid) = paid else { return };
        let sum = |of: fn(&Fee) -> U256| paid.iter().map(of).fold(U256::ZERO, U256::wrapping_add);
        if row.totals.fees.wrapping_add(sum(Fee::in_coin)) != next.fees
            || row.totals.burnt_fees.wrapping_add(sum(Fee::burnt)) != next.burnt_fees
        {
            faults.add(Some(number..=number), || "the totals of fees do not match the transactions".to_owned());
        }
    };
    scan(view, Table::Block, |key, row| {
        let (Ok(number), Ok(row)) = (number_in_key(key, 0), BlockRow::from_row(row)) else { return };
        let next = row.totals;
        compare(last.replace((number, row)), &next);
    });
    compare(last, &tip.totals);
    check.add_all(Table::Block, faults);
}
