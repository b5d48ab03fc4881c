use askama::Template;
use axum::{
    extract::{Query, State},
    response::Response,
};
use domain::BlockRange;

use crate::{
    error::PageError,
    frame::{Frame, Section},
    state::App,
    view::{BlockRow, Pager, Paging, counted},
};

#[derive(Template)]
#[template(path = "blocks.html")]
struct Blocks {
    frame: Frame,
    blocks: Vec<BlockRow>,
    pager: Pager,
}

pub(super) async fn show(State(app): State<App>, Query(paging): Query<Paging>) -> Result<Response, PageError> {
    let names = &app.page_names();
    let listed = app.chain.list_blocks(BlockRange::ALL, paging.request()).await?;
    if let Some(file) = paging.file() {
        return Ok(file.of("blocks", &listed.items));
    }
    let pager = paging.pager("/blocks", listed.total).with_files();
    let description = format!(
        "Blocks on {}, the newest first: {} with their time, miner, transactions and gas.",
        names.chain,
        counted(listed.total, "block")
    );
    app.page(
        names,
        &Blocks {
            frame: app
                .frame("Blocks", Section::Blocks)
                .await
                .described(description)
                .at_page(&pager)
                .live_if(paging.is_first()),
            blocks: listed.items.iter().map(|block| BlockRow::new(block, names)).collect(),
            pager,
        },
    )
    .await
}
