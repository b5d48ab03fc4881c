use std::cmp::Reverse;

use async_trait::async_trait;
use domain::{
    Address, Balance, BalanceKey, BalanceSource, Holder, Order, Page, PageRequest, Token, TokenBalance, TokenBalanceAt,
};
use store::{StoreError, TokenReader};
use tokio_postgres::Row;

use super::pages::page_of;
use crate::{
    database::{Connection, find, query},
    numeric::Numeric,
    ranks::{HELD_TOKENS, HOLDERS, RankedSet},
    reader::{PostgresReader, read_statement},
    rows::{RowExt, clamped},
    token_names::folded,
    tokens::{TOKEN, token_from_row},
};

#[async_trait]
impl TokenReader for PostgresReader {
    async fn list_tokens(&self, page: PageRequest) -> Result<Page<Token>, StoreError> {
        read_statement!(self, |client| list_tokens(&client, page))
    }

    async fn find_token(&self, address: Address) -> Result<Option<Token>, StoreError> {
        read_statement!(self, |client| find_token(&client, address))
    }

    async fn search_tokens(&self, beginning: &str, limit: usize) -> Result<Vec<Token>, StoreError> {
        read_statement!(self, |client| search_tokens(&client, beginning, limit))
    }

    async fn list_holders(&self, token: Address, page: PageRequest) -> Result<Option<Page<Holder>>, StoreError> {
        read_statement!(self, |client| list_holders(&client, token, page))
    }

    async fn list_address_tokens(&self, address: Address, page: PageRequest) -> Result<Page<TokenBalance>, StoreError> {
        read_statement!(self, |client| list_address_tokens(&client, address, page))
    }

    async fn find_token_balance(&self, key: BalanceKey) -> Result<Option<TokenBalanceAt>, StoreError> {
        read_statement!(self, |client| find_token_balance(&client, key))
    }
}

/// Maximum tokens considered for one prefix, so that a single letter does not scan the names of the whole chain.
const MAX_CANDIDATES: i64 = 200;

pub(crate) async fn find_token(client: &dyn Connection, address: Address) -> Result<Option<Token>, StoreError> {
    let sql = format!("select {TOKEN} from address a join token t on t.id = a.id where a.address = $1");
    let row = find(client, &sql, &[&address.as_slice()]).await?;
    row.map(|row| token_from_row(&row, 0)).transpose()
}

/// Sets are stored in their default order.
pub(crate) async fn list_tokens(client: &dyn Connection, page: PageRequest) -> Result<Page<Token>, StoreError> {
    let sql = format!(
        "select rank_total($1, $2), r.n, {TOKEN} from (select 1) one
        left join lateral rank_page($1, $2, $3, $4, $5) r on true
        left join address a on a.address = r.tie left join token t on t.id = a.id order by r.n"
    );
    let (kind, owner, from_end) =
        (RankedSet::Tokens.kind(), RankedSet::Tokens.owner(), page.order == Order::OldestFirst);
    let (offset, limit) = (clamped(page.offset), i64::from(page.limit));
    let rows = query(client, &sql, &[&kind, &owner, &offset, &limit, &from_end]).await?;
    page_of(&rows, |row| token_from_row(row, 2))
}

pub(crate) async fn list_holders(
    client: &dyn Connection,
    token: Address,
    page: PageRequest,
) -> Result<Option<Page<Holder>>, StoreError> {
    let sql = "select rank_total($1, k.id), r.n, h.address, -r.sort
        from (select t.id from address a join token t on t.id = a.id where a.address = $2) k
        left join lateral rank_page($1, k.id, $3, $4, $5) r on true
        left join address h on h.id = ('x' || encode(r.tie, 'hex'))::bit(64)::int8 order by r.n";
    let rows = page_of_address(client, sql, HOLDERS, token, page).await?;
    let holder = |row: &Row| Ok(Holder { address: row.address(2)?, balance: row.value::<Numeric>(3)?.0 });
    // Without a token there is no row.
    if rows.is_empty() { Ok(None) } else { page_of(&rows, holder).map(Some) }
}

pub(crate) async fn list_address_tokens(
    client: &dyn Connection,
    address: Address,
    page: PageRequest,
) -> Result<Page<TokenBalance>, StoreError> {
    let sql = format!(
        "select rank_total($1, k.id), r.n, b.ranked, {TOKEN}
        from (select id from address where address = $2) k
        left join lateral rank_page($1, k.id, $3, $4, $5) r on true
        left join token t on t.id = ('x' || encode(r.tie, 'hex'))::bit(64)::int8
        left join address a on a.id = t.id left join balance b on b.token = t.id and b.holder = k.id order by r.n"
    );
    let rows = page_of_address(client, &sql, HELD_TOKENS, address, page).await?;
    page_of(&rows, |row| Ok(TokenBalance { token: token_from_row(row, 3)?, balance: row.value::<Numeric>(2)?.0 }))
}

pub(crate) async fn find_token_balance(
    client: &dyn Connection,
    key: BalanceKey,
) -> Result<Option<TokenBalanceAt>, StoreError> {
    let sql = format!(
        "select c.tip_number, c.tip_hash, b.amount, b.call_amount, {TOKEN}
        from chain c join address a on a.address = $1 join token t on t.id = a.id
        left join address h on h.address = $2 left join balance b on b.token = t.id and b.holder = h.id
        where c.tip_number is not null"
    );
    let Some(row) = find(client, &sql, &[&key.token.as_slice(), &key.holder.as_slice()]).await? else {
        return Ok(None);
    };
    let token = token_from_row(&row, 4)?;
    let column = match token.balance_source {
        BalanceSource::Events => 2,
        BalanceSource::Calls => 3,
    };
    let balance = row.value::<Option<Numeric>>(column)?.map_or(Balance::ZERO, |balance| balance.0);
    let block = row.option_block(0)?.ok_or(StoreError::Corrupt("a chain without a tip"))?;
    Ok(Some(TokenBalanceAt { token, balance, block }))
}

/// The rows of a page of the set of an address.
pub(super) async fn page_of_address(
    client: &dyn Connection,
    sql: &str,
    kind: i16,
    address: Address,
    page: PageRequest,
) -> Result<Vec<Row>, StoreError> {
    let (offset, limit, from_end) = (clamped(page.offset), i64::from(page.limit), page.order == Order::OldestFirst);
    query(client, sql, &[&kind, &address.as_slice(), &offset, &limit, &from_end]).await
}

pub(crate) async fn search_tokens(
    client: &dyn Connection,
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
        let exact = is_exact_match(&token.metadata.symbol) || is_exact_match(&token.metadata.name);
        (!exact, Reverse(token.holder_count), token.address)
    });
    tokens.truncate(limit);
    Ok(tokens)
}
