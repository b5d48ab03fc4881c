//! The effect of transfers on the ids of tokens: who holds them, and how much.

use std::collections::{BTreeMap, BTreeSet};

use deadpool_postgres::Transaction;
use domain::{Address, Balance, BlockChanges, U256};
use store::{ChainTotals, StoreError};

use super::copy::{self, NftCopy};
use crate::{
    database::{Connection, execute, find, query},
    lists::AddressId,
    numeric::Numeric,
    ranks::{RankMoves, RankedSet, id_tie},
    rows::{RowExt, int8, to_u256},
};

/// A value before and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Change<T> {
    pub(super) before: T,
    pub(super) now: T,
}

/// The ids that a commit moves.
#[derive(Debug, Default)]
pub(super) struct Nfts {
    ids: BTreeMap<(AddressId, U256), u64>,
    new: Vec<(u64, AddressId, U256)>,
    /// Of non-fungible ids.
    owners: BTreeMap<u64, Change<Option<AddressId>>>,
    /// Of ids of multi-tokens, with their holders.
    amounts: BTreeMap<(u64, AddressId), Change<Balance>>,
}

/// How much of a non-fungible id its owner has.
fn existing(owner: Option<AddressId>) -> Balance {
    owner.map_or(Balance::ZERO, |_| Balance::ONE)
}

impl Nfts {
    /// Reads what the blocks may move. `address` finds the id of a known address.
    pub(super) async fn read(
        client: &dyn Connection,
        blocks: &[BlockChanges],
        address: impl Fn(&Address) -> Option<AddressId>,
    ) -> Result<Self, StoreError> {
        let mut read = Self::default();
        let events = || blocks.iter().flat_map(|changes| &changes.transfers);
        let moved: BTreeSet<(AddressId, U256)> =
            events().filter_map(|event| Some((address(&event.token)?, event.token_id?))).collect();
        if moved.is_empty() {
            return Ok(read);
        }
        let (tokens, ids): (Vec<i64>, Vec<Numeric>) =
            moved.into_iter().map(|(token, id)| (int8(token), Numeric::from(id))).unzip();
        let sql =
            "select n.token, n.token_id, n.id, n.owner from unnest($1::int8[], $2::numeric[]) as k(token, token_id)
            join nft n on n.token = k.token and n.token_id = k.token_id";
        for row in query(client, sql, &[&tokens, &ids]).await? {
            let (key, nft, owner) = ((row.u64(0)?, to_u256(row.value(1)?)?), row.u64(2)?, row.option_u64(3)?);
            read.ids.insert(key, nft);
            read.owners.insert(nft, Change { before: owner, now: owner });
        }
        let pairs: BTreeSet<(u64, AddressId)> = events()
            .filter_map(|event| {
                let nft = *read.ids.get(&(address(&event.token)?, event.token_id?))?;
                Some([event.from, event.to].map(|holder| Some((nft, address(&holder)?))))
            })
            .flatten()
            .flatten()
            .collect();
        let (nfts, holders) = split(pairs);
        let sql = "select b.nft, b.holder, b.amount from unnest($1::int8[], $2::int8[]) as k(nft, holder)
            join nft_balance b on b.nft = k.nft and b.holder = k.holder";
        for row in query(client, sql, &[&nfts, &holders]).await? {
            let amount = row.value::<Numeric>(2)?.0;
            read.amounts.insert((row.u64(0)?, row.u64(1)?), Change { before: amount, now: amount });
        }
        Ok(read)
    }

    /// The number of an id of a token; a new one gets `next`, which is then incremented.
    pub(super) fn find_or_add(&mut self, token: AddressId, id: U256, next: &mut u64) -> u64 {
        if let Some(known) = self.ids.get(&(token, id)) {
            return *known;
        }
        let nft = *next;
        *next += 1;
        self.ids.insert((token, id), nft);
        self.new.push((nft, token, id));
        nft
    }

    pub(super) fn owner(&self, nft: u64) -> Option<AddressId> {
        self.owners.get(&nft)?.now
    }

