//! Figures of the chain by day.

use std::time::Duration;

use askama::Template;
use axum::{
    extract::{Query, State},
    response::Response,
};
use domain::{DayFigures, U256, UtcTime};
use serde::Deserialize;

use crate::{
    error::PageError,
    frame::{Frame, Section, page},
    names::Names,
    state::App,
    view::{Amount, Axes, Chart, grouped},
};

/// Days of a chart; the first is the default.
const SPANS: [u32; 3] = [30, 90, 365];
/// The days are read again after this time at the earliest: a year of days takes some thousand reads.
const CACHED_FOR: Duration = Duration::from_secs(30);

#[derive(Debug, Default, Deserialize)]
pub(super) struct Params {
    #[serde(default)]
    days: Option<String>,
}

#[derive(Template)]
#[template(path = "charts.html")]
struct Charts {
    frame: Frame,
    days: u32,
    spans: [u32; 3],
    charts: Vec<Chart>,
    /// The newest first.
    rows: Vec<DayRow>,
    /// Contracts created inside calls are missing.
    untraced_blocks: Option<String>,
}

struct DayRow {
    date: String,
    blocks: String,
    transactions: String,
    active_addresses: String,
    new_addresses: String,
    new_contracts: String,
    new_tokens: String,
    transfers: String,
    trades: String,
    logs: String,
    gas_used: String,
    fees: Amount,
    burnt_fees: Amount,
    gas_price: Option<Amount>,
}

pub(super) async fn show(State(app): State<App>, Query(params): Query<Params>) -> Result<Response, PageError> {
    let [default, ..] = SPANS;
    let wanted = params.days.as_deref().and_then(|days| days.parse().ok());
    let days = wanted.filter(|days| SPANS.contains(days)).unwrap_or(default);
    let figures = app.days.list(days, |read_at| app.is_fresh(read_at, CACHED_FOR)).await?;
    let untraced: u64 = figures.iter().map(|day| day.untraced_blocks).sum();
    page(&Charts {
        frame: app
            .frame("Charts", Section::Charts)
            .await
            .described(format!(
                "Charts of {} by day: transactions, token transfers, trades, new addresses, new tokens, logs and gas price.",
                app.names.chain
            ))
            .at(if days == default { "/charts".to_owned() } else { format!("/charts?days={days}") })
            .unlisted_if(days != default),
        days,
        spans: SPANS,
        charts: charts(&figures, &app.names),
        rows: figures.iter().rev().map(|day| DayRow::new(day, &app.names)).collect(),
        untraced_blocks: (untraced > 0).then(|| grouped(untraced)),
    })
}

fn charts(days: &[DayFigures], names: &Names) -> Vec<Chart> {
    let count = |title, count: fn(&DayFigures) -> u64| count_chart(title, days, count);
    let mut charts = vec![
        count("Transactions", |day| day.transactions),
        active_chart(days),
        count("New addresses", |day| day.new_addresses),
        count("New contracts", |day| day.new_contracts),
        count("Token transfers", |day| day.transfers),
        count("New tokens", |day| day.new_tokens),
        count("Trades", |day| day.trades),
        count("Logs", |day| day.logs),
        count("Gas used", |day| day.gas_used),
        coin_chart("Fees", days, names, |day| day.fees),
    ];
    // Many chains burn nothing.
    if days.iter().any(|day| !day.burnt_fees.is_zero()) {
        charts.push(coin_chart("Burnt fees", days, names, |day| day.burnt_fees));
    }
    charts.push(gas_price_chart(days));
    charts
}

fn count_chart(title: &'static str, days: &[DayFigures], count: fn(&DayFigures) -> u64) -> Chart {
    let total = days.iter().map(count).fold(0, u64::saturating_add);
    bars(title, format!("{} in total", grouped(total)), days, count)
}

/// Without a sum: an address may be active on several days.
fn active_chart(days: &[DayFigures]) -> Chart {
    bars("Active addresses", "by day".to_owned(), days, |day| day.active_addresses)
}

fn bars(title: &'static str, range: String, days: &[DayFigures], count: fn(&DayFigures) -> u64) -> Chart {
    let bar = |day: &DayFigures| {
        let value = count(day);
        (value as f64, format!("{}: {}", date(day), grouped(value)))
    };
    let highest = days.iter().map(count).max().unwrap_or_default();
    Chart::new(title, range, days.iter().map(bar).collect()).with_axes(axes(days, grouped(highest)))
}

fn coin_chart(title: &'static str, days: &[DayFigures], names: &Names, wei: fn(&DayFigures) -> U256) -> Chart {
    let shown = |wei: U256| names.coin(wei).shown().to_owned();
    let bar = |day: &DayFigures| (f64::from(wei(day)), format!("{}: {}", date(day), shown(wei(day))));
    let total: U256 = days.iter().map(wei).sum();
    let highest = days.iter().map(wei).max().unwrap_or_default();
    Chart::new(title, format!("{} in total", shown(total)), days.iter().map(bar).collect())
        .with_axes(axes(days, shown(highest)))
}

fn gas_price_chart(days: &[DayFigures]) -> Chart {
    let bar = |day: &DayFigures| match day.mean_gas_price {
        Some(mean) => (f64::from(mean), format!("{}: {}", date(day), Amount::gas_price(mean).shown())),
        None => (0.0, format!("{}: no price", date(day))),
    };
    let highest = days.iter().filter_map(|day| day.mean_gas_price).max();
    let highest =
        highest.map_or_else(|| "no prices".to_owned(), |highest| Amount::gas_price(highest).shown().to_owned());
    Chart::new("Mean gas price", "", days.iter().map(bar).collect()).with_axes(axes(days, highest))
}

fn axes(days: &[DayFigures], highest: String) -> Axes {
    let end = |day: Option<&DayFigures>| day.map(date).unwrap_or_default();
    Axes { highest, first: end(days.first()), last: end(days.last()) }
}

/// Such as 2026-11-17.
fn date(day: &DayFigures) -> String {
    format!("{:.0}", UtcTime::from_unix_seconds(day.start)).chars().take(10).collect()
}

impl DayRow {
    fn new(day: &DayFigures, names: &Names) -> Self {
        Self {
            date: date(day),
            blocks: grouped(day.blocks),
            transactions: grouped(day.transactions),
            active_addresses: grouped(day.active_addresses),
            new_addresses: grouped(day.new_addresses),
            new_contracts: grouped(day.new_contracts),
            new_tokens: grouped(day.new_tokens),
            transfers: grouped(day.transfers),
            trades: grouped(day.trades),
            logs: grouped(day.logs),
            gas_used: grouped(day.gas_used),
            fees: names.coin(day.fees),
            burnt_fees: names.coin(day.burnt_fees),
            gas_price: day.mean_gas_price.map(Amount::gas_price),
        }
    }
}
