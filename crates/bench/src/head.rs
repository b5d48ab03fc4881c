//! The latency from the node's response for a new block until the block is visible in the API.

use std::{
    fmt,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::bail;
use reqwest::StatusCode;

use crate::{
    chain::RecordedChain,
    explorer::Explorer,
    figures::{millis, quantile, reached},
    progress::report,
};

const TRANSACTIONS: usize = 200;
const MAX_P99: Duration = Duration::from_millis(50);
const POLL_INTERVAL: Duration = Duration::from_millis(1);
const TIMEOUT: Duration = Duration::from_secs(10);
const REPORT_INTERVAL: usize = 50;

pub(crate) struct HeadFigures {
    indexed: u64,
    from_response: Vec<Duration>,
    from_mined: Vec<Duration>,
}

/// With further options of the explorer.
pub(crate) async fn measure(
    chain: &RecordedChain,
    data: &Path,
    blocks: usize,
    options: &[&str],
) -> anyhow::Result<HeadFigures> {
    let explorer = Explorer::start_with(&chain.url(), data, options).await?;
    explorer.wait_for_tip(chain.newest()).await?;
    let (mut from_response, mut from_mined) = follow(&explorer, chain, blocks).await?;
    explorer.stop().await?;
    from_response.sort_unstable();
    from_mined.sort_unstable();
    Ok(HeadFigures { indexed: chain.transactions, from_response, from_mined })
}

/// Mines blocks one after the other; how long after the node's response each was visible, and how long after it was mined.
pub(crate) async fn follow(
    explorer: &Explorer,
    chain: &RecordedChain,
    blocks: usize,
) -> anyhow::Result<(Vec<Duration>, Vec<Duration>)> {
    let client = reqwest::Client::new();
    let (mut from_response, mut from_mined) = (Vec::with_capacity(blocks), Vec::with_capacity(blocks));
    for block in 0..blocks {
        if block % REPORT_INTERVAL == 0 {
            report(format!("head: {block} of {blocks} blocks"));
        }
        let number = chain.mine_block(TRANSACTIONS).await?;
        let mined = Instant::now();
        let served = tokio::time::timeout(TIMEOUT, chain.local().served_at(number)).await??;
        wait_until_visible(&client, &format!("{}/api/v1/blocks/{number}", explorer.url)).await?;
        from_response.push(served.elapsed());
        from_mined.push(mined.elapsed());
    }
    Ok((from_response, from_mined))
}

async fn wait_until_visible(client: &reqwest::Client, url: &str) -> anyhow::Result<()> {
    let started = Instant::now();
    loop {
        let response = client.get(url).send().await?;
        match response.status() {
            StatusCode::OK => return Ok(()),
            StatusCode::NOT_FOUND if started.elapsed() < TIMEOUT => tokio::time::sleep(POLL_INTERVAL).await,
            status => bail!("{url} returned {status}"),
        }
    }
}

impl HeadFigures {
    /// From the node's response.
    pub(crate) fn p99(&self) -> Duration {
        quantile(&self.from_response, 0.99)
    }
}

impl fmt::Display for HeadFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let blocks = self.from_response.len();
        writeln!(
            f,
            "| {blocks} blocks of {TRANSACTIONS} transactions on top of {} | median | p99 | worst |",
            self.indexed
        )?;
        writeln!(f, "|---|---|---|---|")?;
        let mut row = |name: &str, sample: &[Duration]| {
            let [median, p99, worst] = [0.5, 0.99, 1.0].map(|share| millis(quantile(sample, share)));
            writeln!(f, "| {name} | {median} | {p99} | {worst} |")
        };
        row("from the node's response until it is visible in the API", &self.from_response)?;
        row("from mining, including the wait for the next poll of the node", &self.from_mined)?;
        let is_reached = quantile(&self.from_response, 0.99) < MAX_P99;
        writeln!(f, "\nBound for the p99 from the node's response: {}, {}.", millis(MAX_P99), reached(is_reached))
    }
}
