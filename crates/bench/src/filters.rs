//! The cost of every combination of filters on very long lists: one address is in all of a million transfers, nearly all of
//! which are of one token.

mod combinations;
mod dense_store;

use std::{
    fmt,
    path::Path,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

pub(crate) use self::combinations::{FilterTargets, combinations, named};
use self::dense_store::DenseStore;
use crate::{
    explorer::Explorer,
    figures::{micros, quantile},
};

/// The most expensive combination may cost this many times the cheapest one.
const MAX_RATIO: f64 = 20.0;

pub(crate) struct FilterFigures {
    transfers: u64,
    rows: Vec<Row>,
}

struct Row {
    entity: &'static str,
    filters: String,
    total: u64,
    /// The latency of the first request.
    first: Duration,
    median: Duration,
    p99: Duration,
}

pub(crate) async fn measure(data: &Path, transfers: u64, requests: usize) -> anyhow::Result<FilterFigures> {
    let store = DenseStore::make(data, transfers).await?;
    // No node is needed: indexed data is served without one.
    let explorer = Explorer::start_without_cache("http://127.0.0.1:9", data).await?;
    let client = reqwest::Client::new();
    let url = format!("{}/api/v1/query", explorer.url);
    let mut rows = Vec::new();
    for (entity, filter) in combinations(&store.targets()) {
        let filters = named(&filter);
        let started = Instant::now();
        let total = query(&client, &url, &json!({ "entity": entity, "filter": filter })).await?;
        let first = started.elapsed();
        let mut sample = Vec::with_capacity(requests);
        // The first page, the last one, and one in the middle, in both directions.
        let offsets = [0, total / 2, total.saturating_sub(25)].into_iter().cycle();
        for (offset, order) in offsets.zip(["desc", "asc"].into_iter().cycle()).take(requests) {
            let body = json!({ "entity": entity, "filter": filter, "offset": offset, "orderBy": order });
            let started = Instant::now();
            query(&client, &url, &body).await?;
            sample.push(started.elapsed());
        }
        sample.sort_unstable();
        let (median, p99) = (quantile(&sample, 0.5), quantile(&sample, 0.99));
        rows.push(Row { entity, filters, total, first, median, p99 });
    }
    explorer.stop().await?;
    Ok(FilterFigures { transfers, rows })
}

async fn query(client: &reqwest::Client, url: &str, body: &Value) -> anyhow::Result<u64> {
    let request = client.post(url).header("content-type", "application/json").body(body.to_string());
    let response: Value = serde_json::from_slice(&request.send().await?.error_for_status()?.bytes().await?)?;
    Ok(response["total"].as_u64().unwrap_or_default())
}

impl fmt::Display for FilterFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows: Vec<&Row> = self.rows.iter().collect();
        rows.sort_by_key(|row| row.median);
        let (Some(cheapest), Some(slowest)) = (rows.first(), rows.last()) else { return Ok(()) };
        let ratio = slowest.median.as_secs_f64() / cheapest.median.as_secs_f64();
        writeln!(
            f,
            "{} combinations of filters on {} transfers, each at its first, middle and last page,",
            rows.len(),
            self.transfers
        )?;
        writeln!(
            f,
            "in both directions. The most expensive costs {ratio:.1} times the cheapest (bound: {MAX_RATIO}).\n"
        )?;
        let ends = rows.iter().take(3).chain(rows.iter().rev().take(10).rev());
        write_table(f, ends.copied())?;

        rows.sort_by_key(|row| row.first);
        let (Some(cheapest), Some(slowest)) = (rows.first(), rows.last()) else { return Ok(()) };
        let ratio = slowest.first.as_secs_f64() / cheapest.first.as_secs_f64();
        writeln!(
            f,
            "\nAt the first request after the start, the most expensive costs {ratio:.1} times the cheapest.\n"
        )?;
        write_table(f, rows.iter().rev().take(5).copied())
    }
}

fn write_table<'a>(f: &mut fmt::Formatter<'_>, rows: impl Iterator<Item = &'a Row>) -> fmt::Result {
    writeln!(f, "| entity | filters | matches | first time | median | p99 |")?;
    writeln!(f, "|---|---|---|---|---|---|")?;
    for Row { entity, filters, total, first, median, p99 } in rows {
        let [first, median, p99] = [first, median, p99].map(|time| micros(*time));
        writeln!(f, "| {entity} | {filters} | {total} | {first} | {median} | {p99} |")?;
    }
    Ok(())
}