    pub(super) fn put_owner(&mut self, nft: u64, owner: Option<AddressId>) {
        self.owners.entry(nft).or_default().now = owner;
    }

    pub(super) fn amount(&self, nft: u64, holder: AddressId) -> Balance {
        self.amounts.get(&(nft, holder)).map_or(Balance::ZERO, |amount| amount.now)
    }

    pub(super) fn put_amount(&mut self, nft: u64, holder: AddressId, amount: Balance) {
        self.amounts.entry((nft, holder)).or_default().now = amount;
    }

    pub(super) async fn write(self, tx: &Transaction<'_>) -> Result<(), StoreError> {
        let copies = self.new.iter().map(|(id, token, token_id)| {
            let owner = self.owners.get(id).and_then(|owner| owner.now);
            NftCopy { id: *id, token: *token, token_id: *token_id, owner }
        });
        copy::nfts(tx, &copies.collect::<Vec<_>>()).await?;
        let first_new = self.new.first().map_or(u64::MAX, |(id, ..)| *id);
        write_owners(tx, &self.owners, first_new).await?;
        write_amounts(tx, &self.amounts).await?;
        rank(&self.owners, &self.amounts).write(tx).await
    }
}

fn split(pairs: impl IntoIterator<Item = (u64, AddressId)>) -> (Vec<i64>, Vec<i64>) {
    pairs.into_iter().map(|(nft, holder)| (int8(nft), int8(holder))).unzip()
}

/// Writes the owners that changed, of ids below one.
async fn write_owners(
    tx: &Transaction<'_>,
    owners: &BTreeMap<u64, Change<Option<AddressId>>>,
    end: u64,
) -> Result<(), StoreError> {
    let changed = owners.range(..end).filter(|(_, owner)| owner.before != owner.now);
    let (nfts, owners): (Vec<i64>, Vec<Option<i64>>) =
        changed.map(|(nft, owner)| (int8(*nft), owner.now.map(int8))).unzip();
    if nfts.is_empty() {
        return Ok(());
    }
    let sql = "update nft n set owner = c.owner from unnest($1::int8[], $2::int8[]) as c(id, owner) where n.id = c.id";
    execute(tx, sql, &[&nfts, &owners]).await?;
    Ok(())
}

async fn write_amounts(
    tx: &Transaction<'_>,
    amounts: &BTreeMap<(u64, AddressId), Change<Balance>>,
) -> Result<(), StoreError> {
    let changed = amounts.iter().filter(|(_, amount)| amount.before != amount.now);
    let (gone, held): (Vec<_>, Vec<_>) = changed.partition(|(_, amount)| amount.now.is_zero());
    if !gone.is_empty() {
        let (nfts, holders) = split(gone.into_iter().map(|(pair, _)| *pair));
        let sql = "delete from nft_balance b using unnest($1::int8[], $2::int8[]) as c(nft, holder)
            where b.nft = c.nft and b.holder = c.holder";
        execute(tx, sql, &[&nfts, &holders]).await?;
    }
    if !held.is_empty() {
        let amounts: Vec<Numeric> = held.iter().map(|(_, amount)| Numeric(amount.now)).collect();
        let (nfts, holders) = split(held.into_iter().map(|(pair, _)| *pair));
        let sql = "insert into nft_balance select * from unnest($1::int8[], $2::int8[], $3::numeric[])
            on conflict (nft, holder) do update set amount = excluded.amount";
        execute(tx, sql, &[&nfts, &holders, &amounts]).await?;
    }
    Ok(())
}

