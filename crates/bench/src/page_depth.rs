//! Whether latency depends on the depth of a page.

use std::{
    fmt,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::Context;
use serde_json::{Value, json};

use crate::{
    chain::RecordedChain,
    explorer::Explorer,
    figures::{micros, quantile},
};

const PAGE_SIZE: u64 = 25;
const FIRST_PAGE: &str = "busiest address, page 1";
const LAST_PAGE: &str = "busiest address, last full page";
const TWO_LISTS: &str = "from one address to another";

pub(crate) struct PageDepthFigures {
    entries: u64,
    rows: Vec<(&'static str, Duration, Duration)>,
}

/// With further options of the explorer.
pub(crate) async fn measure(
    chain: &RecordedChain,
    data: &Path,
    requests: usize,
    options: &[&str],
) -> anyhow::Result<PageDepthFigures> {
    let explorer = Explorer::start_with(&chain.url(), data, options).await?;
    explorer.wait_for_tip(chain.head).await?;
    let (address, entries) = chain.busiest;
    let last = entries.div_ceil(PAGE_SIZE);
    let list = format!("{}/api/v1/transactions?address={address}", explorer.url);
    let pair = busy_pair(&explorer, &list).await?;
    let pages = [
        ("/health", format!("{}/health", explorer.url)),
        ("/stats", format!("{}/api/v1/stats", explorer.url)),
        (FIRST_PAGE, format!("{list}&page=1")),
        ("busiest address, middle page", format!("{list}&page={}", last.div_ceil(2))),
        (LAST_PAGE, format!("{list}&page={}", last.saturating_sub(1).max(1))),
        (TWO_LISTS, format!("{}/api/v1/query", explorer.url)),
        ("/blocks, page 1", format!("{}/api/v1/blocks", explorer.url)),
        ("/blocks, last page", format!("{}/api/v1/blocks?page={}", explorer.url, (chain.head / PAGE_SIZE).max(1))),
        ("/addresses/:address", format!("{}/api/v1/addresses/{address}", explorer.url)),
    ];
    let client = reqwest::Client::new();
    let request = |name: &str, url: &str| match name {
        TWO_LISTS => {
            let body = json!({ "entity": "transactions", "filter": pair }).to_string();
            client.post(url).header("content-type", "application/json").body(body)
        }
        _ => client.get(url),
    };
    // The first query about two lists counts them.
    for (name, url) in &pages {
        request(name, url).send().await?.error_for_status()?;
    }
    let mut samples = vec![Vec::with_capacity(requests); pages.len()];
    // Round-robin over the pages, so that noise affects all of them equally.
    for _ in 0..requests {
        for ((name, url), sample) in pages.iter().zip(&mut samples) {
            let started = Instant::now();
            request(name, url).send().await?.error_for_status()?.bytes().await?;
            sample.push(started.elapsed());
        }
    }
    explorer.stop().await?;
    let rows = pages.iter().zip(samples).map(|((name, _), mut sample)| {
        sample.sort_unstable();
        (*name, quantile(&sample, 0.5), quantile(&sample, 0.99))
    });
    Ok(PageDepthFigures { entries, rows: rows.collect() })
}

/// A filter by the sender and the receiver of one of the transactions of a list.
async fn busy_pair(explorer: &Explorer, list: &str) -> anyhow::Result<Value> {
    let body = reqwest::get(format!("{list}&limit=100")).await?.error_for_status()?.bytes().await?;
    let body: Value = serde_json::from_slice(&body)?;
    let mut transactions = body["transactions"].as_array().into_iter().flatten();
    let found = transactions.find(|tx| tx["fromAddress"].is_string() && tx["toAddress"].is_string());
    let pair = found.map(|tx| json!({ "from": tx["fromAddress"], "to": tx["toAddress"] }));
    pair.with_context(|| format!("no transaction with two parties at {}", explorer.url))
}

impl PageDepthFigures {
    /// The medians of the first page, of the last one, and of a page of two lists.
    pub(crate) fn compared(&self) -> [Duration; 3] {
        [FIRST_PAGE, LAST_PAGE, TWO_LISTS].map(|wanted| {
            self.rows.iter().find(|(name, ..)| *name == wanted).map(|(_, median, _)| *median).unwrap_or_default()
        })
    }
}

impl fmt::Display for PageDepthFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| one client, {} entries of the busiest address | median | p99 |", self.entries)?;
        writeln!(f, "|---|---|---|")?;
        for (name, median, p99) in &self.rows {
            writeln!(f, "| {name} | {} | {} |", micros(*median), micros(*p99))?;
        }
        Ok(())
    }
}
