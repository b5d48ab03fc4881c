//! How fast a chain is indexed, and what it takes.

use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

use store_embedded::{EmbeddedStore, StoreOptions};

use crate::chain::RecordedChain;
use crate::explorer::Explorer;

pub(crate) struct IndexFigures {
    blocks: u64,
    transactions: u64,
    bare: Duration,
    full: Duration,
    cpu_seconds: f64,
    peak_megabytes: f64,
    disk_bytes: u64,
}

pub(crate) async fn measure(chain: &RecordedChain, data: &Path) -> anyhow::Result<IndexFigures> {
    let bare = chain.bare_download().await?;
    let begun = Instant::now();
    let explorer = Explorer::start(&chain.url(), data).await?;
    explorer.wait_for_tip(chain.head).await?;
    let full = begun.elapsed();
    let (cpu_seconds, peak_megabytes) = (explorer.cpu_seconds()?, explorer.peak_megabytes()?);
    explorer.stop().await?;

    let disk_bytes = EmbeddedStore::open(data, StoreOptions::default())?.compacted_bytes()?;
    Ok(IndexFigures {
        blocks: chain.head + 1,
        transactions: chain.transactions,
        bare,
        full,
        cpu_seconds,
        peak_megabytes,
        disk_bytes,
    })
}

impl fmt::Display for IndexFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let transactions = self.transactions as f64;
        let rate = |time: Duration| transactions / time.as_secs_f64();
        writeln!(f, "| indexing {} blocks, {} transactions | |", self.blocks, self.transactions)?;
        writeln!(f, "|---|---|")?;
        writeln!(f, "| bare download of the same blocks | {:.0} tx/s |", rate(self.bare))?;
        writeln!(f, "| full index, process start included | {:.0} tx/s |", rate(self.full))?;
        writeln!(f, "| ratio | {:.2} |", rate(self.full) / rate(self.bare))?;
        writeln!(f, "| CPU of the whole process | {:.2} s per 100,000 tx |", self.cpu_seconds * 1e5 / transactions)?;
        writeln!(f, "| peak memory | {:.0} MB |", self.peak_megabytes)?;
        writeln!(f, "| on disk, compacted | {:.0} bytes/tx |", self.disk_bytes as f64 / transactions)
    }
}
