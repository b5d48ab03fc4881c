//! The user operations that a transaction executed (ERC-4337).

use contracts::user_operations_of;
use domain::Transaction;

use crate::{
    error::PageError,
    state::WebState,
    view::{ListLocation, ListPage, ListPager, PageNames, UserOperationRow},
};

const OPERATIONS_OF_PAGE: u32 = 25;

pub(super) struct OperationsView {
    pub(super) rows: Vec<UserOperationRow>,
    pub(super) pager: ListPager,
}

/// A page of them; None without any.
pub(super) async fn operations_view(
    app: &WebState,
    tx: &Transaction,
    path: &str,
    number: Option<&str>,
    names: &PageNames,
) -> Result<Option<OperationsView>, PageError> {
    // Only a call reaches an entry point.
    if tx.method.is_none() {
        return Ok(None);
    }
    let all = user_operations_of(&*app.chain, tx.hash, tx.block_number).await?;
    if all.is_empty() {
        return Ok(None);
    }
    let (page, total) = (ListPage::new(number, OPERATIONS_OF_PAGE), all.len() as u64);
    let listed = page.request().ranks(total).filter_map(|rank| all.get(usize::try_from(rank).ok()?));
    Ok(Some(OperationsView {
        rows: listed.map(|operation| UserOperationRow::new(operation, names)).collect(),
        pager: ListPager::new(page, total, ListLocation { what: "User operations", path, name: "operations" }),
    }))
}
