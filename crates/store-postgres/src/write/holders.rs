//! Balances that events do not give: detected by audits, then fetched from the contract.

use std::collections::{BTreeMap, BTreeSet};

use deadpool_postgres::Transaction;
use domain::{Address, AuditResult, AuditSample, Balance, BalanceKey, BalanceSource, BlockNumber, Holder, U256};
use store::{
    StoreError,
    fetch_policy::{self, Refetch},
};

use super::pairs::{Pair, split};
use crate::{
    chain::Chain,
    database::{execute, find, get, query},
    lists::AddressId,
    numeric::Numeric,
    ranks::{RankMoves, RankedSet, id_from_tie},
    rows::{RowExt, int8, limit},
    tokens::{self, Audit, TokenRow},
};

/// Balances to rank and to fetch.
#[derive(Debug, Default)]
pub(super) struct Marks {
    pub(super) unranked: BTreeSet<Pair>,
    /// With the block since which they are pending.
    pub(super) pending: BTreeMap<Pair, BlockNumber>,
}

impl Marks {
    pub(super) async fn write(&self, tx: &Transaction<'_>) -> Result<(), StoreError> {
        if !self.unranked.is_empty() {
            let (tokens, holders) = split(&self.unranked);
            let sql =
                "insert into unranked_balance select * from unnest($1::int8[], $2::int8[]) on conflict do nothing";
            execute(tx, sql, &[&tokens, &holders]).await?;
        }
        if !self.pending.is_empty() {
            let (tokens, holders) = split(self.pending.keys());
            let since: Vec<i64> = self.pending.values().map(|since| int8(*since)).collect();
            let sql = "insert into pending_balance select * from unnest($1::int8[], $2::int8[], $3::int8[])
                on conflict (token, holder) do update set since = excluded.since";
            execute(tx, sql, &[&tokens, &holders, &since]).await?;
        }
        Ok(())
    }
}

/// Marks balances as pending that may have changed without an event: those of a token that moved and whose events do not
/// give its balances.
pub(super) async fn mark_drifting(
    tx: &Transaction<'_>,
    marks: &mut Marks,
    token: &mut TokenRow,
    since: BlockNumber,
) -> Result<(), StoreError> {
    let largest = match fetch_policy::refetch_after_move(token.call_fetched) {
        Refetch::AllHolders => {
            token.begin_sweep();
            return Ok(());
        }
        Refetch::Largest(largest) => largest,
    };
    let set = RankedSet::Holders { token: token.id };
    let sql = "select tie from rank_page($1, $2, 0, $3, false)";
    let mut ranked = BTreeSet::new();
    for row in query(tx, sql, &[&set.kind(), &set.owner(), &limit(largest)]).await? {
        ranked.insert(Pair { token: token.id, holder: id_from_tie(row.value(0)?)? });
    }
    // The ranking lags behind: it may still contain a holder that no remaining event touched.
    let (tokens, holders) = split(&ranked);
    let sql = "select b.holder from unnest($1::int8[], $2::int8[]) as p(token, holder)
        join balance b on b.token = p.token and b.holder = p.holder
        where b.first_transfer is not null or b.first_touch is not null";
    for row in query(tx, sql, &[&tokens, &holders]).await? {
        let pair = Pair { token: token.id, holder: row.u64(0)? };
        marks.unranked.insert(pair);
        marks.pending.insert(pair, since);
    }
    Ok(())
}

pub(crate) async fn list_audits(tx: &Transaction<'_>, count: usize) -> Result<Vec<AuditSample>, StoreError> {
    let sql = "select t.id, a.address, t.transfers from token t join address a on a.id = t.id
        where t.is_audit_due order by t.id limit $1";
    let mut samples = Vec::new();
    for row in query(tx, sql, &[&limit(count)]).await? {
        let (token, address, transfers) = (row.u64(0)?, row.address(1)?, row.u64(2)?);
        let ranks: Vec<i64> = fetch_policy::audit_sample(transfers).into_iter().map(int8).collect();
        samples.push(AuditSample { token: address, holders: sample_holders(tx, token, &ranks).await? });
    }
    Ok(samples)
}

/// The parties of some transfers of a token, with their derived balances.
async fn sample_holders(tx: &Transaction<'_>, token: AddressId, ranks: &[i64]) -> Result<Vec<Holder>, StoreError> {
    let sql = "select a.address, coalesce(b.amount, 0) from (
            select distinct party.id from unnest($2::int8[]) r(rank)
            cross join lateral unnest(token_transfer_slice($1, 0, r.rank, r.rank + 1)) s(transfer)
            join transfer x on x.id = s.transfer
            cross join lateral (values (x.sender), (x.receiver)) party(id)
        ) p
        join address a on a.id = p.id
        left join balance b on b.token = $1 and b.holder = p.id
        where a.address <> $3 order by p.id";
    let rows = query(tx, sql, &[&int8(token), &ranks, &Address::ZERO.as_slice()]).await?;
    rows.iter().map(|row| Ok(Holder { address: row.address(0)?, balance: row.value::<Numeric>(1)?.0 })).collect()
}

