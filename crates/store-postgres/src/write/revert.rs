use std::collections::{BTreeMap, BTreeSet};

use deadpool_postgres::Transaction;
use domain::{Address, Balance, BalanceSource, BlockNumber, BlockRef};
use store::{
    ChainTotals, StoreError, fetch_policy,
    rules::{count_amount, count_balance},
};
use tokio_postgres::Row;

use super::{
    approvals, codes,
    holders::{self, Marks, count_call_balance},
    internal,
    nfts::{self, Change},
    pairs::{Pair, split},
    state::WriteState,
};
use crate::{
    chain::{Chain, TOTALS},
    database::{execute, find, get, query},
    error::store_error,
    lists::{AddressId, ListTable},
    locks,
    numeric::Numeric,
    ranks::RankMoves,
    rows::{RowExt, int8},
    tokens::{self, TokenRow},
};

impl WriteState {
    /// Reverts every block above `number`. Returns whether there was one.
    pub(crate) async fn revert_to(&mut self, tx: &Transaction<'_>, number: BlockNumber) -> Result<bool, StoreError> {
        query(tx, "select pg_advisory_xact_lock($1)", &[&locks::LISTING]).await?;
        let mut chain = Chain::read(tx).await?;
        let (Some(tip), Some(first)) = (chain.tip, chain.first_block) else { return Ok(false) };
        if number >= tip.number {
            return Ok(false);
        }
        let oldest = chain.oldest_revertible().unwrap_or(first);
        if number < oldest {
            return Err(StoreError::BeyondUndo { target: number, oldest });
        }
        // Rows are found by their place at the end of the tables, which statistics may not know yet.
        let settings =
            "set local enable_seqscan = off; set local enable_hashjoin = off; set local enable_mergejoin = off";
        tx.batch_execute(settings).await.map_err(store_error)?;
        let hash = get(tx, "select hash from block where number = $1", &[&int8(number)]).await?.hash(0)?;
        let sql = format!("select {TOTALS} from block where number = $1");
        let kept = get(tx, &sql, &[&int8(number + 1)]).await?.totals(0)?;

        let held_ids = nfts::revert(tx, &kept).await?;
        approvals::revert(tx, &kept, number).await?;
        revert_balances(tx, &kept, number, &held_ids).await?;
        codes::mark_reverted(tx, &kept, number).await?;
        codes::drop_codes(tx, kept.addresses).await?;
        internal::revert(tx, number).await?;
        delete_rows(tx, &kept, number).await?;
        chain.tip = Some(BlockRef { number, hash });
        chain.totals = kept;
        chain.undo_first = chain.undo_first.filter(|first| *first <= number);
        chain.write(tx).await?;
        self.clear();
        Ok(true)
    }
}

/// A balance that the reverted blocks may have changed.
struct MovedBalance {
    pair: Pair,
    before: Balance,
    now: Balance,
    first_transfer: Option<u64>,
    first_touch: Option<BlockNumber>,
    call_amount: Option<Balance>,
    ranked: Balance,
}

impl MovedBalance {
    fn from_row(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            pair: Pair { token: row.u64(0)?, holder: row.u64(1)? },
            before: row.value::<Numeric>(2)?.0,
            now: row.value::<Numeric>(3)?.0,
            first_transfer: row.option_u64(4)?,
            first_touch: row.option_u64(5)?,
            call_amount: row.value::<Option<Numeric>>(6)?.map(|amount| amount.0),
            ranked: row.value::<Option<Numeric>>(7)?.unwrap_or_default().0,
        })
    }
}

