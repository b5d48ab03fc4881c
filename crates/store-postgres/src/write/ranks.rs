//! The ranking of the holders of a token.

use std::collections::BTreeSet;

use deadpool_postgres::Transaction;
use domain::{Balance, BalanceSource};
use store::StoreError;

use super::{
    holders::advance_sweep,
    pairs::{Pair, split},
};
use crate::{
    database::{execute, query},
    numeric::Numeric,
    ranks::RankMoves,
    rows::{RowExt, limit},
    tokens,
};

/// Updates the ranks of some holders to their current balances.
pub(crate) async fn rank_holders(tx: &Transaction<'_>, count: usize) -> Result<usize, StoreError> {
    let swept = advance_sweep(tx, count).await?;
    let sql = "select u.token, u.holder, b.amount, b.call_amount, b.ranked
        from (select * from unranked_balance order by token, holder limit $1) u
        left join balance b on b.token = u.token and b.holder = u.holder";
    let rows = query(tx, sql, &[&limit(count)]).await?;
    if rows.is_empty() {
        return Ok(swept);
    }
    let ids = rows.iter().map(|row| row.u64(0)).collect::<Result<BTreeSet<_>, _>>()?;
    let known = tokens::load(tx, ids).await?;
    let (mut moves, mut pairs, mut ranked, mut amounts) = (RankMoves::default(), Vec::new(), Vec::new(), Vec::new());
    for row in &rows {
        let pair = Pair { token: row.u64(0)?, holder: row.u64(1)? };
        let amount = |column: usize| -> Result<Balance, StoreError> {
            Ok(row.value::<Option<Numeric>>(column)?.unwrap_or_default().0)
        };
        let now = match known.get(&pair.token).map(tokens::TokenRow::balance_source) {
            None => Balance::ZERO,
            Some(BalanceSource::Events) => amount(2)?,
            Some(BalanceSource::Calls) => amount(3)?,
        };
        let before = amount(4)?;
        moves.move_holder(pair.token, pair.holder, before, now);
        if before != now {
            ranked.push(pair);
            amounts.push((!now.is_zero()).then_some(Numeric(now)));
        }
        pairs.push(pair);
    }
    moves.write(tx).await?;
    let (tokens, holders) = split(&ranked);
    let sql = "update balance b set ranked = p.ranked
        from unnest($1::int8[], $2::int8[], $3::numeric[]) as p(token, holder, ranked)
        where b.token = p.token and b.holder = p.holder";
    execute(tx, sql, &[&tokens, &holders, &amounts]).await?;
    let (tokens, holders) = split(&pairs);
    let sql = "delete from unranked_balance u using unnest($1::int8[], $2::int8[]) as p(token, holder)
        where u.token = p.token and u.holder = p.holder";
    execute(tx, sql, &[&tokens, &holders]).await?;
    Ok(rows.len() + swept)
}
