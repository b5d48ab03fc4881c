//! Contract code: noticed in the chain, fetched from the node, stored once for all contracts that share it.

use std::collections::{BTreeMap, BTreeSet};

use deadpool_postgres::Transaction;
use domain::{Address, B256, Balance, BlockNumber, Bytes, Code};
use store::{
    ChainTotals, StoreError,
    fetch_policy::{CodeEvent, KnownCode, is_code_pending, is_up_to_date},
};

use super::{holders::find_ids, state::WriteState};
use crate::{
    chain::Chain,
    database::{execute, query},
    lists::AddressId,
    locks,
    ranks::{RankMoves, RankedSet, id_tie},
    rows::{RowExt, int8, limit},
};

/// The code at addresses has to be fetched, at a block or later.
pub(super) async fn mark_pending(
    tx: &Transaction<'_>,
    codes: &BTreeMap<AddressId, BlockNumber>,
) -> Result<(), StoreError> {
    if codes.is_empty() {
        return Ok(());
    }
    let addresses: Vec<i64> = codes.keys().map(|id| int8(*id)).collect();
    let since: Vec<i64> = codes.values().map(|since| int8(*since)).collect();
    let sql = "insert into pending_code select * from unnest($1::int8[], $2::int8[])
        on conflict (address) do update set since = excluded.since";
    execute(tx, sql, &[&addresses, &since]).await?;
    Ok(())
}

/// Where a reverted block ran or called code, the code may differ.
pub(super) async fn mark_reverted(
    tx: &Transaction<'_>,
    kept: &ChainTotals,
    tip: BlockNumber,
) -> Result<(), StoreError> {
    let sql = "select c.address, c.hash is not null from (
            select sender as owner from transaction where id >= $1
            union select receiver from transaction where id >= $1
            union select owner from address_involved_run where first >= $1::int8 << 2
        ) ran join address_code c on c.address = ran.owner where c.address < $2";
    let mut pending = BTreeMap::new();
    for row in query(tx, sql, &[&int8(kept.transactions), &int8(kept.addresses)]).await? {
        let known = if row.value(1)? { KnownCode::Contract } else { KnownCode::Empty };
        if is_code_pending(CodeEvent::Reverted, known) {
            pending.insert(row.u64(0)?, tip);
        }
    }
    mark_pending(tx, &pending).await
}

pub(crate) async fn list_pending_codes(tx: &Transaction<'_>, count: usize) -> Result<Vec<Address>, StoreError> {
    let sql = "select a.address from pending_code p join address a on a.id = p.address order by p.address limit $1";
    query(tx, sql, &[&limit(count)]).await?.iter().map(|row| row.address(0)).collect()
}

impl WriteState {
    pub(crate) async fn save_codes(
        &mut self,
        tx: &Transaction<'_>,
        codes: &[(Address, Bytes)],
        at: BlockNumber,
    ) -> Result<(), StoreError> {
        query(tx, "select pg_advisory_xact_lock($1)", &[&locks::LISTING]).await?;
        let Some(tip) = Chain::read(tx).await?.tip else { return Ok(()) };
        let ids = find_ids(tx, codes.iter().map(|(address, _)| *address)).await?;
        let pending = pending_codes(tx, ids.values().copied()).await?;
        let (mut done, mut stored) = (Vec::new(), BTreeMap::new());
        let mut contracts: BTreeMap<B256, &Bytes> = BTreeMap::new();
        for (address, code) in codes {
            // The address may be reverted while its code is being fetched.
            let Some(id) = ids.get(address) else { continue };
            let Some(Pending { since, hash: before }) = pending.get(id) else { continue };
            if is_up_to_date(at, *since, tip.number) {
                done.push(int8(*id));
            }
            let now = Code::from_bytes(code).hash();
            match now {
                Some(hash) => {
                    contracts.insert(hash, code);
                }
                None => {
                    self.known_codes.remove(id);
                }
            }
            stored.insert(*id, (*address, *before, now));
        }
        execute(tx, "delete from pending_code where address = any($1)", &[&done]).await?;
        let addresses: Vec<i64> = stored.keys().map(|id| int8(*id)).collect();
        let hashes: Vec<Option<&[u8]>> =
            stored.values().map(|(_, _, now)| now.as_ref().map(|hash| hash.as_slice())).collect();
        let sql = "insert into address_code select * from unnest($1::int8[], $2::bytea[])
            on conflict (address) do update set hash = excluded.hash";
        execute(tx, sql, &[&addresses, &hashes]).await?;
        let hashes: Vec<&[u8]> = contracts.keys().map(|hash| hash.as_slice()).collect();
        let bytes: Vec<&[u8]> = contracts.values().map(|code| code.as_ref()).collect();
        let sql = "insert into code select * from unnest($1::bytea[], $2::bytea[]) on conflict do nothing";
        execute(tx, sql, &[&hashes, &bytes]).await?;
        relist(tx, stored.values().filter(|(_, before, now)| before != now)).await
    }
}

