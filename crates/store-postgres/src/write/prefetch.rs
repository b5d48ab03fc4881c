//! Everything that a commit has to know of the database, read in a few queries.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use domain::{Address, B256, Balance, BlockChanges};
use foldhash::fast::RandomState;
use store::{
    ListKind, StoreError,
    fetch_policy::KnownCode,
    rules::{Exchange, addresses_of},
};

use super::{
    approvals::Approvals,
    log_source::LogSource,
    logs,
    nfts::Nfts,
    pairs::{Pair, split},
    state::WriteState,
};
use crate::{
    database::{Connection, query},
    lists::AddressId,
    maps::FastMap,
    numeric::Numeric,
    rows::{RowExt, int8},
    tokens::{self, TokenRow},
};

#[derive(Debug, Default)]
pub(super) struct Prefetched {
    pub(super) addresses: FastMap<Address, AddressId>,
    pub(super) topics: FastMap<B256, u64>,
    pub(super) log_sources: FastMap<LogSource, u64>,
    pub(super) pools: FastMap<AddressId, Exchange>,
    pub(super) tokens: BTreeMap<AddressId, TokenRow>,
    pub(super) balances: FastMap<Pair, Balance>,
    /// Of addresses whose code was fetched.
    pub(super) codes: FastMap<AddressId, KnownCode>,
    /// Of addresses that sent or received one before.
    pub(super) last_transactions: FastMap<AddressId, u64>,
    pub(super) nfts: Nfts,
    pub(super) approvals: Approvals,
}

impl Prefetched {
    pub(super) async fn read(
        client: &dyn Connection,
        state: &mut WriteState,
        blocks: &[BlockChanges],
    ) -> Result<Self, StoreError> {
        let mut read = Self { addresses: addresses(client, state, blocks).await?, ..Self::default() };
        let id = |address: &Address| read.addresses.get(address).copied();
        let pools: BTreeSet<AddressId> = blocks
            .iter()
            .flat_map(|changes| {
                let named = changes.pools.iter().map(|pool| &pool.address);
                named.chain(changes.trades.iter().map(|trade| &trade.pool)).filter_map(id)
            })
            .collect();
        let (mut moved, mut pairs) = (BTreeSet::new(), BTreeSet::new());
        for changes in blocks {
            for event in &changes.transfers {
                let Some(token) = id(&event.token) else { continue };
                moved.insert(token);
                pairs.extend([event.from, event.to].iter().filter_map(id).map(|holder| Pair { token, holder }));
            }
            moved.extend(changes.touched_holders.iter().filter_map(|touched| id(&touched.token)));
        }
        let mut run: BTreeSet<AddressId> = BTreeSet::new();
        for changes in blocks {
            let called = changes.transactions.iter().filter(|tx| tx.method.is_some()).filter_map(|tx| tx.to);
            let involved = changes.involved.iter().map(|involvement| involvement.address);
            run.extend(called.chain(involved).filter_map(|address| id(&address)));
        }
        run.retain(|id| state.known_codes.get(id).is_none());
        let transactions = blocks.iter().flat_map(|changes| &changes.transactions);
        let parties = transactions.flat_map(|tx| [Some(tx.from), tx.to]).flatten();
        let parties: BTreeSet<AddressId> = parties.filter_map(|address| id(&address)).collect();
        let tails = state.tails_of(client, ListKind::Transactions.into(), parties).await?;
        read.last_transactions = tails.into_iter().filter_map(|(id, tail)| Some((id, tail.last?))).collect();
        read.pools = known_pools(client, &pools).await?;
        read.tokens = tokens::load(client, moved).await?;
        read.balances = balances(client, &pairs).await?;
        read.codes = known_codes(client, &run).await?;
        read.topics = logs::topics(client, state, blocks).await?;
        read.log_sources = logs::sources(client, state, blocks, &read.addresses, &read.topics).await?;
        read.nfts = Nfts::read(client, blocks, |address| read.addresses.get(address).copied()).await?;
        read.approvals = Approvals::read(client, blocks, |address| read.addresses.get(address).copied()).await?;
        Ok(read)
    }
}

/// The ids of all known addresses in the blocks.
async fn addresses(
    client: &dyn Connection,
    state: &mut WriteState,
    blocks: &[BlockChanges],
) -> Result<FastMap<Address, AddressId>, StoreError> {
    let all: HashSet<Address, RandomState> = blocks.iter().flat_map(addresses_of).collect();
    let mut known = FastMap::default();
    let mut unknown: Vec<Address> = Vec::new();
    for address in all {
        match state.addresses.get(&address) {
            Some(id) => {
                known.insert(address, *id);
            }
            None => unknown.push(address),
        }
    }
    for part in unknown.chunks(20_000) {
        let part: Vec<&[u8]> = part.iter().map(|address| address.as_slice()).collect();
        for row in query(client, "select address, id from address where address = any($1)", &[&part]).await? {
            let (address, id) = (row.address(0)?, row.u64(1)?);
            known.insert(address, id);
            state.addresses.insert(address, id);
        }
    }
    Ok(known)
}

async fn known_pools(
    client: &dyn Connection,
    ids: &BTreeSet<AddressId>,
) -> Result<FastMap<AddressId, Exchange>, StoreError> {
    if ids.is_empty() {
        return Ok(FastMap::default());
    }
    let ids: Vec<i64> = ids.iter().map(|id| int8(*id)).collect();
    let rows = query(client, "select id, style, factory from pool where id = any($1)", &[&ids]).await?;
    let pool = |row: &tokio_postgres::Row| Ok((row.u64(0)?, Exchange { style: row.kind(1)?, factory: row.u64(2)? }));
    rows.iter().map(pool).collect()
}

async fn balances(client: &dyn Connection, pairs: &BTreeSet<Pair>) -> Result<FastMap<Pair, Balance>, StoreError> {
    let mut found = FastMap::default();
    if pairs.is_empty() {
        return Ok(found);
    }
    let (tokens, holders) = split(pairs);
    let sql = "select b.token, b.holder, b.amount from unnest($1::int8[], $2::int8[]) as p(token, holder)
        join balance b on b.token = p.token and b.holder = p.holder where b.first_transfer is not null";
    for row in query(client, sql, &[&tokens, &holders]).await? {
        let pair = Pair { token: row.u64(0)?, holder: row.u64(1)? };
        found.insert(pair, row.value::<Numeric>(2)?.0);
    }
    Ok(found)
}

async fn known_codes(
    client: &dyn Connection,
    ids: &BTreeSet<AddressId>,
) -> Result<FastMap<AddressId, KnownCode>, StoreError> {
    if ids.is_empty() {
        return Ok(FastMap::default());
    }
    let ids: Vec<i64> = ids.iter().map(|id| int8(*id)).collect();
    let sql = "select address, hash is not null from address_code where address = any($1)";
    let rows = query(client, sql, &[&ids]).await?;
    let code = |row: &tokio_postgres::Row| {
        Ok((row.u64(0)?, if row.value(1)? { KnownCode::Contract } else { KnownCode::Empty }))
    };
    rows.iter().map(code).collect()
}
