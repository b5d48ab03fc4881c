use domain::{
    Address, B256, Bytes, Charges, Page, PageRequest, Payment, Selector, Transaction, TransactionEvents,
    TransactionFilter, U256,
};
use store::{ListKind, Parties, StoreError};
use tokio_postgres::Row;

use super::{
    intersections::Intersections,
    pages::{KNOWN_PAGE, page_of},
    select::{PageParameters, Rows, conditions, intersect, single_page},
    spans::Numbering,
    trades::{TRADES, trade_from_row},
    transfers::{TRANSFERS, transfer_from_row},
};
use crate::{
    database::{Connection, find, query},
    numeric::Numeric,
    rows::{RowExt, int8, to_u256},
};

const TRANSACTIONS: Rows = Rows {
    columns:
        "t.hash, t.block, b.hash, t.id - b.transactions, b.timestamp, f.address, r.address, c.address, t.value, t.nonce,
        t.gas_used, t.gas_price, t.succeeded, t.method, t.blob_fee, t.l1_fee, t.operator_fee, t.fee_currency,
        t.gas_limit, t.cumulative_gas_used, t.input",
    joins: "left join transaction t on t.id = u.id left join block b on b.number = t.block
        left join address f on f.id = t.sender left join address r on r.id = t.receiver
        left join address c on c.id = t.created",
};

fn charges_from_row(row: &Row, first: usize) -> Result<Charges, StoreError> {
    let amount = |column| -> Result<U256, StoreError> {
        Ok(row.value::<Option<Numeric>>(column)?.map(to_u256).transpose()?.unwrap_or_default())
    };
    let payment = match row.value::<Option<&[u8]>>(first + 3)? {
        None => Payment::Coin,
        Some([]) => Payment::Nothing,
        Some(token) => Payment::Token(Address::try_from(token).map_err(|_| StoreError::Corrupt("an address"))?),
    };
    Ok(Charges { blob: amount(first)?, l1: amount(first + 1)?, operator: amount(first + 2)?, payment })
}

fn transaction_from_row(row: &Row) -> Result<Transaction, StoreError> {
    let index = row.value::<i64>(5)?;
    let method = row.value::<Option<&[u8]>>(15)?;
    let method = method.map(|method| Selector::try_from(method).map_err(|_| StoreError::Corrupt("a selector")));
    Ok(Transaction {
        hash: row.hash(2)?,
        block_number: row.u64(3)?,
        block_hash: row.hash(4)?,
        index: u32::try_from(index).map_err(|_| StoreError::Corrupt("a transaction outside its block"))?,
        timestamp: row.u64(6)?,
        from: row.address(7)?,
        to: row.option_address(8)?,
        created: row.option_address(9)?,
        value: row.amount(10)?,
        nonce: row.u64(11)?,
        gas_used: row.u64(12)?,
        gas_limit: row.option_u64(20)?,
        cumulative_gas_used: row.option_u64(21)?,
        gas_price: row.u128(13)?,
        charges: charges_from_row(row, 16)?.boxed(),
        succeeded: row.value(14)?,
        method: method.transpose()?,
        input: row.value::<Option<&[u8]>>(22)?.map(Bytes::copy_from_slice),
    })
}

pub(crate) async fn find_transaction(client: &dyn Connection, hash: B256) -> Result<Option<Transaction>, StoreError> {
    let found = "select 1::int8 as total, array(select id from transaction where hash = $1) as ids";
    let rows = query(client, &TRANSACTIONS.statement(found), &[&hash.as_slice()]).await?;
    Ok(page_of(&rows, transaction_from_row)?.items.into_iter().next())
}

/// Whether a filter combines lists, which takes several statements.
pub(crate) fn combines_transaction_lists(filter: &TransactionFilter) -> bool {
    matches!(Parties::of(filter.address, filter.from, filter.to), Parties::Pair { .. })
}

/// Needs a snapshot if the filter combines lists.
pub(crate) async fn list_transactions(
    client: &dyn Connection,
    intersections: &Intersections,
    filter: &TransactionFilter,
    page: PageRequest,
) -> Result<Page<Transaction>, StoreError> {
    let parties = Parties::of(filter.address, filter.from, filter.to);
    let Some(conditions) = conditions(parties, ListKind::Transactions) else { return Ok(Page::empty(0)) };
    let rows = if conditions.len() > 1 {
        let Page { items, total } =
            intersect(client, intersections, Numbering::Transactions, &conditions, filter.blocks, page).await?;
        query(client, &TRANSACTIONS.statement(KNOWN_PAGE), &[&int8(total), &items]).await?
    } else {
        let condition = conditions.first().copied();
        let sql = TRANSACTIONS.statement(&single_page(Numbering::Transactions, condition));
        let parameters = PageParameters::new(filter.blocks, page, condition);
        parameters.query(client, &sql).await?
    };
    page_of(&rows, transaction_from_row)
}

/// Transfers and trades are stored in the order of their transactions, so those of one are within the span of its block.
/// Needs a snapshot.
pub(crate) async fn find_transaction_events(
    client: &dyn Connection,
    hash: B256,
    offset: u64,
    limit: u32,
) -> Result<Option<TransactionEvents>, StoreError> {
    let sql = "select t.id, b.transfers, coalesce(n.transfers, c.transfers), b.trades, coalesce(n.trades, c.trades)
        from transaction t join block b on b.number = t.block left join block n on n.number = t.block + 1, chain c
        where t.hash = $1";
    let Some(row) = find(client, sql, &[&hash.as_slice()]).await? else { return Ok(None) };
    let tx: i64 = row.value(0)?;
    let span = |column: usize| -> Result<(i64, i64), StoreError> { Ok((row.value(column)?, row.value(column + 1)?)) };
    let page = |table: &str| {
        format!(
            "select e.total, e.ids[$4:$5] as ids from (
                select count(*) as total, coalesce(array_agg(id order by id), '{{}}') as ids
                from {table} where id >= $2 and id < $3 and transaction = $1
            ) e"
        )
    };
    // Positions in an array begin with 1.
    let first = i32::try_from(offset).unwrap_or(i32::MAX).saturating_add(1);
    let last = first.saturating_sub(1).saturating_add(i32::try_from(limit).unwrap_or(i32::MAX));
    let (low, high) = span(1)?;
    let transfers = query(client, &TRANSFERS.statement(&page("transfer")), &[&tx, &low, &high, &first, &last]).await?;
    let (low, high) = span(3)?;
    let trades = query(client, &TRADES.statement(&page("trade")), &[&tx, &low, &high, &first, &last]).await?;
    Ok(Some(TransactionEvents {
        transfers: page_of(&transfers, transfer_from_row)?,
        trades: page_of(&trades, trade_from_row)?,
    }))
}
