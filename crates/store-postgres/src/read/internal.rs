use async_trait::async_trait;
use domain::{Address, BlockRange, InternalFilter, InternalPage, Order, Page, PageRequest};
use store::{InternalProgress, InternalReader, ListKind, Parties, Party, StoreError};

use super::{
    intersections::{cut_page, intersection},
    pages::{KNOWN_PAGE, page_of},
    select::list_ids,
};
use crate::{
    chain::Chain,
    database::{Connection, find, get, query},
    internal::find_progress,
    lists::mask,
    reader::{PostgresReader, read_snapshot},
    rows::{RowExt, clamped, int8},
    tables::{INTERNAL, internal_from_row},
};

#[async_trait]
impl InternalReader for PostgresReader {
    async fn list_internal_transactions(
        &self,
        filter: &InternalFilter,
        page: PageRequest,
    ) -> Result<InternalPage, StoreError> {
        read_snapshot!(self, |client| list_internal_transactions(&client, filter, page))
    }
}

/// Needs a snapshot.
pub(crate) async fn list_internal_transactions(
    client: &dyn Connection,
    filter: &InternalFilter,
    page: PageRequest,
) -> Result<InternalPage, StoreError> {
    let first_block = Chain::read(client).await?.first_block;
    let (Some(progress), Some(first_block)) = (find_progress(client).await?, first_block) else {
        return Ok(InternalPage { page: Page::empty(0), traced_range: None });
    };
    let (low, high) = span(client, &progress, progress.lowest(first_block), filter).await?;
    let Page { items, total } = select(client, filter, low, high, page).await?;
    let rows = query(client, &INTERNAL.statement(KNOWN_PAGE), &[&int8(total), &items]).await?;
    Ok(InternalPage { page: page_of(&rows, internal_from_row)?, traced_range: progress.traced_range(first_block) })
}

/// The ids in the blocks and the transaction of a filter.
async fn span(
    client: &dyn Connection,
    progress: &InternalProgress,
    lowest: u64,
    filter: &InternalFilter,
) -> Result<(i64, i64), StoreError> {
    let mut blocks = filter.blocks;
    let mut transaction = None;
    if let Some(hash) = filter.transaction {
        let row = find(client, "select id, block from transaction where hash = $1", &[&hash.as_slice()]).await?;
        let Some(row) = row else { return Ok((0, 0)) };
        let block = row.u64(1)?;
        if !blocks.contains(block) {
            return Ok((0, 0));
        }
        blocks = BlockRange::only(block);
        transaction = Some(row.value::<i64>(0)?);
    }
    let first = blocks.from.unwrap_or(0).max(lowest);
    let end = blocks.to.map_or(progress.above, |to| to.saturating_add(1)).min(progress.above);
    if first >= end {
        return Ok((0, 0));
    }
    let sql = "select l.first_id, coalesce(h.first_id, $3) from internal_block l
        left join internal_block h on h.number = $2 where l.number = $1";
    let row = get(client, sql, &[&int8(first), &int8(end), &int8(progress.above_count)]).await?;
    let (low, high): (i64, i64) = (row.value(0)?, row.value(1)?);
    let Some(transaction) = transaction else { return Ok((low, high)) };
    let sql = "select internal_first($1, $2, $3), internal_first($1, $2, $3 + 1)";
    let row = get(client, sql, &[&low, &high, &transaction]).await?;
    Ok((row.value(0)?, row.value(1)?))
}

/// A page of the ids in a span that belong to the parties of a filter.
async fn select(
    client: &dyn Connection,
    filter: &InternalFilter,
    low: i64,
    high: i64,
    page: PageRequest,
) -> Result<Page<i64>, StoreError> {
    let parties = Parties::of(filter.address, filter.from, filter.to);
    let Some(required) = parties.required().filter(|_| low < high) else { return Ok(Page::empty(0)) };
    let mut owners = Vec::with_capacity(required.len());
    for (address, party) in required {
        let Some(owner) = party_id(client, address).await? else { return Ok(Page::empty(0)) };
        owners.push((owner, party));
    }
    match owners.as_slice() {
        [] => {
            let total = high.abs_diff(low);
            Ok(Page { items: page.ranks(total).map(|rank| low + int8(rank)).collect(), total })
        }
        [(owner, party)] => {
            let sql = "select p.total, p.ids from internal_page($1, $2, $3, $4, $5, $6, $7) p";
            let newest_first = page.order == Order::NewestFirst;
            let (skipped, wanted) = (clamped(page.offset), i64::from(page.limit));
            let row = get(client, sql, &[&int8(*owner), &mask(*party), &low, &high, &skipped, &wanted, &newest_first])
                .await?;
            Ok(Page { total: row.u64(0)?, items: row.value(1)? })
        }
        owners => {
            let mut common: Option<Vec<i64>> = None;
            for (owner, party) in owners {
                let ids = ids(client, *owner, *party, low, high).await?;
                common = Some(match common {
                    Some(common) => intersection(&common, &ids),
                    None => ids,
                });
            }
            Ok(cut_page([&common.unwrap_or_default(), &[]], page))
        }
    }
}

/// The ids of a party in a span, in chain order.
async fn ids(client: &dyn Connection, owner: u64, party: Party, low: i64, high: i64) -> Result<Vec<i64>, StoreError> {
    let mirrored = list_ids(client, ListKind::InternalBelow.of(owner), party, (-high).max(0), (-low).max(0)).await?;
    let mut ids: Vec<i64> = mirrored.into_iter().rev().map(|entry| -1 - entry).collect();
    ids.extend(list_ids(client, ListKind::InternalAbove.of(owner), party, low.max(0), high.max(0)).await?);
    Ok(ids)
}

async fn party_id(client: &dyn Connection, address: Address) -> Result<Option<u64>, StoreError> {
    let row = find(client, "select id from internal_party where address = $1", &[&address.as_slice()]).await?;
    row.map(|row| row.u64(0)).transpose()
}

/// What an address is part of inside transactions.
#[derive(Debug, Clone, Copy)]
pub(super) struct InternalActivity {
    /// Times, unix seconds.
    pub(super) first_seen: u64,
    pub(super) last_seen: u64,
}

/// None if the address is part of no internal transaction.
pub(super) async fn find_internal_activity(
    client: &dyn Connection,
    address: Address,
) -> Result<Option<InternalActivity>, StoreError> {
    // The lower side was traced from its newest block on.
    let sql = "select ob.timestamp, nb.timestamp
        from internal_party p
        left join lateral internal_above_end(p.id) a on true
        left join lateral internal_below_end(p.id) b on true
        left join lateral (
            select first >> 2 as id from internal_above_run where owner = p.id order by first_seq limit 1
        ) fa on true
        left join lateral (
            select first >> 2 as id from internal_below_run where owner = p.id order by first_seq limit 1
        ) fb on true
        join internal_transaction o on o.id = coalesce(-1 - b.last_id, fa.id)
        join internal_transaction n on n.id = coalesce(a.last_id, -1 - fb.id)
        join transaction ot on ot.id = o.transaction join block ob on ob.number = ot.block
        join transaction nt on nt.id = n.transaction join block nb on nb.number = nt.block
        where p.address = $1";
    let Some(row) = find(client, sql, &[&address.as_slice()]).await? else { return Ok(None) };
    Ok(Some(InternalActivity { first_seen: row.u64(0)?, last_seen: row.u64(1)? }))
}
