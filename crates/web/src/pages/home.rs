use askama::Template;
use axum::{extract::State, response::Response};
use domain::{Block, BlockGasPrice, BlockRange, PageRequest, TransactionFilter};

use crate::{
    error::PageError,
    frame::{Frame, Section},
    methods::methods_of,
    state::App,
    tour::TourStop,
    view::{Amount, Axes, BlockRow, Chart, TransactionRow, counted, grouped, in_units},
};

const SHOWN_ROWS: u32 = 8;
const CHARTED_BLOCKS: u32 = 60;
const GWEI_DECIMALS: u8 = 9;

#[derive(Template)]
#[template(path = "home.html")]
struct Home<'a> {
    frame: Frame,
    tour: &'a [TourStop],
    latest_block: String,
    transactions: String,
    tokens: String,
    /// None without a transaction that has a price.
    gas_price: Option<Amount>,
    charts: Vec<Chart>,
    blocks: Vec<BlockRow>,
    latest: Vec<TransactionRow>,
}

pub(super) async fn show(State(app): State<App>) -> Result<Response, PageError> {
    let names = &app.page_names();
    let stats = app.chain.stats().await?;
    let blocks = app.chain.list_blocks(BlockRange::ALL, PageRequest::newest(CHARTED_BLOCKS)).await?.items;
    let prices = app.chain.list_gas_prices(CHARTED_BLOCKS).await?;
    let latest =
        app.chain.list_transactions(&TransactionFilter::default(), PageRequest::newest(SHOWN_ROWS)).await?.items;
    let methods = methods_of(&app, &latest).await?;
    let latest_block = stats.latest_block.map_or_else(|| "none yet".to_owned(), grouped);
    let description = format!(
        "Block explorer of {}: latest block {latest_block}, {} and {}, with addresses, trades and verified contracts.",
        names.chain,
        counted(stats.total_transactions, "transaction"),
        counted(stats.total_tokens, "token"),
    );
    app.page(
        names,
        &Home {
            frame: app
                .frame(format!("{} explorer", names.chain), Section::Home)
                .await
                .described(description)
                .at("/")
                .live_if(true),
            tour: &app.tour,
            latest_block,
            transactions: grouped(stats.total_transactions),
            tokens: grouped(stats.total_tokens),
            gas_price: stats.average_gas_price.map(Amount::gas_price),
            charts: vec![transactions_chart(&blocks), gas_price_chart(&blocks, &prices)],
            blocks: blocks.iter().take(SHOWN_ROWS as usize).map(|block| BlockRow::new(block, names)).collect(),
            latest: latest.iter().map(|tx| TransactionRow::new(tx, &methods, names)).collect(),
        },
    )
    .await
}

fn transactions_chart(blocks: &[Block]) -> Chart {
    let bar = |block: &Block| {
        (
            f64::from(block.tx_count),
            format!("Block {}: {}", grouped(block.number), counted(block.tx_count.into(), "transaction")),
        )
    };
    let highest = blocks.iter().map(|block| block.tx_count).max().unwrap_or_default();
    Chart::new("Transactions per block", range(blocks), blocks.iter().rev().map(bar).collect())
        .with_axes(Axes::of_blocks(blocks, grouped(highest)))
}

fn gas_price_chart(blocks: &[Block], prices: &[BlockGasPrice]) -> Chart {
    let bar = |price: &BlockGasPrice| match price.mean {
        Some(mean) => {
            let gwei = in_units(&mean.to_string(), GWEI_DECIMALS);
            (f64::from(mean), format!("Block {}: {gwei} Gwei", grouped(price.block)))
        }
        None => (0.0, format!("Block {}: no price", grouped(price.block))),
    };
    let highest = prices.iter().filter_map(|price| price.mean).max();
    let highest =
        highest.map_or_else(|| "no prices".to_owned(), |highest| Amount::gas_price(highest).shown().to_owned());
    Chart::new("Mean gas price", range(blocks), prices.iter().rev().map(bar).collect())
        .with_axes(Axes::of_blocks(blocks, highest))
}

fn range(blocks: &[Block]) -> String {
    match blocks.len() {
        1 => "of the last block".to_owned(),
        count => format!("of the last {count} blocks"),
    }
}
