use async_trait::async_trait;
use domain::{Page, PageRequest, Transfer, TransferFilter};
use store::{ListKind, Parties, Party, StoreError, TransferReader};

use super::{
    intersections::Lists,
    pages::{KNOWN_PAGE, page_of},
    select::{Condition, PageParameters, conditions, intersect, single_page},
    spans::Numbering,
};
use crate::{
    database::{Connection, query},
    reader::{PostgresReader, read_lists},
    rows::int8,
    tables::{TRANSFERS, transfer_from_row},
};

#[async_trait]
impl TransferReader for PostgresReader {
    async fn list_transfers(&self, filter: &TransferFilter, page: PageRequest) -> Result<Page<Transfer>, StoreError> {
        if combines_transfer_lists(filter) {
            return read_lists!(self, |client, lists| list_transfers(&client, lists, filter, page));
        }
        read_lists!(statement self, |client, lists| list_transfers(&client, lists, filter, page))
    }
}

/// Whether a filter combines lists, which takes several statements.
pub(crate) fn combines_transfer_lists(filter: &TransferFilter) -> bool {
    let parties = Parties::of(filter.address, filter.from, filter.to);
    matches!(parties, Parties::Pair { .. }) || filter.token.is_some() && parties != Parties::Any
}

/// Needs a snapshot if the filter combines lists.
pub(crate) async fn list_transfers(
    client: &dyn Connection,
    lists: Lists<'_>,
    filter: &TransferFilter,
    page: PageRequest,
) -> Result<Option<Page<Transfer>>, StoreError> {
    let parties = Parties::of(filter.address, filter.from, filter.to);
    let Some(mut conditions) = conditions(parties, ListKind::Transfers) else { return Ok(Some(Page::empty(0))) };
    let token = filter.token.map(|address| Condition { kind: ListKind::TokenTransfers, address, party: Party::Any });
    conditions.extend(token);
    let rows = if conditions.len() > 1 {
        let found = intersect(client, lists, Numbering::Transfers, &conditions, filter.blocks, page).await?;
        let Some(Page { items, total }) = found else { return Ok(None) };
        query(client, &TRANSFERS.statement(KNOWN_PAGE), &[&int8(total), &items]).await?
    } else {
        let condition = conditions.first().copied();
        let sql = TRANSFERS.statement(&single_page(Numbering::Transfers, condition));
        PageParameters::new(filter.blocks, page, condition).query(client, &sql).await?
    };
    page_of(&rows, transfer_from_row).map(Some)
}
