//! The ranking of tokens, and of the holders of a token.

use domain::{Address, Balance};
use store::StoreError;

use super::{overwrite::Overwrites, state::WriteState, sweeps::advance_sweep};
use crate::{
    engine::{Batch, Engine, View},
    keys::{AddressId, Key, Pair, Table, id_bytes},
    ranked::{RankMoves, RankedSet, SortKey},
    rows::{balance_from_row, balance_to_row},
    token_status::{TokenStatus, find_balance_by, find_token_status},
};

/// Updates the ranks of tokens. `address` finds the address of an id, including ids of the batch.
pub(super) fn rerank_tokens(
    tokens: impl Iterator<Item = AddressId>,
    overwrites: &mut Overwrites<'_>,
    view: &View,
    batch: &mut Batch,
    address: impl Fn(AddressId) -> Result<Address, StoreError>,
) -> Result<(), StoreError> {
    let mut moves = RankMoves::default();
    for token in tokens {
        let address = address(token)?;
        let sort_key = |status: Option<TokenStatus>| {
            status.map(|status| SortKey::descending(&Balance::from(status.holder_count), address.as_slice()))
        };
        let before = sort_key(find_token_status(&mut &*view, token)?);
        let now = sort_key(find_token_status(overwrites, token)?);
        if before == now {
            continue;
        }
        if let Some(before) = before {
            moves.remove(batch, RankedSet::Tokens, &before);
        }
        if let Some(now) = now {
            moves.insert(batch, RankedSet::Tokens, &now);
        }
    }
    moves.write(view, batch)
}

impl WriteState {
    /// Updates the ranks of some holders to their current balances.
    pub(crate) fn rank_holders(engine: &Engine, limit: usize) -> Result<usize, StoreError> {
        let swept = advance_sweep(engine, limit)?;
        let view = engine.view();
        let (mut batch, mut moves, mut processed) = (engine.batch(), RankMoves::default(), 0);
        // The holders of a token follow each other.
        let mut last = None;
        for row in view.prefix(Table::Unranked, &Key::EMPTY).take(limit) {
            let (key, _) = row?;
            let pair = Pair::from_key(&key)?;
            let source = match last {
                Some((token, source)) if token == pair.token => source,
                _ => find_token_status(&mut &view, pair.token)?.map(|status| status.balance_source),
            };
            last = Some((pair.token, source));
            let now = find_balance_by(&mut &view, source, pair)?;
            rerank_holder(&view, &mut batch, &mut moves, pair, now)?;
            batch.delete(Table::Unranked, &Key::balance(pair));
            processed += 1;
        }
        moves.write(&view, &mut batch)?;
        batch.commit()?;
        Ok(processed + swept)
    }
}

/// Ranks a holder by a balance; a zero balance removes the rank.
pub(super) fn rerank_holder(
    view: &View,
    batch: &mut Batch,
    moves: &mut RankMoves,
    pair: Pair,
    now: Balance,
) -> Result<(), StoreError> {
    let row_key = Key::balance(pair);
    let before = match view.get(Table::RankedBalance, &row_key)? {
        Some(row) => balance_from_row(&row)?,
        None => Balance::ZERO,
    };
    if before == now {
        return Ok(());
    }
    let holders = RankedSet::Holders { token: pair.token };
    let held = RankedSet::HeldTokens { holder: pair.holder };
    let held_key = SortKey::descending(&Balance::ZERO, &id_bytes(pair.token));
    let sort_key = |balance: &Balance| SortKey::descending(balance, &id_bytes(pair.holder));
    if before.is_zero() {
        moves.insert(batch, held, &held_key);
    } else {
        moves.remove(batch, holders, &sort_key(&before));
    }
    if now.is_zero() {
        moves.remove(batch, held, &held_key);
        batch.delete(Table::RankedBalance, &row_key);
    } else {
        moves.insert(batch, holders, &sort_key(&now));
        batch.put(Table::RankedBalance, &row_key, balance_to_row(&now));
    }
    Ok(())
}
