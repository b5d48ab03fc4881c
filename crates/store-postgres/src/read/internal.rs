use std::ops::Range;

use async_trait::async_trait;
use domain::{
    Address, BlockNumber, BlockRange, InternalFilter, InternalPage, InternalTransaction, Order, Page, PageRequest,
};
use futures::{future::try_join_all, try_join};
use store::{InternalProgress, InternalReader, ListKind, Parties, Party, StoreError};

use super::{
    common::Common,
    intersections::{Lists, LongWalks},
    pages::{KNOWN_PAGE, page_of},
    walk::{Required, Walk},
};
use crate::{
    database::{Connection, find, get, query},
    internal::{PROGRESS, PROGRESS_COUNT, progress_from_row},
    lists::mask,
    reader::{PostgresReader, read_lists},
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
        read_lists!(self, |client, lists| list_internal_transactions(&client, lists, filter, page))
    }
}

/// None if that takes a long walk. Needs a snapshot.
pub(crate) async fn list_internal_transactions(
    client: &dyn Connection,
    lists: Lists<'_>,
    filter: &InternalFilter,
    page: PageRequest,
) -> Result<Option<InternalPage>, StoreError> {
    let parties = Parties::of(filter.address, filter.from, filter.to).required();
    let (traced, owners) = try_join!(find_traced(client), find_owners(client, parties.as_deref()))?;
    let Some((progress, first_block)) = traced else {
        return Ok(Some(InternalPage { page: Page::empty(0), traced_range: None }));
    };
    let traced_range = progress.traced_range(first_block);
    let Some(owners) = owners else { return Ok(Some(InternalPage { page: Page::empty(0), traced_range })) };
    let (low, high) = span(client, &progress, progress.lowest(first_block), filter).await?;
    let page = if low < high { select(client, lists, &owners, low..high, page).await? } else { Some(Page::empty(0)) };
    Ok(page.map(|page| InternalPage { page, traced_range }))
}

/// What was traced, and the first block; None before the first trace.
async fn find_traced(client: &dyn Connection) -> Result<Option<(InternalProgress, BlockNumber)>, StoreError> {
    let sql = format!("select {PROGRESS}, c.first_block from internal_progress cross join chain c");
    let row = get(client, &sql, &[]).await?;
    Ok(progress_from_row(&row, 0)?.zip(row.option_u64(PROGRESS_COUNT)?))
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

/// A page of what is in a span and belongs to all of these; None if that takes a long walk.
async fn select(
    client: &dyn Connection,
    lists: Lists<'_>,
    owners: &[(u64, Party)],
    Range { start: low, end: high }: Range<i64>,
    page: PageRequest,
) -> Result<Option<Page<InternalTransaction>>, StoreError> {
    let Page { items, total } = match owners {
        [] => {
            let total = high.abs_diff(low);
            Page { items: page.ranks(total).map(|rank| low + int8(rank)).collect(), total }
        }
        [(owner, party)] => {
            let sql = INTERNAL.statement("select p.total, p.ids from internal_page($1, $2, $3, $4, $5, $6, $7) p");
            let newest_first = page.order == Order::NewestFirst;
            let (skipped, wanted) = (clamped(page.offset), i64::from(page.limit));
            let (owner, party) = (int8(*owner), mask(*party));
            let rows = query(client, &sql, &[&owner, &party, &low, &high, &skipped, &wanted, &newest_first]).await?;
            return page_of(&rows, internal_from_row).map(Some);
        }
        owners => {
            let Some(page) = select_common(client, lists, owners, low..high, page).await? else { return Ok(None) };
            page
        }
    };
    page_of(&query(client, &INTERNAL.statement(KNOWN_PAGE), &[&int8(total), &items]).await?, internal_from_row)
        .map(Some)
}

/// The ids of parties; None if one of them is part of no internal transaction, or if there can be none.
async fn find_owners(
    client: &dyn Connection,
    required: Option<&[(Address, Party)]>,
) -> Result<Option<Vec<(u64, Party)>>, StoreError> {
    let Some(required) = required else { return Ok(None) };
    let ids = try_join_all(required.iter().map(|(address, _)| party_id(client, *address))).await?;
    Ok(ids.into_iter().zip(required).map(|(id, (_, party))| Some((id?, *party))).collect())
}

/// The ids of all parties in a span, in chain order.
async fn select_common(
    client: &dyn Connection,
    lists: Lists<'_>,
    owners: &[(u64, Party)],
    Range { start: low, end: high }: Range<i64>,
    page: PageRequest,
) -> Result<Option<Page<i64>>, StoreError> {
    let walk = |kind: ListKind| {
        let required = owners.iter().map(|(owner, party)| Required { lists: vec![kind.of(*owner)], party: *party });
        Walk { client, required: required.collect(), rows: None, step: lists.intersections.step() }
    };
    // Those of the lower side are mirrored.
    let below = (walk(ListKind::InternalBelow), (-high).max(0), (-low).max(0));
    let above = (walk(ListKind::InternalAbove), low.max(0), high.max(0));
    for (walk, low, high) in [&below, &above] {
        if lists.long_walks == LongWalks::No && !walk.is_short(*low, *high).await? {
            return Ok(None);
        }
    }
    let ((mirrored, low, high), (walk, from, to)) = (below, above);
    let (lower, upper) = (Common::of(&mirrored, low, high).await?, Common::of(&walk, from, to).await?);
    let total = lower.total() + upper.total();
    let ranks: Vec<u64> = page.ranks(total).collect();
    let (start, stop) = (ranks.iter().min().copied().unwrap_or(0), ranks.iter().max().map_or(0, |rank| rank + 1));
    let from_end = |rank: u64| lower.total().saturating_sub(rank);
    let of_lower = lower.at(&mirrored, from_end(stop), from_end(start)).await?;
    let of_upper = |rank: u64| rank.saturating_sub(lower.total());
    let of_upper = upper.at(&walk, of_upper(start), of_upper(stop)).await?;
    let mut items: Vec<i64> = of_lower.into_iter().rev().map(|entry| -1 - entry).chain(of_upper).collect();
    if page.order == Order::NewestFirst {
        items.reverse();
    }
    Ok(Some(Page { items, total }))
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
