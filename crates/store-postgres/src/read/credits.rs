use async_trait::async_trait;
use domain::{Credit, CreditFilter, Page, PageRequest};
use store::{CreditReader, ListKind, Party, StoreError};

use super::{
    pages::page_of,
    select::{Condition, PageParameters, single_page},
    spans::Numbering,
};
use crate::{
    database::Connection,
    reader::{PostgresReader, read_statement},
    tables::{CREDITS, credit_from_row},
};

#[async_trait]
impl CreditReader for PostgresReader {
    async fn list_credits(&self, filter: &CreditFilter, page: PageRequest) -> Result<Page<Credit>, StoreError> {
        read_statement!(self, |client| list_credits(&client, filter, page))
    }
}

async fn list_credits(
    client: &dyn Connection,
    filter: &CreditFilter,
    page: PageRequest,
) -> Result<Page<Credit>, StoreError> {
    let condition = filter.of.map(|(address, class)| {
        let kind = ListKind::of_credits(class);
        Condition { kind, address, party: Party::Any }
    });
    let sql = CREDITS.statement(&single_page(Numbering::Credits, condition));
    let rows = PageParameters::new(filter.blocks, page, condition).query(client, &sql).await?;
    page_of(&rows, credit_from_row)
}
