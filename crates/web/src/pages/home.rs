use askama::Template;
use axum::extract::State;
use axum::response::Response;
use domain::{Block, BlockRange, PageRequest, TransactionFilter};

use super::App;
use crate::error::PageError;
use crate::frame::{Frame, Section, page};
use crate::view::{Amount, BlockRow, Chart, TransactionRow, grouped, in_units};

const LATEST: u32 = 8;
const CHARTED: u32 = 60;

#[derive(Template)]
#[template(path = "home.html")]
struct Home {
    frame: Frame,
    latest_block: String,
    transactions: String,
    tokens: String,
    gas_price: Amount,
    charts: Vec<Chart>,
    blocks: Vec<BlockRow>,
    latest: Vec<TransactionRow>,
}

pub(super) async fn show(State(app): State<App>) -> Result<Response, PageError> {
    let stats = app.chain.stats().await?;
    let blocks = app.chain.list_blocks(BlockRange::ALL, PageRequest::newest(CHARTED)).await?.items;
    let latest = app.chain.list_transactions(&TransactionFilter::default(), PageRequest::newest(LATEST)).await?.items;
    let names = &app.names;
    page(&Home {
        frame: app.frame(format!("{} explorer", names.chain), Section::Home),
        latest_block: stats.latest_block.map_or_else(|| "none yet".to_owned(), grouped),
        transactions: grouped(stats.total_transactions),
        tokens: grouped(stats.total_tokens),
        gas_price: Amount::gas_price(stats.average_gas_price),
        charts: charts(&blocks),
        blocks: blocks.iter().take(LATEST as usize).map(|block| BlockRow::new(block, names)).collect(),
        latest: latest.iter().map(|tx| TransactionRow::new(tx, names)).collect(),
    })
}

/// Of the blocks given, the newest first.
fn charts(blocks: &[Block]) -> Vec<Chart> {
    let (Some(newest), Some(oldest)) = (blocks.first(), blocks.last()) else { return Vec::new() };
    let range = format!("blocks {} to {}", grouped(oldest.number), grouped(newest.number));
    let bars = |value: fn(&Block) -> f64, words: fn(&Block) -> String| {
        let bar = |block: &Block| (value(block), format!("Block {}: {}", grouped(block.number), words(block)));
        blocks.iter().rev().map(bar).collect()
    };
    let transactions = bars(|block| f64::from(block.tx_count), |block| format!("{} transactions", block.tx_count));
    let mut charts = vec![Chart::new("Transactions per block", range.clone(), transactions)];
    if blocks.iter().any(|block| block.base_fee_per_gas.is_some_and(|fee| fee > 0)) {
        let fees = bars(
            |block| block.base_fee_per_gas.unwrap_or_default() as f64,
            |block| format!("{} Gwei", in_units(&block.base_fee_per_gas.unwrap_or_default().to_string(), 9)),
        );
        charts.push(Chart::new("Base price of gas", range, fees));
    } else {
        let gas = bars(|block| block.gas_used as f64, |block| format!("{} gas", grouped(block.gas_used)));
        charts.push(Chart::new("Gas used per block", range, gas));
    }
    charts
}