pub(crate) async fn save_audits(
    tx: &Transaction<'_>,
    verdicts: &[(Address, AuditResult)],
    at: BlockNumber,
) -> Result<(), StoreError> {
    let ids = find_ids(tx, verdicts.iter().map(|(token, _)| *token)).await?;
    let mut tokens = tokens::load(tx, ids.values().copied()).await?;
    let mut moves = RankMoves::default();
    let next = find(tx, "select transfers from block where number = $1", &[&int8(at + 1)]).await?;
    let next_transfer = next.map(|row| row.u64(0)).transpose()?;
    for (address, verdict) in verdicts {
        let Some((id, token)) = ids.get(address).and_then(|id| Some((*id, tokens.get_mut(id)?))) else { continue };
        let transfers = match next_transfer {
            Some(next) => {
                let sql = "select token_transfer_rank($1, 0, $2)";
                get(tx, sql, &[&int8(id), &int8(next)]).await?.u64(0)?
            }
            None => token.transfers,
        };
        let (source, holders) = (token.balance_source(), token.holder_count());
        let result = fetch_policy::merge_audits(token.audit.map(|audit| audit.result), *verdict);
        token.audit = Some(Audit { result, block: at, transfers });
        // A token that moved meanwhile stays due.
        token.is_audit_due &= transfers < token.transfers && result == AuditResult::AddsUp;
        if fetch_policy::needs_sweep(Some(source), Some(token.balance_source())) {
            token.begin_sweep();
            moves.move_token(token.address, Some(holders), Some(token.holder_count()));
        }
    }
    tokens::save(tx, tokens.values().collect::<Vec<_>>()).await?;
    moves.write(tx).await
}

pub(crate) async fn list_pending_balances(tx: &Transaction<'_>, count: usize) -> Result<Vec<BalanceKey>, StoreError> {
    advance_sweep(tx, count).await?;
    let mut pending: Vec<BalanceKey> = Vec::new();
    let mut after: (i64, i64) = (-1, -1);
    while pending.len() < count {
        let sql = "select p.token, p.holder, t.address, h.address from pending_balance p
            join address t on t.id = p.token join address h on h.id = p.holder
            where (p.token, p.holder) > ($1, $2) order by p.token, p.holder limit $3";
        let rows = query(tx, sql, &[&after.0, &after.1, &limit(count)]).await?;
        let Some(last) = rows.last() else { break };
        after = (last.value(0)?, last.value(1)?);
        let tokens = rows.iter().map(|row| row.u64(0)).collect::<Result<BTreeSet<_>, _>>()?;
        let tokens = tokens::load(tx, tokens).await?;
        let mut obsolete = Vec::new();
        for row in &rows {
            let pair = Pair { token: row.u64(0)?, holder: row.u64(1)? };
            match tokens.get(&pair.token) {
                Some(token) if token.balance_source() == BalanceSource::Calls => {
                    if pending.len() < count {
                        pending.push(BalanceKey { token: row.address(2)?, holder: row.address(3)? });
                    }
                }
                // Its events give its balances after all: the block that showed otherwise was reverted.
                _ => obsolete.push(pair),
            }
        }
        delete_pending(tx, &obsolete).await?;
    }
    Ok(pending)
}

async fn delete_pending(tx: &Transaction<'_>, pairs: &[Pair]) -> Result<(), StoreError> {
    if pairs.is_empty() {
        return Ok(());
    }
    let (tokens, holders) = split(pairs);
    let sql = "delete from pending_balance b using unnest($1::int8[], $2::int8[]) as p(token, holder)
        where b.token = p.token and b.holder = p.holder";
    execute(tx, sql, &[&tokens, &holders]).await?;
    Ok(())
}

