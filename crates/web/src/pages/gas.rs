//! What gas costs now.

use askama::Template;
use axum::{extract::State, response::Response};
use domain::{Block, BlockNumber, BlockRange, PageRequest, RecentGas, TransactionFilter};

use crate::{
    error::PageError,
    frame::{Frame, Section, page},
    state::App,
    view::{Amount, Axes, BlockLink, Chart, counted, grouped},
};

/// Blocks of the charts.
const CHARTED_BLOCKS: u32 = 60;

#[derive(Template)]
#[template(path = "gas.html")]
struct GasPage {
    frame: Frame,
    /// None before the first block.
    now: Option<Now>,
    charts: Vec<Chart>,
}

struct Now {
    block: BlockLink,
    base_fee: Option<Amount>,
    fees: Vec<Fee>,
    transactions: String,
}

struct Fee {
    name: &'static str,
    share: &'static str,
    priority: Amount,
    /// With the base fee.
    total: Amount,
}

pub(super) async fn show(State(app): State<App>) -> Result<Response, PageError> {
    let blocks = app.chain.list_blocks(BlockRange::ALL, PageRequest::newest(CHARTED_BLOCKS)).await?.items;
    let newest = PageRequest::newest(RecentGas::MAX_TRANSACTIONS);
    let transactions = app.chain.list_transactions(&TransactionFilter::default(), newest).await?.items;
    let recent = blocks.get(..RecentGas::BLOCKS as usize).unwrap_or(&blocks);
    let now = RecentGas::of(recent, &transactions).map(Now::new);
    let base_fee = now.as_ref().and_then(|now| now.base_fee.as_ref()).map(|fee| format!("base fee {}, ", fee.shown()));
    let description = format!(
        "Gas prices on {} now: {}priority fees of recent transactions, and how full the last blocks were.",
        app.names.chain,
        base_fee.unwrap_or_default()
    );
    page(&GasPage {
        frame: app.frame("Gas", Section::Gas).await.described(description).at("/gas").live_if(true),
        now,
        charts: base_fee_chart(&blocks).into_iter().chain([fullness_chart(&blocks)]).collect(),
    })
}

impl Now {
    fn new(gas: RecentGas) -> Self {
        let base = gas.base_fee.unwrap_or_default();
        let fee = |name, share, priority: u128| Fee {
            name,
            share,
            priority: Amount::gas_price(priority),
            total: Amount::gas_price(base.saturating_add(priority)),
        };
        let fees = gas.priority_fees.map(|fees| {
            vec![
                fee("Low", "a quarter of recent transactions paid at most this", fees.low),
                fee("Median", "half of them", fees.median),
                fee("High", "three quarters of them", fees.high),
            ]
        });
        Self {
            block: BlockLink::new(gas.block),
            base_fee: gas.base_fee.map(Amount::gas_price),
            fees: fees.unwrap_or_default(),
            transactions: counted(gas.transactions as u64, "transaction"),
        }
    }
}

/// None if no block has a base fee: those before London have none, which is not a fee of zero.
fn base_fee_chart(blocks: &[Block]) -> Option<Chart> {
    let fees: Vec<(BlockNumber, u128)> =
        blocks.iter().rev().filter_map(|block| Some((block.number, block.base_fee_per_gas?))).collect();
    let highest = fees.iter().map(|(_, fee)| *fee).max()?;
    let bar = |(number, fee): (BlockNumber, u128)| {
        (fee as f64, format!("Block {}: {}", grouped(number), Amount::gas_price(fee).shown()))
    };
    let chart = Chart::new("Base fee", "", fees.into_iter().map(bar).collect());
    Some(chart.with_axes(Axes::of_blocks(blocks, Amount::gas_price(highest).shown().to_owned())))
}

fn fullness_chart(blocks: &[Block]) -> Chart {
    let percent = |block: &Block| block.gas_used.saturating_mul(100).checked_div(block.gas_limit).unwrap_or_default();
    let bar = |block: &Block| (percent(block) as f64, format!("Block {}: {} %", grouped(block.number), percent(block)));
    let highest = blocks.iter().map(percent).max().unwrap_or_default();
    Chart::new("Gas used of the limit", "", blocks.iter().rev().map(bar).collect())
        .with_axes(Axes::of_blocks(blocks, format!("{highest} %")))
}
