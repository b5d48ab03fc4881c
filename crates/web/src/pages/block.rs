use askama::Template;
use axum::{
    extract::{Path, Query, State},
    response::Response,
};
use domain::{Block, BlockId, BlockRange, TransactionFilter};

use crate::{
    error::PageError,
    frame::{Frame, Section},
    state::App,
    view::{AddressLink, Amount, Moment, Pager, Paging, TransactionRow, counted, grouped},
};

#[derive(Template)]
#[template(path = "block.html")]
struct BlockPage {
    frame: Frame,
    number: u64,
    shown_number: String,
    is_newest: bool,
    block: Block,
    time: Moment,
    miner: AddressLink,
    gas_used: String,
    gas_limit: String,
    filled: u64,
    base_fee: Option<Amount>,
    /// None if the node did not tell it.
    size: Option<String>,
    transactions: Vec<TransactionRow>,
    pager: Pager,
}

pub(super) async fn show(
    State(app): State<App>,
    Path(id): Path<String>,
    Query(paging): Query<Paging>,
) -> Result<Response, PageError> {
    let names = &app.page_names();
    let Some(id) = parse(&id) else {
        return app
            .not_found(
                "Not a block",
                "A block is identified by its number, or by its hash: 0x and 64 hexadecimal digits.",
            )
            .await;
    };
    let Some(block) = app.chain.find_block(id).await? else {
        return app.not_found("No such block", "It may not be indexed yet, or it was reverted by a reorg.").await;
    };
    let filter = TransactionFilter { blocks: BlockRange::only(block.number), ..TransactionFilter::default() };
    let listed = app.chain.list_transactions(&filter, paging.request()).await?;
    let methods = app.methods_of(&listed.items).await?;
    let tip = app.sync.borrow().tip;
    let (time, pager) = (Moment::of(block.timestamp), paging.pager(format!("/block/{}", block.number), listed.total));
    let filled = block.gas_used.saturating_mul(100).checked_div(block.gas_limit).unwrap_or_default();
    let description = format!(
        "Block {} of {} with {}, at {}: gas used {} ({filled} %), miner {}.",
        grouped(block.number),
        names.chain,
        counted(u64::from(block.tx_count), "transaction"),
        time.exact(),
        grouped(block.gas_used),
        block.miner.to_checksum(None),
    );
    app.page(
        names,
        &BlockPage {
            frame: app
                .frame(format!("Block {}", grouped(block.number)), Section::Blocks)
                .await
                .described(description)
                .at_page(&pager)
                .live_if(!app.is_final(block.number)),
            number: block.number,
            shown_number: grouped(block.number),
            is_newest: tip.is_none_or(|tip| tip.number <= block.number),
            time,
            miner: names.address(block.miner),
            gas_used: grouped(block.gas_used),
            gas_limit: grouped(block.gas_limit),
            filled,
            base_fee: block.base_fee_per_gas.map(Amount::gas_price),
            size: Some(block.size).filter(|size| *size > 0).map(grouped),
            transactions: listed.items.iter().map(|tx| TransactionRow::new(tx, &methods, names)).collect(),
            pager,
            block,
        },
    )
    .await
}

fn parse(id: &str) -> Option<BlockId> {
    if id.starts_with("0x") {
        return id.parse().ok().map(BlockId::Hash);
    }
    id.parse().ok().map(BlockId::Number)
}
