use askama::Template;
use axum::{
    extract::{Query, State},
    response::Response,
};
use domain::TradeFilter;
use serde::Deserialize;

use crate::{
    error::PageError,
    frame::{Frame, Section},
    state::App,
    view::{Pager, Paging, TradeRow, counted, sanitize_name, url_encode},
};

#[derive(Debug, Default, Deserialize)]
pub(super) struct Params {
    #[serde(default)]
    dex: Option<String>,
    #[serde(flatten)]
    paging: Paging,
}

#[derive(Template)]
#[template(path = "trades.html")]
struct Trades {
    frame: Frame,
    dex: Option<String>,
    trades: Vec<TradeRow>,
    pager: Pager,
}

pub(super) async fn show(State(app): State<App>, Query(params): Query<Params>) -> Result<Response, PageError> {
    let names = &app.page_names();
    let dex = params.dex.as_deref().filter(|dex| !dex.is_empty());
    let exchanges = dex.map(|dex| app.names.operator.dexes().exchanges(dex));
    let filter = TradeFilter { exchanges, ..TradeFilter::default() };
    let listed = app.chain.list_trades(&filter, params.paging.request()).await?;
    if let Some(file) = params.paging.file() {
        return Ok(file.of("trades", &listed.items));
    }
    let path = dex.map_or_else(|| "/trades".to_owned(), |dex| format!("/trades?dex={}", url_encode(dex)));
    let pager = params.paging.pager(path, listed.total).with_files();
    let description = format!(
        "Trades on decentralised exchanges of {}, the newest first: {} with their pair and amounts.",
        names.chain,
        counted(listed.total, "trade")
    );
    app.page(
        names,
        &Trades {
            frame: app
                .frame("Trades", Section::Trades)
                .await
                .described(description)
                .at_page(&pager)
                .unlisted_if(dex.is_some())
                .live_if(params.paging.is_first()),
            dex: dex.map(sanitize_name),
            trades: listed.items.iter().map(|trade| TradeRow::new(trade, names)).collect(),
            pager,
        },
    )
    .await
}
