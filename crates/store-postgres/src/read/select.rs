//! Selects the entries that satisfy several conditions: their count, and those on a page.
//!
//! With at most one condition, the page is part of the statement that reads its rows. With more, the lists are walked.

use domain::{Address, BlockRange, Order, Page, PageRequest};
use store::{ListKind, Parties, Party, StoreError};
use tokio_postgres::{Row, types::ToSql};

use super::{
    intersections::Lists,
    pages::clamped_range,
    spans::Numbering,
    walk::{Required, Walk},
};
use crate::{
    database::{Connection, find, query},
    lists::{ListTable, mask},
    rows::{RowExt, clamped},
};

/// The parties as conditions on lists of one kind; None if they cannot be satisfied.
pub(super) fn conditions(parties: Parties, kind: ListKind) -> Option<Vec<Condition>> {
    let condition = |(address, party)| Condition { kind, address, party };
    Some(parties.required()?.into_iter().map(condition).collect())
}

/// An entry must be in the list of an address, which is this to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Condition {
    pub(super) kind: ListKind,
    pub(super) address: Address,
    pub(super) party: Party,
}

/// The statement and parameters of a page with at most one condition. The address, if there is one, is the last parameter.
pub(super) fn single_page(numbering: Numbering, condition: Option<Condition>) -> String {
    match condition {
        None => {
            let name = numbering.name();
            format!(
                "select p.total, p.ids from span_of_blocks($1, $2) s
                cross join lateral span_page(s.low_{name}, s.high_{name}, $3, $4, $5) p"
            )
        }
        Some(Condition { kind, party, .. }) => {
            page_of_owner(numbering, kind.into(), party, "select id from address where address = $6")
        }
    }
}

/// The same of the list of an owner. `owner` selects its id, by the last parameters.
pub(super) fn page_of_owner(numbering: Numbering, table: ListTable, party: Party, owner: &str) -> String {
    let name = numbering.name();
    format!(
        "select p.total, p.ids from span_of_blocks($1, $2) s cross join lateral ({owner}) o
        cross join lateral {}_page(o.id, {}, s.low_{name}, s.high_{name}, $3, $4, $5) p",
        table.name(),
        mask(party)
    )
}

/// The parameters of [`single_page`].
pub(super) struct PageParameters {
    from: i64,
    to: i64,
    offset: i64,
    limit: i64,
    newest_first: bool,
    owner: Vec<Vec<u8>>,
}

impl PageParameters {
    pub(super) fn new(blocks: BlockRange, page: PageRequest, condition: Option<Condition>) -> Self {
        Self::of_owner(blocks, page, condition.iter().map(|condition| condition.address.to_vec()).collect())
    }

    pub(super) fn of_owner(blocks: BlockRange, page: PageRequest, owner: Vec<Vec<u8>>) -> Self {
        let (from, to) = clamped_range(blocks);
        let newest_first = page.order == Order::NewestFirst;
        Self { from, to, offset: clamped(page.offset), limit: page.limit.into(), newest_first, owner }
    }

    pub(super) async fn query(&self, client: &dyn Connection, sql: &str) -> Result<Vec<Row>, StoreError> {
        let Self { from, to, offset, limit, newest_first, owner } = self;
        let page: [&(dyn ToSql + Sync); 5] = [from, to, offset, limit, newest_first];
        let owner = owner.iter().map(|key| -> &(dyn ToSql + Sync) { key });
        query(client, sql, &page.into_iter().chain(owner).collect::<Vec<_>>()).await
    }
}

/// A page of the ids that satisfy all conditions; None if that takes a long walk.
pub(super) async fn intersect(
    client: &dyn Connection,
    lists: Lists<'_>,
    numbering: Numbering,
    conditions: &[Condition],
    blocks: BlockRange,
    page: PageRequest,
) -> Result<Option<Page<i64>>, StoreError> {
    let Some(required) = required(client, conditions).await? else { return Ok(Some(Page::empty(0))) };
    let walk = Walk { client, required, rows: None, step: lists.intersections.step() };
    lists.page(&walk, numbering, format!("{numbering:?} {conditions:?}"), blocks, page).await
}

/// None if they cannot be satisfied: an address was never seen.
pub(super) async fn required(
    client: &dyn Connection,
    conditions: &[Condition],
) -> Result<Option<Vec<Required>>, StoreError> {
    let mut required = Vec::with_capacity(conditions.len());
    for Condition { kind, address, party } in conditions {
        let Some(owner) = address_id(client, address).await? else { return Ok(None) };
        required.push(Required { lists: vec![kind.of(owner)], party: *party });
    }
    Ok(Some(required))
}

pub(super) async fn address_id(client: &dyn Connection, address: &Address) -> Result<Option<u64>, StoreError> {
    let row = find(client, "select id from address where address = $1", &[&address.as_slice()]).await?;
    row.map(|row| row.u64(0)).transpose()
}