/// Subtracts the reverted transfers from balances and tokens, and marks what has to be fetched and ranked again.
async fn revert_balances(
    tx: &Transaction<'_>,
    kept: &ChainTotals,
    number: BlockNumber,
    held_ids: &BTreeMap<AddressId, Change<Balance>>,
) -> Result<(), StoreError> {
    let mut moved = moved_balances(tx, kept, number).await?;
    let sql = "select token, count(*), count(shortfall) from transfer where id >= $1 group by token";
    let mut counts: BTreeMap<AddressId, (u64, u64)> = BTreeMap::new();
    for row in query(tx, sql, &[&int8(kept.transfers)]).await? {
        counts.insert(row.u64(0)?, (row.u64(1)?, row.u64(2)?));
    }
    let mut touched: BTreeSet<AddressId> = moved.iter().map(|moved| moved.pair.token).collect();
    touched.extend(counts.keys());
    let before = tokens::load(tx, touched.iter().copied()).await?;
    let mut tokens = before.clone();
    for (id, (transfers, overdrafts)) in counts {
        let token = tokens.get_mut(&id).ok_or(StoreError::Corrupt("a transfer of an unknown token"))?;
        let uncounted = || StoreError::Corrupt("a token with more transfers than it counts");
        token.transfers = token.transfers.checked_sub(transfers).ok_or_else(uncounted)?;
        token.overdrafts = token.overdrafts.checked_sub(overdrafts).ok_or_else(uncounted)?;
        if token.transfers == 0 {
            tokens.remove(&id);
        }
    }
    let gone: Vec<i64> = touched.iter().filter(|id| !tokens.contains_key(id)).map(|id| int8(*id)).collect();
    add_touched_holders(tx, &gone, &mut moved).await?;

    let (mut marks, mut moves) = (Marks::default(), RankMoves::default());
    let (mut kept_rows, mut deleted) = (Vec::new(), Vec::new());
    for balance in &moved {
        let MovedBalance { pair, before, now, .. } = balance;
        let first_transfer = balance.first_transfer.filter(|first| *first < kept.transfers);
        let first_touch = balance.first_touch.filter(|first| *first <= number);
        let is_touched = first_transfer.is_some() || first_touch.is_some();
        let mut token = tokens.get_mut(&pair.token);
        if let Some(token) = &mut token {
            count_balance(*token, *before, *now)?;
        }
        match token {
            Some(token) if is_touched => {
                marks.unranked.insert(*pair);
                if token.balance_source() == BalanceSource::Calls {
                    marks.pending.insert(*pair, number);
                }
                kept_rows.push((balance, first_transfer, first_touch, true));
            }
            token => {
                // The holder has no relation to the token any more: its derived data is deleted.
                moves.move_holder(pair.token, pair.holder, balance.ranked, Balance::ZERO);
                if let Some(token) = token {
                    count_call_balance(token, balance.call_amount, None)?;
                }
                if is_touched {
                    kept_rows.push((balance, first_transfer, first_touch, false));
                }
                deleted.push((*pair, is_touched));
            }
        }
    }
    for (id, Change { before, now }) in held_ids {
        if let Some(token) = tokens.get_mut(id) {
            count_amount(token, *before, *now)?;
        }
    }
    write_kept(tx, &kept_rows).await?;
    delete_balances(tx, &deleted).await?;
    for (id, token) in &mut tokens {
        token.mark_pending(number);
        let source = before.get(id).map(TokenRow::source_by_events);
        if fetch_policy::needs_sweep(source, Some(token.source_by_events())) {
            token.begin_sweep();
        }
    }
    moves.write(tx).await?;
    let mut moves = RankMoves::default();
    for token in tokens.values_mut().filter(|token| token.balance_source() == BalanceSource::Calls) {
        holders::mark_drifting(tx, &mut marks, token, number).await?;
    }
    for (id, old) in &before {
        moves.move_token(old.address, Some(old.holder_count()), tokens.get(id).map(TokenRow::holder_count));
    }
    marks.write(tx).await?;
    moves.write(tx).await?;
    tokens::save(tx, tokens.values().collect::<Vec<_>>()).await?;
    execute(tx, "delete from token where id = any($1)", &[&gone]).await?;
    execute(tx, "delete from token_name where token = any($1)", &[&gone]).await?;
    Ok(())
}

async fn moved_balances(
    tx: &Transaction<'_>,
    kept: &ChainTotals,
    number: BlockNumber,
) -> Result<Vec<MovedBalance>, StoreError> {
    // The zero address is not a holder.
    let zero = find(tx, "select id from address where address = $1", &[&Address::ZERO.as_slice()]).await?;
    let zero = zero.map_or(Ok(-1), |row| row.value::<i64>(0))?;
    let sql = "select b.token, b.holder, b.amount, b.amount + m.change, b.first_transfer, b.first_touch, b.call_amount,
            b.ranked
        from (
            select token, holder, sum(change) as change from (
                select token, sender as holder,
                    case when sender = receiver then 0 else value - coalesce(shortfall, 0) end as change
                from transfer where id >= $1
                union all
                select token, receiver, case when sender = receiver then 0 else -value end from transfer where id >= $1
                union all
                select token, holder, 0 from touched_balance where block > $2
            ) every where holder <> $3 group by token, holder
        ) m join balance b on b.token = m.token and b.holder = m.holder";
    let rows = query(tx, sql, &[&int8(kept.transfers), &int8(number), &zero]).await?;
    rows.iter().map(MovedBalance::from_row).collect()
}

