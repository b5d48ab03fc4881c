//! Figures of the chain by day.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use askama::Template;
use axum::{
    extract::{Query, State},
    response::Response,
};
use domain::{DAY, PeriodFigures, UtcTime};
use serde::Deserialize;
use store::StoreError;

use super::App;
use crate::{
    error::PageError,
    frame::{Frame, Section, page},
    state::WebState,
    view::{Amount, Axes, Chart, grouped},
};

/// Days of a chart; the first is the default.
const SPANS: [u32; 3] = [30, 90, 365];
/// The days are read again after this time at the earliest: a year of days takes some thousand reads.
const CACHED_FOR: Duration = Duration::from_secs(30);

/// The figures that were read last, by the number of days.
#[derive(Debug, Default)]
pub(crate) struct RecentDays {
    read: Mutex<Vec<ReadDays>>,
}

#[derive(Debug)]
struct ReadDays {
    days: u32,
    read_at: Instant,
    figures: Arc<[PeriodFigures]>,
}

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
}

struct DayRow {
    date: String,
    blocks: String,
    transactions: String,
    transfers: String,
    trades: String,
    logs: String,
    addresses: String,
    tokens: String,
    gas_price: Option<Amount>,
}

pub(super) async fn show(State(app): State<App>, Query(params): Query<Params>) -> Result<Response, PageError> {
    let [default, ..] = SPANS;
    let wanted = params.days.as_deref().and_then(|days| days.parse().ok());
    let days = wanted.filter(|days| SPANS.contains(days)).unwrap_or(default);
    let figures = app.recent_days(days).await?;
    let charts = [
        ("Transactions", (|day| day.transactions) as fn(&PeriodFigures) -> u64),
        ("Token transfers", |day| day.transfers),
        ("Trades", |day| day.trades),
        ("New addresses", |day| day.new_addresses),
        ("New tokens", |day| day.new_tokens),
        ("Logs", |day| day.logs),
    ];
    let counts = charts.into_iter().map(|(title, count)| chart(title, &figures, count));
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
        charts: counts.chain([gas_price_chart(&figures)]).collect(),
        rows: figures.iter().rev().map(DayRow::new).collect(),
    })
}

impl WebState {
    async fn recent_days(&self, days: u32) -> Result<Arc<[PeriodFigures]>, StoreError> {
        let find = || {
            let read = self.days.read.lock().unwrap_or_else(PoisonError::into_inner);
            let recent = read.iter().find(|read| read.days == days && read.read_at.elapsed() < CACHED_FOR);
            recent.map(|recent| Arc::clone(&recent.figures))
        };
        if let Some(figures) = find() {
            return Ok(figures);
        }
        let figures: Arc<[PeriodFigures]> = self.chain.list_periods(DAY, days).await?.into();
        let mut read = self.days.read.lock().unwrap_or_else(PoisonError::into_inner);
        read.retain(|read| read.days != days);
        read.push(ReadDays { days, read_at: Instant::now(), figures: Arc::clone(&figures) });
        Ok(figures)
    }
}

fn chart(title: &'static str, days: &[PeriodFigures], count: fn(&PeriodFigures) -> u64) -> Chart {
    let bar = |day: &PeriodFigures| {
        let value = count(day);
        (value as f64, format!("{}: {}", date(day), grouped(value)))
    };
    let total: u64 = days.iter().map(count).sum();
    let highest = days.iter().map(count).max().unwrap_or_default();
    Chart::new(title, format!("{} in total", grouped(total)), days.iter().map(bar).collect())
        .with_axes(axes(days, grouped(highest)))
}

fn gas_price_chart(days: &[PeriodFigures]) -> Chart {
    let bar = |day: &PeriodFigures| match day.mean_gas_price {
        Some(mean) => (f64::from(mean), format!("{}: {}", date(day), Amount::gas_price(mean).shown())),
        None => (0.0, format!("{}: no transactions", date(day))),
    };
    let highest = days.iter().filter_map(|day| day.mean_gas_price).max().unwrap_or_default();
    Chart::new("Mean gas price", "", days.iter().map(bar).collect())
        .with_axes(axes(days, Amount::gas_price(highest).shown().to_owned()))
}

fn axes(days: &[PeriodFigures], highest: String) -> Axes {
    let end = |day: Option<&PeriodFigures>| day.map(date).unwrap_or_default();
    Axes { highest, first: end(days.first()), last: end(days.last()) }
}

/// Such as 2026-11-17.
fn date(day: &PeriodFigures) -> String {
    format!("{:.0}", UtcTime::from_unix_seconds(day.start)).chars().take(10).collect()
}

impl DayRow {
    fn new(day: &PeriodFigures) -> Self {
        Self {
            date: date(day),
            blocks: grouped(day.blocks),
            transactions: grouped(day.transactions),
            transfers: grouped(day.transfers),
            trades: grouped(day.trades),
            logs: grouped(day.logs),
            addresses: grouped(day.new_addresses),
            tokens: grouped(day.new_tokens),
            gas_price: day.mean_gas_price.map(Amount::gas_price),
        }
    }
}
