use async_trait::async_trait;
use domain::{B256, Page, PageRequest, Transaction, TransactionEvents, TransactionFilter};
use futures::try_join;
use store::{ListKind, Parties, StoreError, TransactionReader};

use super::{
    intersections::Lists,
    pages::{KNOWN_PAGE, page_of},
    select::{PageParameters, conditions, intersect, single_page},
    spans::Numbering,
};
use crate::{
    database::{Connection, find, query},
    reader::{PostgresReader, read_lists, read_snapshot, read_statement},
    rows::{RowExt, int8},
    tables::{TRADES, TRANSACTIONS, TRANSFERS, trade_from_row, transaction_from_row, transfer_from_row},
};

#[async_trait]
impl TransactionReader for PostgresReader {
    async fn find_transaction(&self, hash: B256) -> Result<Option<Transaction>, StoreError> {
        read_statement!(self, |client| find_transaction(&client, hash))
    }

    async fn list_transactions(
        &self,
        filter: &TransactionFilter,
        page: PageRequest,
    ) -> Result<Page<Transaction>, StoreError> {
        if combines_transaction_lists(filter) {
            return read_lists!(self, |client, lists| list_transactions(&client, lists, filter, page));
        }
        read_lists!(statement self, |client, lists| list_transactions(&client, lists, filter, page))
    }

    async fn find_transaction_events(
        &self,
        hash: B256,
        offset: u64,
        limit: u32,
    ) -> Result<Option<TransactionEvents>, StoreError> {
        read_snapshot!(self, |client| find_transaction_events(&client, hash, offset, limit))
    }
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
    lists: Lists<'_>,
    filter: &TransactionFilter,
    page: PageRequest,
) -> Result<Option<Page<Transaction>>, StoreError> {
    let parties = Parties::of(filter.address, filter.from, filter.to);
    let Some(conditions) = conditions(parties, ListKind::Transactions) else { return Ok(Some(Page::empty(0))) };
    let rows = if conditions.len() > 1 {
        let found = intersect(client, lists, Numbering::Transactions, &conditions, filter.blocks, page).await?;
        let Some(Page { items, total }) = found else { return Ok(None) };
        query(client, &TRANSACTIONS.statement(KNOWN_PAGE), &[&int8(total), &items]).await?
    } else {
        let condition = conditions.first().copied();
        let sql = TRANSACTIONS.statement(&single_page(Numbering::Transactions, condition));
        let parameters = PageParameters::new(filter.blocks, page, condition);
        parameters.query(client, &sql).await?
    };
    page_of(&rows, transaction_from_row).map(Some)
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
    let transfers = async {
        let (low, high) = span(1)?;
        query(client, &TRANSFERS.statement(&page("transfer")), &[&tx, &low, &high, &first, &last]).await
    };
    let trades = async {
        let (low, high) = span(3)?;
        query(client, &TRADES.statement(&page("trade")), &[&tx, &low, &high, &first, &last]).await
    };
    let (transfers, trades) = try_join!(transfers, trades)?;
    Ok(Some(TransactionEvents {
        transfers: page_of(&transfers, transfer_from_row)?,
        trades: page_of(&trades, trade_from_row)?,
    }))
}
