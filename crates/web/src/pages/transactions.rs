use askama::Template;
use axum::{
    extract::{Query, State},
    response::Response,
};
use domain::TransactionFilter;

use crate::{
    error::PageError,
    frame::{Frame, Section},
    methods::methods_of,
    state::App,
    view::{Pager, Paging, TransactionRow, counted},
};

#[derive(Template)]
#[template(path = "transactions.html")]
struct Transactions {
    frame: Frame,
    transactions: Vec<TransactionRow>,
    pager: Pager,
}

pub(super) async fn show(State(app): State<App>, Query(paging): Query<Paging>) -> Result<Response, PageError> {
    let names = &app.page_names();
    let listed = app.chain.list_transactions(&TransactionFilter::default(), paging.request()).await?;
    if let Some(file) = paging.file() {
        return Ok(file.of("transactions", &listed.items));
    }
    let methods = methods_of(&app, &listed.items).await?;
    let pager = paging.pager("/transactions", listed.total).with_files();
    let description = format!(
        "Transactions on {}, the newest first: {} with their method, sender, receiver, value and fee.",
        names.chain,
        counted(listed.total, "transaction")
    );
    app.page(
        names,
        &Transactions {
            frame: app
                .frame("Transactions", Section::Transactions)
                .await
                .described(description)
                .at_page(&pager)
                .live_if(paging.is_first()),
            transactions: listed.items.iter().map(|tx| TransactionRow::new(tx, &methods, names)).collect(),
            pager,
        },
    )
    .await
}
