//! Whether latency depends on the depth of a page.

use std::{
    fmt,
    path::Path,
    time::{Duration, Instant},
};

use crate::{
    chain::RecordedChain,
    explorer::Explorer,
    figures::{micros, quantile},
};

const PAGE_SIZE: u64 = 25;

pub(crate) struct PageDepthFigures {
    entries: u64,
    rows: Vec<(&'static str, Duration, Duration)>,
}

pub(crate) async fn measure(chain: &RecordedChain, data: &Path, requests: usize) -> anyhow::Result<PageDepthFigures> {
    let explorer = Explorer::start(&chain.url(), data).await?;
    explorer.wait_for_tip(chain.head).await?;
    let (address, entries) = chain.busiest;
    let last = entries.div_ceil(PAGE_SIZE);
    let list = format!("{}/api/v1/transactions?address={address}", explorer.url);
    let pages = [
        ("/health", format!("{}/health", explorer.url)),
        ("/stats", format!("{}/api/v1/stats", explorer.url)),
        ("busiest address, page 1", format!("{list}&page=1")),
        ("busiest address, middle page", format!("{list}&page={}", last.div_ceil(2))),
        ("busiest address, last full page", format!("{list}&page={}", last.saturating_sub(1).max(1))),
        ("/blocks, page 1", format!("{}/api/v1/blocks", explorer.url)),
        ("/blocks, last page", format!("{}/api/v1/blocks?page={}", explorer.url, (chain.head / PAGE_SIZE).max(1))),
        ("/addresses/:address", format!("{}/api/v1/addresses/{address}", explorer.url)),
    ];
    let client = reqwest::Client::new();
    let mut samples = vec![Vec::with_capacity(requests); pages.len()];
    // Round-robin over the pages, so that noise affects all of them equally.
    for _ in 0..requests {
        for ((_, url), sample) in pages.iter().zip(&mut samples) {
            let started = Instant::now();
            client.get(url).send().await?.error_for_status()?.bytes().await?;
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
