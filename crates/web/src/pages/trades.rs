use askama::Template;
use axum::extract::{Query, State};
use axum::response::Response;
use domain::TradeFilter;
use serde::Deserialize;

use super::App;
use crate::error::PageError;
use crate::frame::{Frame, Section, page};
use crate::view::{Pager, Paging, TradeRow, encoded, tame};

#[derive(Debug, Default, Deserialize)]
pub(super) struct Asked {
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

pub(super) async fn show(State(app): State<App>, Query(asked): Query<Asked>) -> Result<Response, PageError> {
    let dex = asked.dex.as_deref().filter(|dex| !dex.is_empty());
    let exchanges = dex.map(|dex| app.names.dexes.exchanges(dex));
    let filter = TradeFilter { exchanges, ..TradeFilter::default() };
    let listed = app.chain.list_trades(&filter, asked.paging.request()).await?;
    let path = dex.map_or_else(|| "/trades".to_owned(), |dex| format!("/trades?dex={}", encoded(dex)));
    page(&Trades {
        frame: app.frame("Trades", Section::Trades),
        dex: dex.map(tame),
        trades: listed.items.iter().map(|trade| TradeRow::new(trade, &app.names)).collect(),
        pager: asked.paging.pager(path, listed.total),
    })
}
