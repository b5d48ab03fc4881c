use async_trait::async_trait;
use domain::{Address, BlockRange, Exchange, Page, PageRequest, Pool, Trade, TradeFilter};
use store::{ListKey, ListKind, Party, StoreError, TradeReader};

use super::{
    intersections::Lists,
    pages::{KNOWN_PAGE, page_of},
    select::{Condition, PageParameters, address_id, intersect, required, single_page},
    spans::{Numbering, span},
    walk::{Required, Walk},
};
use crate::{
    database::{Connection, find, query},
    lists::ListTable,
    reader::{PostgresReader, read_lists, read_statement},
    rows::{RowExt, int8},
    tables::{TRADES, trade_from_row},
};

#[async_trait]
impl TradeReader for PostgresReader {
    async fn list_trades(&self, filter: &TradeFilter, page: PageRequest) -> Result<Page<Trade>, StoreError> {
        if combines_trade_lists(filter) {
            return read_lists!(self, |client, lists| list_trades(&client, lists, filter, page));
        }
        read_lists!(statement self, |client, lists| list_trades(&client, lists, filter, page))
    }

    async fn find_pool(&self, address: Address) -> Result<Option<Pool>, StoreError> {
        read_statement!(self, |client| find_pool(&client, address))
    }
}

/// Whether a filter combines lists, which takes several statements.
pub(crate) fn combines_trade_lists(filter: &TradeFilter) -> bool {
    filter.exchanges.is_some() || conditions(filter).len() > 1
}

/// The conditions other than the exchanges.
fn conditions(filter: &TradeFilter) -> Vec<Condition> {
    let lists = [(filter.maker, ListKind::MakerTrades), (filter.pool, ListKind::PoolTrades)].into_iter();
    lists.filter_map(|(address, kind)| Some(Condition { kind, address: address?, party: Party::Any })).collect()
}

/// Needs a snapshot if the filter combines lists.
pub(crate) async fn list_trades(
    client: &dyn Connection,
    lists: Lists<'_>,
    filter: &TradeFilter,
    page: PageRequest,
) -> Result<Option<Page<Trade>>, StoreError> {
    let conditions = conditions(filter);
    let rows = if let Some(exchanges) = &filter.exchanges {
        let found = select_by_exchange(client, lists, exchanges, &conditions, filter.blocks, page).await?;
        let Some(Page { items, total }) = found else { return Ok(None) };
        query(client, &TRADES.statement(KNOWN_PAGE), &[&int8(total), &items]).await?
    } else if conditions.len() > 1 {
        let found = intersect(client, lists, Numbering::Trades, &conditions, filter.blocks, page).await?;
        let Some(Page { items, total }) = found else { return Ok(None) };
        query(client, &TRADES.statement(KNOWN_PAGE), &[&int8(total), &items]).await?
    } else {
        let condition = conditions.first().copied();
        let sql = TRADES.statement(&single_page(Numbering::Trades, condition));
        PageParameters::new(filter.blocks, page, condition).query(client, &sql).await?
    };
    page_of(&rows, trade_from_row).map(Some)
}

/// A page of the trades on any of the exchanges that satisfy all conditions; None if that takes a long walk. No trade is on two
/// exchanges.
async fn select_by_exchange(
    client: &dyn Connection,
    lists: Lists<'_>,
    exchanges: &[Exchange],
    conditions: &[Condition],
    blocks: BlockRange,
    page: PageRequest,
) -> Result<Option<Page<i64>>, StoreError> {
    // One exchange and nothing else: its list has the total and the page.
    if let ([exchange], []) = (exchanges, conditions) {
        let lists = exchange_lists(client, &[*exchange]).await?;
        let span = span(client, Numbering::Trades, blocks).await?;
        let (Some(list), Some((low, high))) = (lists.first(), span) else { return Ok(Some(Page::empty(0))) };
        return one_exchange(client, *list, low, high, page).await.map(Some);
    }
    let on_exchanges = Required { lists: exchange_lists(client, exchanges).await?, party: Party::Any };
    let Some(mut required) = required(client, conditions).await? else { return Ok(Some(Page::empty(0))) };
    required.push(on_exchanges);
    let walk = Walk { client, required, rows: None, step: lists.intersections.step() };
    lists.page(&walk, Numbering::Trades, format!("{exchanges:?} {conditions:?}"), blocks, page).await
}

/// The lists of exchanges that have any.
async fn exchange_lists(client: &dyn Connection, exchanges: &[Exchange]) -> Result<Vec<ListKey>, StoreError> {
    let mut lists = Vec::new();
    for exchange in exchanges {
        if let Some(factory) = address_id(client, &exchange.factory).await? {
            lists.push(ListKind::of_exchange(exchange.style).of(factory));
        }
    }
    Ok(lists)
}

async fn one_exchange(
    client: &dyn Connection,
    list: ListKey,
    low: i64,
    high: i64,
    page: PageRequest,
) -> Result<Page<i64>, StoreError> {
    let (table, owner) = ListTable::of(list);
    let newest_first = page.order == domain::Order::NewestFirst;
    let sql = format!("select p.total, p.ids from {}_page($1, 0, $2, $3, $4, $5, $6) p", table.name());
    let (offset, limit) = (crate::rows::clamped(page.offset), i64::from(page.limit));
    let row = find(client, &sql, &[&int8(owner), &low, &high, &offset, &limit, &newest_first]).await?;
    row.map_or(Ok(Page::empty(0)), |row| Ok(Page { total: row.u64(0)?, items: row.value(1)? }))
}

pub(crate) async fn find_pool(client: &dyn Connection, address: Address) -> Result<Option<Pool>, StoreError> {
    let sql = "select p.style, f.address, a0.address, a1.address from address a join pool p on p.id = a.id
        join address f on f.id = p.factory join address a0 on a0.id = p.token0 join address a1 on a1.id = p.token1
        where a.address = $1";
    let Some(row) = find(client, sql, &[&address.as_slice()]).await? else { return Ok(None) };
    Ok(Some(Pool {
        address,
        style: row.kind(0)?,
        factory: row.address(1)?,
        token0: row.address(2)?,
        token1: row.address(3)?,
    }))
}
