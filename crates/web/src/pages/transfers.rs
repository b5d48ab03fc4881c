use askama::Template;
use axum::{
    extract::{Query, State},
    response::Response,
};
use domain::TransferFilter;

use crate::{
    error::PageError,
    frame::{Frame, Section},
    state::App,
    view::{Pager, Paging, TransferRow, counted},
};

#[derive(Template)]
#[template(path = "transfers.html")]
struct Transfers {
    frame: Frame,
    transfers: Vec<TransferRow>,
    pager: Pager,
}

pub(super) async fn show(State(app): State<App>, Query(paging): Query<Paging>) -> Result<Response, PageError> {
    let names = &app.page_names();
    let listed = app.chain.list_transfers(&TransferFilter::default(), paging.request()).await?;
    if let Some(file) = paging.file() {
        return Ok(file.of("transfers", &listed.items));
    }
    let pager = paging.pager("/transfers", listed.total).with_files();
    let description = format!(
        "Token transfers on {}, the newest first: {} with their token, sender, receiver and amount.",
        names.chain,
        counted(listed.total, "transfer")
    );
    app.page(
        names,
        &Transfers {
            frame: app
                .frame("Token transfers", Section::Tokens)
                .await
                .described(description)
                .at_page(&pager)
                .live_if(paging.is_first()),
            transfers: listed.items.iter().map(|transfer| TransferRow::new(transfer, names)).collect(),
            pager,
        },
    )
    .await
}