pub(crate) async fn save_balances(
    tx: &Transaction<'_>,
    balances: &[(BalanceKey, U256)],
    at: BlockNumber,
) -> Result<(), StoreError> {
    let Some(tip) = Chain::read(tx).await?.tip else { return Ok(()) };
    let ids = find_ids(tx, balances.iter().flat_map(|(key, _)| [key.token, key.holder])).await?;
    let mut fetched: BTreeMap<Pair, Balance> = BTreeMap::new();
    for (key, balance) in balances {
        if let (Some(token), Some(holder)) = (ids.get(&key.token), ids.get(&key.holder)) {
            fetched.insert(Pair { token: *token, holder: *holder }, Balance::from(*balance));
        }
    }
    let (tokens, holders) = split(fetched.keys());
    // Others are no longer pending: the block that made them pending was reverted.
    let sql = "select p.token, p.holder, p.since, b.call_amount from unnest($1::int8[], $2::int8[]) as w(token, holder)
        join pending_balance p on p.token = w.token and p.holder = w.holder
        left join balance b on b.token = p.token and b.holder = p.holder";
    let rows = query(tx, sql, &[&tokens, &holders]).await?;
    let moved = rows.iter().map(|row| row.u64(0)).collect::<Result<BTreeSet<_>, _>>()?;
    let mut known = tokens::load(tx, moved).await?;
    let before: BTreeMap<AddressId, u64> = known.iter().map(|(id, token)| (*id, token.holder_count())).collect();
    let (mut marks, mut done, mut stored) = (Marks::default(), Vec::new(), Vec::new());
    for row in &rows {
        let pair = Pair { token: row.u64(0)?, holder: row.u64(1)? };
        let Some(balance) = fetched.get(&pair) else { continue };
        if fetch_policy::is_up_to_date(at, row.u64(2)?, tip.number) {
            done.push(pair);
        }
        marks.unranked.insert(pair);
        stored.push((pair, Numeric(*balance)));
        if let Some(token) = known.get_mut(&pair.token) {
            count_call_balance(token, row.value::<Option<Numeric>>(3)?.map(|old| old.0), Some(*balance))?;
        }
    }
    delete_pending(tx, &done).await?;
    let (tokens, holders) = split(stored.iter().map(|(pair, _)| pair));
    let amounts: Vec<Numeric> = stored.iter().map(|(_, amount)| *amount).collect();
    let sql = "insert into balance (token, holder, call_amount)
        select * from unnest($1::int8[], $2::int8[], $3::numeric[])
        on conflict (token, holder) do update set call_amount = excluded.call_amount";
    execute(tx, sql, &[&tokens, &holders, &amounts]).await?;
    let mut moves = RankMoves::default();
    for (id, token) in &known {
        moves.move_token(token.address, before.get(id).copied(), Some(token.holder_count()));
    }
    tokens::save(tx, known.values().collect::<Vec<_>>()).await?;
    marks.write(tx).await?;
    moves.write(tx).await
}

/// Replaces one balance in the counts of fetched ones by another.
pub(super) fn count_call_balance(
    token: &mut TokenRow,
    old: Option<Balance>,
    new: Option<Balance>,
) -> Result<(), StoreError> {
    let holds = |balance: Option<Balance>| u64::from(balance.is_some_and(|balance| !balance.is_zero()));
    let change = |count: u64, old: u64, new: u64| {
        (count + new).checked_sub(old).ok_or(StoreError::Corrupt("a negative count of fetched balances"))
    };
    token.call_fetched = change(token.call_fetched, u64::from(old.is_some()), u64::from(new.is_some()))?;
    token.call_holding = change(token.call_holding, holds(old), holds(new))?;
    Ok(())
}

/// Queues some holders of swept tokens for fetching and ranking. Returns how many; 0 when no sweep is left.
pub(super) async fn advance_sweep(tx: &Transaction<'_>, count: usize) -> Result<usize, StoreError> {
    loop {
        let sql = "select id, sweep_from from token where sweep_from is not null order by id limit 1";
        let Some(row) = find(tx, sql, &[]).await? else { return Ok(0) };
        let swept = sweep_some(tx, row.u64(0)?, row.u64(1)?, count).await?;
        if swept > 0 {
            return Ok(swept);
        }
    }
}

async fn sweep_some(
    tx: &Transaction<'_>,
    token: AddressId,
    first: AddressId,
    count: usize,
) -> Result<usize, StoreError> {
    let tip = Chain::read(tx).await?.tip.ok_or(StoreError::Corrupt("a sweep without a tip"))?;
    let sql = "select holder from balance where token = $1 and holder >= $2
        and (first_transfer is not null or first_touch is not null) order by holder limit $3";
    let mut marks = Marks::default();
    let mut last = None;
    let rows = query(tx, sql, &[&int8(token), &int8(first), &limit(count)]).await?;
    for row in &rows {
        let pair = Pair { token, holder: row.u64(0)? };
        marks.unranked.insert(pair);
        marks.pending.insert(pair, tip.number);
        last = Some(pair.holder);
    }
    marks.write(tx).await?;
    let next = last.filter(|_| rows.len() >= count).map(|last| int8(last + 1));
    execute(tx, "update token set sweep_from = $2 where id = $1", &[&int8(token), &next]).await?;
    Ok(rows.len())
}

pub(super) async fn find_ids(
    tx: &Transaction<'_>,
    addresses: impl Iterator<Item = Address>,
) -> Result<BTreeMap<Address, AddressId>, StoreError> {
    let addresses: BTreeSet<Address> = addresses.collect();
    if addresses.is_empty() {
        return Ok(BTreeMap::new());
    }
    let addresses: Vec<&[u8]> = addresses.iter().map(|address| address.as_slice()).collect();
    let rows = query(tx, "select address, id from address where address = any($1)", &[&addresses]).await?;
    rows.iter().map(|row| Ok((row.address(0)?, row.u64(1)?))).collect()
}