/// The moves in the sorted sets of holders and of held ids.
fn rank(
    owners: &BTreeMap<u64, Change<Option<AddressId>>>,
    amounts: &BTreeMap<(u64, AddressId), Change<Balance>>,
) -> RankMoves {
    let mut moves = RankMoves::default();
    for (nft, owner) in owners.iter().filter(|(_, owner)| owner.before != owner.now) {
        if let Some(holder) = owner.before {
            moves.remove(RankedSet::HeldNfts { holder }, Balance::ZERO, &id_tie(*nft));
        }
        if let Some(holder) = owner.now {
            moves.insert(RankedSet::HeldNfts { holder }, Balance::ZERO, &id_tie(*nft));
        }
    }
    for ((nft, holder), Change { before, now }) in amounts.iter().filter(|(_, amount)| amount.before != amount.now) {
        let (holders, held) = (RankedSet::NftHolders { nft: *nft }, RankedSet::HeldNfts { holder: *holder });
        if before.is_zero() {
            moves.insert(held, Balance::ZERO, &id_tie(*nft));
        } else {
            moves.remove(holders, *before, &id_tie(*holder));
        }
        if now.is_zero() {
            moves.remove(held, Balance::ZERO, &id_tie(*nft));
        } else {
            moves.insert(holders, *now, &id_tie(*holder));
        }
    }
    moves
}

/// The ids that reverted transfers moved: `x` is the transfer, `n` the id.
const MOVED: &str = "from transfer x join token t on t.id = x.token and t.kind = x.kind
    join nft n on n.token = x.token and n.token_id = x.token_id where x.id >= $1";

/// Moves ids back. To be called before transfers, tokens and lists are reverted. Returns what the parties had of each token.
pub(super) async fn revert(
    tx: &Transaction<'_>,
    kept: &ChainTotals,
) -> Result<BTreeMap<AddressId, Change<Balance>>, StoreError> {
    let mut held: BTreeMap<AddressId, Change<Balance>> = BTreeMap::new();
    let mut count = |token: AddressId, before: Balance, now: Balance| {
        let held = held.entry(token).or_default();
        // Below 2^320, like all that holders have.
        held.before = held.before.saturating_add(before);
        held.now = held.now.saturating_add(now);
    };
    let zero = find(tx, "select id from address where address = $1", &[&Address::ZERO.as_slice()]).await?;
    let zero = zero.map_or(Ok(-1), |row| row.value::<i64>(0))?;
    let transfers = int8(kept.transfers);
    let sql = format!(
        "select n.id, n.owner, nullif(l.receiver, $2), n.token from (
            select distinct n.id, n.owner, n.token {MOVED} and x.kind = 1
        ) n
        left join lateral nft_transfer_page(n.id, 0, 0, $1, 0, 1, true) p on true
        left join transfer l on l.id = p.ids[1]"
    );
    let mut owners = BTreeMap::new();
    for row in query(tx, &sql, &[&transfers, &zero]).await? {
        let change = Change { before: row.option_u64(1)?, now: row.option_u64(2)? };
        count(row.u64(3)?, existing(change.before), existing(change.now));
        owners.insert(row.u64(0)?, change);
    }
    let sql = format!(
        "select m.nft, m.holder, coalesce(b.amount, 0), coalesce(b.amount, 0) + m.change, m.token from (
            select nft, token, holder, sum(change) as change from (
                select n.id as nft, n.token, x.sender as holder, x.value - coalesce(x.nft_shortfall, 0) as change
                {MOVED} and x.kind = 2 and x.sender <> x.receiver
                union all
                select n.id, n.token, x.receiver, -x.value {MOVED} and x.kind = 2 and x.sender <> x.receiver
            ) every where holder <> $2 group by nft, token, holder
        ) m left join nft_balance b on b.nft = m.nft and b.holder = m.holder"
    );
    let mut amounts = BTreeMap::new();
    for row in query(tx, &sql, &[&transfers, &zero]).await? {
        let change = Change { before: row.value::<Numeric>(2)?.0, now: row.value::<Numeric>(3)?.0 };
        count(row.u64(4)?, change.before, change.now);
        amounts.insert((row.u64(0)?, row.u64(1)?), change);
    }
    // The rows of ids that no transfer is left of are deleted with their numbers.
    write_owners(tx, &owners, kept.nfts).await?;
    write_amounts(tx, &amounts).await?;
    rank(&owners, &amounts).write(tx).await?;
    Ok(held)
}
