//! Sweeps over all known holders of a token, after the source of its balances changed.

use std::collections::BTreeSet;

use domain::{BalanceSource, BlockNumber};
use store::{StoreError, fetch_policy};

use super::overwrite::Overwrites;
use crate::{
    engine::{Batch, Engine, View},
    keys::{AddressId, Key, Pair, Table, id_bytes, number_in_key},
    meta,
    rows::TokenRow,
};

/// Starts a sweep for tokens whose balance source changed.
pub(super) fn sweep_where_source_changed(overwrites: &Overwrites<'_>, batch: &mut Batch) -> Result<(), StoreError> {
    for (key, change) in overwrites.changes(Table::Token) {
        let source = |row: &Option<Vec<u8>>| -> Result<Option<BalanceSource>, StoreError> {
            row.as_ref().map(|row| TokenRow::from_row(row).map(|row| row.balance_source)).transpose()
        };
        if fetch_policy::needs_sweep(source(&change.before)?, source(&change.now)?) {
            begin_sweep(batch, number_in_key(key.as_slice(), 0)?);
        }
    }
    Ok(())
}

/// A balance has to be fetched, at a block or later.
pub(super) fn mark_balance_pending(batch: &mut Batch, pair: &Key, since: BlockNumber) {
    batch.put(Table::PendingBalance, pair, Key::block(since).as_slice());
}

/// Starts a sweep over all known holders of a token, after its balance source changed.
pub(super) fn begin_sweep(batch: &mut Batch, token: AddressId) {
    batch.put(Table::Sweep, &Key::id(token), id_bytes(0).as_slice());
}

/// Queues some holders of swept tokens for fetching and ranking. Returns how many; 0 when no sweep is left.
pub(super) fn advance_sweep(engine: &Engine, limit: usize) -> Result<usize, StoreError> {
    loop {
        let view = engine.view();
        let Some((key, cursor)) = view.prefix(Table::Sweep, &Key::EMPTY).next().transpose()? else { return Ok(0) };
        let swept = sweep_some(engine, &view, number_in_key(&key, 0)?, number_in_key(&cursor, 0)?, limit)?;
        if swept > 0 {
            return Ok(swept);
        }
    }
}

fn sweep_some(
    engine: &Engine,
    view: &View,
    token: AddressId,
    first: AddressId,
    limit: usize,
) -> Result<usize, StoreError> {
    let token_key = Key::id(token);
    let tip = meta::find_tip(view)?.ok_or(StoreError::Corrupt("a sweep without a tip"))?;
    let mut holders = BTreeSet::new();
    for table in [Table::Balance, Table::TouchedHolder] {
        let from = Key::balance(Pair { token, holder: first });
        for row in view.range_from(table, &from, &token_key).take(limit) {
            holders.insert(Pair::from_key(&row?.0)?.holder);
        }
    }
    let mut batch = engine.batch();
    // Each table returned its lowest ids, so the lowest of both together are complete.
    let step: Vec<AddressId> = holders.into_iter().take(limit).collect();
    for holder in &step {
        let key = Key::balance(Pair { token, holder: *holder });
        batch.put(Table::Unranked, &key, []);
        mark_balance_pending(&mut batch, &key, tip.block.number);
    }
    match step.last() {
        Some(last) if step.len() >= limit => batch.put(Table::Sweep, &token_key, id_bytes(last + 1).as_slice()),
        _ => batch.delete(Table::Sweep, &token_key),
    }
    batch.commit()?;
    Ok(step.len())
}
