//! Latency and size of the HTML pages.

mod verified;
mod visits;

use std::{
    fmt,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::ensure;
use serde_json::{Value, json};

use crate::{
    chain::RecordedChain,
    explorer::Explorer,
    figures::{millis, quantile},
    replay::Conditions,
};

/// Bound of the latency, not counting the node.
const MAX_MEDIAN: Duration = Duration::from_millis(5);
/// Bound of the home page with its assets, in bytes.
const MAX_HOME_BYTES: usize = 100_000;
/// Traces are read behind the index, as far back as the node has states.
const TRACES_TIMEOUT: Duration = Duration::from_secs(120);
const TRACES_POLL: Duration = Duration::from_secs(3);
/// The usual accept-encoding of browsers.
const ENCODINGS: &str = "gzip, deflate, br, zstd";

pub(crate) struct HtmlPageFigures {
    entries: u64,
    rows: Vec<Row>,
    /// Transferred bytes of the home page and its assets.
    home: Vec<(String, usize)>,
}

struct Row {
    name: &'static str,
    /// The first request, which may query the node.
    first: Duration,
    median: Duration,
    p99: Duration,
    bytes: usize,
    transferred: usize,
}

pub(crate) async fn measure(chain: &RecordedChain, data: &Path, requests: usize) -> anyhow::Result<HtmlPageFigures> {
    let node = chain.serve(Conditions { traces: true, ..Conditions::default() }).await?;
    let explorer = Explorer::start(&node.url(), data).await?;
    explorer.wait_for_tip(chain.head).await?;
    let browser = Browser { client: reqwest::Client::builder().no_gzip().build()?, url: explorer.url.clone() };
    let visits = visits::all(&browser, chain).await?;
    browser.wait_for_traces(chain.head).await?;
    let mut rows = Vec::new();
    for (name, path) in &visits {
        let started = Instant::now();
        let bytes = browser.get(path, "identity").await?.len();
        let first = started.elapsed();
        let transferred = browser.get(path, ENCODINGS).await?.len();
        rows.push(Row { name, first, median: first, p99: first, bytes, transferred });
    }
    let mut samples = vec![Vec::with_capacity(requests); visits.len()];
    // Round-robin over the pages, so that noise affects all of them equally.
    for _ in 0..requests {
        for ((_, path), sample) in visits.iter().zip(&mut samples) {
            let started = Instant::now();
            browser.get(path, ENCODINGS).await?;
            sample.push(started.elapsed());
        }
    }
    for (row, sample) in rows.iter_mut().zip(&mut samples) {
        sample.sort_unstable();
        (row.median, row.p99) = (quantile(sample, 0.5), quantile(sample, 0.99));
    }
    let home = browser.home().await?;
    explorer.stop().await?;
    Ok(HtmlPageFigures { entries: chain.busiest.1, rows, home })
}

/// Fetches like a browser, without decompressing.
struct Browser {
    client: reqwest::Client,
    url: String,
}

impl Browser {
    async fn get(&self, path: &str, encodings: &str) -> anyhow::Result<Vec<u8>> {
        let request = self.client.get(format!("{}{path}", self.url)).header("accept-encoding", encodings);
        Ok(request.send().await?.error_for_status()?.bytes().await?.to_vec())
    }

    async fn json(&self, path: &str) -> anyhow::Result<Value> {
        Ok(serde_json::from_slice(&self.get(path, "identity").await?)?)
    }

    /// Waits until blocks are traced as far as the node can, so that pages are measured without this work beside them.
    async fn wait_for_traces(&self, head: u64) -> anyhow::Result<()> {
        let started = Instant::now();
        let mut before = Value::Null;
        loop {
            let mut stats = self.json("/api/v1/stats").await?;
            let traced_range =
                json!([stats["internalTransactionsFrom"].take(), stats["internalTransactionsTo"].take()]);
            if traced_range == before && traced_range[1].as_u64() >= Some(head) {
                return Ok(());
            }
            ensure!(started.elapsed() < TRACES_TIMEOUT, "the newest blocks are not traced: {traced_range}");
            before = traced_range;
            tokio::time::sleep(TRACES_POLL).await;
        }
    }

    async fn home(&self) -> anyhow::Result<Vec<(String, usize)>> {
        let page = String::from_utf8(self.get("/", "identity").await?)?;
        let assets = page.split('"').filter(|part| part.starts_with("/assets/") || part.starts_with("/favicon"));
        let mut parts = Vec::new();
        for path in ["/"].into_iter().chain(assets) {
            parts.push((path.to_owned(), self.get(path, ENCODINGS).await?.len()));
        }
        Ok(parts)
    }
}

impl fmt::Display for HtmlPageFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(slowest) = self.rows.iter().max_by_key(|row| row.median) {
            let (name, median) = (slowest.name, millis(slowest.median));
            writeln!(
                f,
                "The slowest of {} pages is {name} with {median} (bound: {}).",
                self.rows.len(),
                millis(MAX_MEDIAN)
            )?;
        }
        let total: usize = self.home.iter().map(|(_, bytes)| bytes).sum();
        writeln!(f, "The home page with its assets is {total} bytes (bound: {MAX_HOME_BYTES}):\n")?;
        writeln!(f, "| home page | bytes transferred |\n|---|---|")?;
        for (path, bytes) in &self.home {
            writeln!(f, "| {path} | {bytes} |")?;
        }
        writeln!(
            f,
            "\n| page, busiest address with {} entries | first view | median | p99 | HTML | transferred |",
            self.entries
        )?;
        writeln!(f, "|---|---|---|---|---|---|")?;
        for Row { name, first, median, p99, bytes, transferred } in &self.rows {
            let (first, median, p99) = (millis(*first), millis(*median), millis(*p99));
            writeln!(f, "| {name} | {first} | {median} | {p99} | {bytes} | {transferred} |")?;
        }
        Ok(())
    }
}
