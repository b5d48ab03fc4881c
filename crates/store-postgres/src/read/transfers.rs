use domain::{Page, PageRequest, Transfer, TransferEvent, TransferFilter};
use store::{ListKind, Parties, Party, StoreError};
use tokio_postgres::Row;

use super::{
    intersections::Intersections,
    pages::{KNOWN_PAGE, page_of},
    select::{Condition, PageParameters, Rows, conditions, intersect, single_page},
    spans::Numbering,
};
use crate::{
    database::{Connection, query},
    numeric::Numeric,
    rows::{RowExt, int8, to_u256},
    tokens::{kind_from, option_decimals},
};

pub(super) const TRANSFERS: Rows = Rows {
    columns: "x.transaction - b.transactions, x.log_index, x.batch_index, a.address, x.kind, f.address, r.address, x.value,
        x.token_id, t.hash, t.block, b.timestamp, k.name, k.symbol, k.decimals",
    joins: "left join transfer x on x.id = u.id left join transaction t on t.id = x.transaction
        left join block b on b.number = t.block left join address a on a.id = x.token left join address f on f.id = x.sender
        left join address r on r.id = x.receiver left join token k on k.id = x.token",
};

pub(super) fn transfer_from_row(row: &Row) -> Result<Transfer, StoreError> {
    let tx_index = u32::try_from(row.value::<i64>(2)?);
    Ok(Transfer {
        event: TransferEvent {
            tx_index: tx_index.map_err(|_| StoreError::Corrupt("a transfer outside its block"))?,
            log_index: row.u32(3)?,
            batch_index: row.u32(4)?,
            token: row.address(5)?,
            kind: kind_from(row.value(6)?)?,
            from: row.address(7)?,
            to: row.address(8)?,
            value: row.amount(9)?,
            token_id: row.value::<Option<Numeric>>(10)?.map(to_u256).transpose()?,
        },
        tx_hash: row.hash(11)?,
        block_number: row.u64(12)?,
        timestamp: row.u64(13)?,
        token_name: row.option_text(14)?,
        token_symbol: row.option_text(15)?,
        token_decimals: option_decimals(row, 16)?,
    })
}

/// Whether a filter combines lists, which takes several statements.
pub(crate) fn combines_transfer_lists(filter: &TransferFilter) -> bool {
    let parties = Parties::of(filter.address, filter.from, filter.to);
    matches!(parties, Parties::Pair { .. }) || filter.token.is_some() && parties != Parties::Any
}

/// Needs a snapshot if the filter combines lists.
pub(crate) async fn list_transfers(
    client: &dyn Connection,
    intersections: &Intersections,
    filter: &TransferFilter,
    page: PageRequest,
) -> Result<Page<Transfer>, StoreError> {
    let parties = Parties::of(filter.address, filter.from, filter.to);
    let Some(mut conditions) = conditions(parties, ListKind::Transfers) else { return Ok(Page::empty(0)) };
    let token = filter.token.map(|address| Condition { kind: ListKind::TokenTransfers, address, party: Party::Any });
    conditions.extend(token);
    let rows = if conditions.len() > 1 {
        let Page { items, total } =
            intersect(client, intersections, Numbering::Transfers, &conditions, filter.blocks, page).await?;
        query(client, &TRANSFERS.statement(KNOWN_PAGE), &[&int8(total), &items]).await?
    } else {
        let condition = conditions.first().copied();
        let sql = TRANSFERS.statement(&single_page(Numbering::Transfers, condition));
        PageParameters::new(filter.blocks, page, condition).query(client, &sql).await?
    };
    page_of(&rows, transfer_from_row)
}
