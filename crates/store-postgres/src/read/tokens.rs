use std::cmp::Reverse;

use deadpool_postgres::GenericClient;
use domain::{Address, Holder, Order, Page, PageRequest, Token, TokenBalance};
use store::StoreError;

use super::pages::page_of;
use crate::{
    database::{find, query},
    numeric::Numeric,
    ranks::RankedSet,
    rows::{RowExt, clamped},
    tokens::{TOKEN, token_from_row},
    write::folded,
};

/// Maximum tokens considered for one prefix, so that a single letter does not scan the names of the whole chain.
const MAX_CANDIDATES: i64 = 200;

pub(crate) async fn find_token(client: &impl GenericClient, address: Address) -> Result<Option<Token>, StoreError> {
    let sql = format!("select {TOKEN} from address a join token t on t.id = a.id where a.address = $1");
    let row = find(client, &sql, &[&address.as_slice()]).await?;
    row.map(|row| token_from_row(&row, 0)).transpose()
}

pub(crate) async fn list_tokens(client: &impl GenericClient, page: PageRequest) -> Result<Page<Token>, StoreError> {
    let sql = format!(
        "select rank_total($1, $2), r.n, {TOKEN} from (select 1) one
        left join lateral rank_page($1, $2, $3, $4, $5) r on true
        left join address a on a.address = r.tie left join token t on t.id = a.id order by r.n"
    );
    let rows = ranked_page(client, &sql, RankedSet::Tokens, page).await?;
    page_of(&rows, |row| token_from_row(row, 2))
}

/// The rows of a page of a set. Its default order is its stored order.
async fn ranked_page(
    client: &impl GenericClient,
    sql: &str,
    set: RankedSet,
    page: PageRequest,
) -> Result<Vec<tokio_postgres::Row>, StoreError> {
    let from_end = page.order == Order::OldestFirst;
    let (kind, owner) = (set.kind(), set.owner());
    query(client, sql, &[&kind, &owner, &clamped(page.offset), &i64::from(page.limit), &from_end]).await
}

/// Needs a snapshot.
pub(crate) async fn list_holders(
    client: &impl GenericClient,
    token: Address,
    page: PageRequest,
) -> Result<Option<Page<Holder>>, StoreError> {
    let sql = "select t.id from address a join token t on t.id = a.id where a.address = $1";
    let Some(row) = find(client, sql, &[&token.as_slice()]).await? else { return Ok(None) };
    let set = RankedSet::Holders { token: row.u64(0)? };
    let sql = "select rank_total($1, $2), r.n, a.address, -r.sort from (select 1) one
        left join lateral rank_page($1, $2, $3, $4, $5) r on true
        left join address a on a.id = ('x' || encode(r.tie, 'hex'))::bit(64)::int8 order by r.n";
    let rows = ranked_page(client, sql, set, page).await?;
    let holder =
        |row: &tokio_postgres::Row| Ok(Holder { address: row.address(2)?, balance: row.value::<Numeric>(3)?.0 });
    page_of(&rows, holder).map(Some)
}

/// Needs a snapshot.
pub(crate) async fn list_address_tokens(
    client: &impl GenericClient,
    address: Address,
    page: PageRequest,
) -> Result<Page<TokenBalance>, StoreError> {
    let row = find(client, "select id from address where address = $1", &[&address.as_slice()]).await?;
    let Some(row) = row else { return Ok(Page::empty(0)) };
    let set = RankedSet::HeldTokens { holder: row.u64(0)? };
    let sql = format!(
        "select rank_total($1, $2), r.n, b.ranked, {TOKEN} from (select 1) one
        left join lateral rank_page($1, $2, $3, $4, $5) r on true
        left join token t on t.id = ('x' || encode(r.tie, 'hex'))::bit(64)::int8
        left join address a on a.id = t.id left join balance b on b.token = t.id and b.holder = $2 order by r.n"
    );
    let rows = ranked_page(client, &sql, set, page).await?;
    page_of(&rows, |row| Ok(TokenBalance { token: token_from_row(row, 3)?, balance: row.value::<Numeric>(2)?.0 }))
}

pub(crate) async fn search_tokens(
    client: &impl GenericClient,
    beginning: &str,
    limit: usize,
) -> Result<Vec<Token>, StoreError> {
    let beginning = folded(beginning);
    if beginning.is_empty() {
        return Ok(Vec::new());
    }
    // No UTF-8 text has this byte.
    let end = [beginning.as_slice(), &[0xff]].concat();
    let sql = format!(
        "select {TOKEN} from (
            select distinct token from (
                select token from token_name where name >= $1 and name < $2 order by name, token limit $3
            ) candidate
        ) n join token t on t.id = n.token join address a on a.id = t.id"
    );
    let rows = query(client, &sql, &[&beginning, &end, &MAX_CANDIDATES]).await?;
    let mut tokens = rows.iter().map(|row| token_from_row(row, 0)).collect::<Result<Vec<Token>, _>>()?;
    let is_exact_match = |text: &str| folded(text) == beginning;
    tokens.sort_by_key(|token| {
        let exact = is_exact_match(&token.facts.symbol) || is_exact_match(&token.facts.name);
        (!exact, Reverse(token.holder_count), token.address)
    });
    tokens.truncate(limit);
    Ok(tokens)
}
