//! Token metadata fetched from contracts.

use std::collections::BTreeMap;

use deadpool_postgres::Transaction;
use domain::{Address, PendingToken, TokenMetadata};
use store::{
    StoreError,
    fetch_policy::{self, TokenRound},
};

use super::{holders::find_ids, state::WriteState};
use crate::{
    chain::Chain,
    database::{execute, query},
    lists::AddressId,
    numeric::Numeric,
    rows::{RowExt, int8, limit},
    token_names::folded,
    tokens,
};

impl WriteState {
    pub(crate) async fn list_pending_tokens(
        &mut self,
        tx: &Transaction<'_>,
        count: usize,
    ) -> Result<Vec<PendingToken>, StoreError> {
        let new = "select id from token where new_since is not null and id >= $2 order by id limit $1";
        let new = list_ids(tx, new, count, 0).await?;
        // Continues after the last one listed, and wraps around, so that tokens that change constantly do not starve
        // others.
        let first = self.last_refreshed.map_or(0, |last| last + 1);
        let behind = "select id from token where pending_since is not null and id >= $2 order by id limit $1";
        let before = "select id from token where pending_since is not null and id < $2 order by id limit $1";
        let mut refreshes = list_ids(tx, behind, count, first).await?;
        refreshes.extend(list_ids(tx, before, count, first).await?);
        refreshes.truncate(count);
        let TokenRound { new, refreshes } = fetch_policy::share_round(new, refreshes, count);
        self.last_refreshed = refreshes.last().copied().or(self.last_refreshed);
        let listed: Vec<AddressId> = new.into_iter().chain(refreshes).collect();
        let tokens = tokens::load(tx, listed.iter().copied()).await?;
        let pending = listed.iter().filter_map(|id| tokens.get(id));
        Ok(pending.map(|token| PendingToken { token: token.address, kind: token.kind }).collect())
    }
}

async fn list_ids(
    tx: &Transaction<'_>,
    sql: &str,
    count: usize,
    bound: AddressId,
) -> Result<Vec<AddressId>, StoreError> {
    let rows = query(tx, sql, &[&limit(count), &int8(bound)]).await?;
    rows.iter().map(|row| row.u64(0)).collect()
}

pub(crate) async fn save_token_metadata(
    tx: &Transaction<'_>,
    metadata: &[(Address, TokenMetadata)],
) -> Result<(), StoreError> {
    let Some(tip) = Chain::read(tx).await?.tip else { return Ok(()) };
    let ids = find_ids(tx, metadata.iter().map(|(token, _)| *token)).await?;
    let mut tokens = tokens::load(tx, ids.values().copied()).await?;
    let mut stored: BTreeMap<AddressId, &TokenMetadata> = BTreeMap::new();
    for (address, metadata) in metadata {
        // The token may be reverted while its metadata is being fetched.
        let Some(token) = ids.get(address).and_then(|id| tokens.get_mut(id)) else { continue };
        let Some(newest) = token.new_since.max(token.pending_since) else { continue };
        token.new_since = None;
        let is_up_to_date = |at| fetch_policy::is_up_to_date(at, newest, tip.number);
        token.pending_since = if metadata.requested_at.is_some_and(is_up_to_date) { None } else { Some(newest) };
        stored.insert(token.id, metadata);
    }
    tokens.retain(|id, _| stored.contains_key(id));
    tokens::save(tx, tokens.values().collect::<Vec<_>>()).await?;
    write_metadata(tx, &stored).await
}

async fn write_metadata(
    tx: &Transaction<'_>,
    metadata: &BTreeMap<AddressId, &TokenMetadata>,
) -> Result<(), StoreError> {
    let ids: Vec<i64> = metadata.keys().map(|id| int8(*id)).collect();
    let names: Vec<&[u8]> = metadata.values().map(|metadata| metadata.name.as_bytes()).collect();
    let symbols: Vec<&[u8]> = metadata.values().map(|metadata| metadata.symbol.as_bytes()).collect();
    let decimals: Vec<Option<i16>> = metadata.values().map(|metadata| metadata.decimals.map(i16::from)).collect();
    let supplies: Vec<Option<Numeric>> =
        metadata.values().map(|metadata| metadata.total_supply.map(Numeric::from)).collect();
    let requested_at: Vec<Option<i64>> = metadata.values().map(|metadata| metadata.requested_at.map(int8)).collect();
    let sql = "update token t set is_fetched = true, name = f.name, symbol = f.symbol, decimals = f.decimals,
            total_supply = f.total_supply, requested_at = f.requested_at
        from unnest($1::int8[], $2::bytea[], $3::bytea[], $4::int2[], $5::numeric[], $6::int8[])
            as f(id, name, symbol, decimals, total_supply, requested_at)
        where t.id = f.id";
    execute(tx, sql, &[&ids, &names, &symbols, &decimals, &supplies, &requested_at]).await?;
    // The search index has the current names.
    execute(tx, "delete from token_name where token = any($1)", &[&ids]).await?;
    let (mut names, mut tokens) = (Vec::new(), Vec::new());
    for (id, metadata) in metadata {
        for name in [&metadata.name, &metadata.symbol].map(|name| folded(name)) {
            if !name.is_empty() {
                names.push(name);
                tokens.push(int8(*id));
            }
        }
    }
    let sql = "insert into token_name select * from unnest($1::bytea[], $2::int8[]) on conflict do nothing";
    execute(tx, sql, &[&names, &tokens]).await?;
    Ok(())
}