/// Other events may have touched holders before the contract was known as a token, and it is no longer one.
async fn add_touched_holders(
    tx: &Transaction<'_>,
    gone: &[i64],
    moved: &mut Vec<MovedBalance>,
) -> Result<(), StoreError> {
    if gone.is_empty() {
        return Ok(());
    }
    let sql = "select token, holder, amount, amount, first_transfer, first_touch, call_amount, ranked from balance
        where token = any($1) and first_touch is not null";
    let known: BTreeSet<Pair> = moved.iter().map(|moved| moved.pair).collect();
    for row in query(tx, sql, &[&gone]).await? {
        let balance = MovedBalance::from_row(&row)?;
        if !known.contains(&balance.pair) {
            moved.push(balance);
        }
    }
    Ok(())
}

/// A balance, its first transfer and its first other event, and whether data that follows from it is kept.
type KeptBalance<'a> = (&'a MovedBalance, Option<u64>, Option<BlockNumber>, bool);

async fn write_kept(tx: &Transaction<'_>, rows: &[KeptBalance<'_>]) -> Result<(), StoreError> {
    let (tokens, holders) = split(rows.iter().map(|(balance, ..)| &balance.pair));
    let amounts: Vec<Numeric> = rows.iter().map(|(balance, ..)| Numeric(balance.now)).collect();
    let first_transfers: Vec<Option<i64>> = rows.iter().map(|(_, transfer, ..)| transfer.map(int8)).collect();
    let first_touches: Vec<Option<i64>> = rows.iter().map(|(_, _, touch, _)| touch.map(int8)).collect();
    let is_kept: Vec<bool> = rows.iter().map(|(.., is_kept)| *is_kept).collect();
    let sql = "update balance b set amount = p.amount, first_transfer = p.first_transfer, first_touch = p.first_touch,
            call_amount = case when p.is_kept then b.call_amount end, ranked = case when p.is_kept then b.ranked end
        from unnest($1::int8[], $2::int8[], $3::numeric[], $4::int8[], $5::int8[], $6::boolean[])
            as p(token, holder, amount, first_transfer, first_touch, is_kept)
        where b.token = p.token and b.holder = p.holder";
    execute(tx, sql, &[&tokens, &holders, &amounts, &first_transfers, &first_touches, &is_kept]).await?;
    Ok(())
}

/// Deletes what follows from balances, and the balances themselves where no event is left.
async fn delete_balances(tx: &Transaction<'_>, deleted: &[(Pair, bool)]) -> Result<(), StoreError> {
    let (tokens, holders) = split(deleted.iter().map(|(pair, _)| pair));
    for table in ["unranked_balance", "pending_balance"] {
        let sql = format!(
            "delete from {table} b using unnest($1::int8[], $2::int8[]) as p(token, holder)
            where b.token = p.token and b.holder = p.holder"
        );
        execute(tx, &sql, &[&tokens, &holders]).await?;
    }
    let (tokens, holders) = split(deleted.iter().filter(|(_, is_touched)| !is_touched).map(|(pair, _)| pair));
    let sql = "delete from balance b using unnest($1::int8[], $2::int8[]) as p(token, holder)
        where b.token = p.token and b.holder = p.holder";
    execute(tx, sql, &[&tokens, &holders]).await?;
    Ok(())
}

async fn delete_rows(tx: &Transaction<'_>, kept: &ChainTotals, number: BlockNumber) -> Result<(), StoreError> {
    for list in ListTable::all() {
        // Internal transactions are reverted with their rows.
        let Some(cut) = list.kind().first_entry(kept, number + 1) else { continue };
        let sql = format!("delete from {}_run where first >= $1::int8 << 2", list.name());
        execute(tx, &sql, &[&int8(cut)]).await?;
    }
    let (next, transactions) = (int8(number + 1), int8(kept.transactions));
    for (sql, first) in [
        ("delete from block where number >= $1", next),
        ("delete from pool where first_block >= $1", next),
        ("delete from touched_balance where block >= $1", next),
        ("delete from transaction where id >= $1", transactions),
        ("delete from creation where transaction >= $1", transactions),
        ("delete from transfer where id >= $1", int8(kept.transfers)),
        ("delete from trade where id >= $1", int8(kept.trades)),
        ("delete from log_pack where id >= $1", int8(kept.logs)),
        ("delete from log_topic where id >= $1", int8(kept.log_topics)),
        ("delete from log_source where id >= $1", int8(kept.log_sources)),
        ("delete from address where id >= $1", int8(kept.addresses)),
        ("delete from credit where id >= $1", int8(kept.credits)),
        ("delete from nft where id >= $1", int8(kept.nfts)),
    ] {
        execute(tx, sql, &[&first]).await?;
    }
    Ok(())
}