struct Pending {
    since: BlockNumber,
    /// Of the code as it was last fetched.
    hash: Option<B256>,
}

async fn pending_codes(
    tx: &Transaction<'_>,
    ids: impl Iterator<Item = AddressId>,
) -> Result<BTreeMap<AddressId, Pending>, StoreError> {
    let ids: Vec<i64> = ids.map(int8).collect();
    let sql = "select p.address, p.since, c.hash from pending_code p
        left join address_code c on c.address = p.address where p.address = any($1)";
    let rows = query(tx, sql, &[&ids]).await?;
    rows.iter().map(|row| Ok((row.u64(0)?, Pending { since: row.u64(1)?, hash: row.option_hash(2)? }))).collect()
}

/// Updates the list of verified contracts after a change of the code at addresses, from one hash to another.
async fn relist<'a>(
    tx: &Transaction<'_>,
    changed: impl Iterator<Item = &'a (Address, Option<B256>, Option<B256>)>,
) -> Result<(), StoreError> {
    let changed: Vec<_> = changed.collect();
    let addresses: Vec<&[u8]> = changed.iter().map(|(address, ..)| address.as_slice()).collect();
    let sql = "select address, code_hash, number from verified_contract where address = any($1)";
    let mut numbers = BTreeMap::new();
    for row in query(tx, sql, &[&addresses]).await? {
        numbers.insert((row.address(0)?, row.hash(1)?), row.u64(2)?);
    }
    let mut moves = RankMoves::default();
    let number = |address: &Address, hash: &Option<B256>| hash.and_then(|hash| numbers.get(&(*address, hash)));
    for (address, before, now) in changed {
        if let Some(number) = number(address, before) {
            moves.remove(RankedSet::VerifiedContracts, Balance::ZERO, &id_tie(*number));
        }
        if let Some(number) = number(address, now) {
            moves.insert(RankedSet::VerifiedContracts, Balance::ZERO, &id_tie(*number));
        }
    }
    moves.write(tx).await
}

/// Removes the code of addresses that are reverted, from an id on.
pub(super) async fn drop_codes(tx: &Transaction<'_>, first: AddressId) -> Result<(), StoreError> {
    let sql = "select v.number from address_code c join address a on a.id = c.address
        join verified_contract v on v.address = a.address and v.code_hash = c.hash where c.address >= $1";
    let listed: BTreeSet<u64> =
        query(tx, sql, &[&int8(first)]).await?.iter().map(|row| row.u64(0)).collect::<Result<_, _>>()?;
    let mut moves = RankMoves::default();
    for number in listed {
        moves.remove(RankedSet::VerifiedContracts, Balance::ZERO, &id_tie(number));
    }
    moves.write(tx).await?;
    execute(tx, "delete from address_code where address >= $1", &[&int8(first)]).await?;
    execute(tx, "delete from pending_code where address >= $1", &[&int8(first)]).await?;
    Ok(())
}
