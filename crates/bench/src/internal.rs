//! What internal transactions cost: bytes on disk, and the time until the index has them.

use std::{
    fmt,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use serde_json::Value;
use store_embedded::{EmbeddedStore, StoreOptions};

use crate::{
    chain::{ChainPlan, RecordedChain},
    explorer::Explorer,
    progress::report,
    replay::Conditions,
};

/// So short that the node has the states of all blocks.
pub(crate) const CHAIN: ChainPlan = ChainPlan { transactions: 30_000, per_block: 100 };
const POLL: Duration = Duration::from_millis(50);
const TIMEOUT: Duration = Duration::from_secs(600);

pub(crate) struct InternalFigures {
    transactions: u64,
    without: Indexed,
    with: Indexed,
    /// Until the last block was traced, from the start.
    traced: Duration,
    internal: u64,
}

struct Indexed {
    took: Duration,
    cpu_seconds: f64,
    disk_bytes: u64,
}

pub(crate) async fn measure(chain: &RecordedChain) -> anyhow::Result<InternalFigures> {
    let (untraced_data, traced_data) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let node = chain.serve(Conditions { traces: true, ..Conditions::default() }).await?;
    report("internal: without traces");
    let started = Instant::now();
    let explorer = Explorer::start_with(&node.url(), untraced_data.path(), &["--traces", "off"]).await?;
    explorer.wait_for_tip(chain.head).await?;
    let took = started.elapsed();
    let without = Indexed { took, ..stop(explorer, untraced_data.path()).await? };
    report("internal: with traces");
    let started = Instant::now();
    let explorer = Explorer::start(&node.url(), traced_data.path()).await?;
    explorer.wait_for_tip(chain.head).await?;
    let took = started.elapsed();
    wait_for_traces(&explorer, chain.head).await?;
    let traced = started.elapsed();
    let list = read(&format!("{}/api/v1/internal-transactions?limit=1", explorer.url)).await?;
    let internal = list["total"].as_u64().context("no total")?;
    let with = Indexed { took, ..stop(explorer, traced_data.path()).await? };
    Ok(InternalFigures { transactions: chain.transactions, without, with, traced, internal })
}

async fn stop(explorer: Explorer, data: &Path) -> anyhow::Result<Indexed> {
    let cpu_seconds = explorer.cpu_seconds()?;
    explorer.stop().await?;
    let disk_bytes = EmbeddedStore::open(data, StoreOptions::default())?.compacted_bytes()?;
    Ok(Indexed { took: Duration::ZERO, cpu_seconds, disk_bytes })
}

async fn wait_for_traces(explorer: &Explorer, head: u64) -> anyhow::Result<()> {
    let started = Instant::now();
    loop {
        let stats = read(&format!("{}/api/v1/stats", explorer.url)).await?;
        if stats["internalTransactionsFrom"] == 0 && stats["internalTransactionsTo"].as_u64() >= Some(head) {
            return Ok(());
        }
        ensure!(started.elapsed() < TIMEOUT, "not all blocks are traced: {stats}");
        tokio::time::sleep(POLL).await;
    }
}

async fn read(url: &str) -> anyhow::Result<Value> {
    let body = reqwest::get(url).await?.error_for_status()?.bytes().await?;
    Ok(serde_json::from_slice(&body)?)
}

impl fmt::Display for InternalFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = |took: Duration| self.transactions as f64 / took.as_secs_f64();
        let Self { without, with, .. } = self;
        writeln!(f, "| {} transactions, {} internal | without traces | with them |", self.transactions, self.internal)?;
        writeln!(f, "|---|---|---|")?;
        writeln!(f, "| index at the tip | {:.0} tx/s | {:.0} tx/s |", rate(without.took), rate(with.took))?;
        writeln!(f, "| all blocks traced | | {:.0} tx/s |", rate(self.traced))?;
        writeln!(f, "| CPU of the explorer | {:.2} s | {:.2} s |", without.cpu_seconds, with.cpu_seconds)?;
        let [less, more] = [without, with].map(|indexed| indexed.disk_bytes as f64);
        let per_tx = [less, more].map(|bytes| bytes / self.transactions as f64);
        writeln!(f, "| on disk per tx, compacted | {:.0} bytes | {:.0} bytes |", per_tx[0], per_tx[1])?;
        writeln!(f, "| on disk per internal transaction | | {:.0} bytes |", (more - less) / self.internal.max(1) as f64)
    }
}
