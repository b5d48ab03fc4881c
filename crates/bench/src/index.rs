//! How fast a chain is indexed, and what it takes.

mod far;
mod growth;
mod recovery;

use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

use store_embedded::{EmbeddedStore, StoreOptions};

pub(crate) use self::far::full_index;
use self::growth::Growth;
use crate::chain::{ChainPlan, RecordedChain};
use crate::download;
use crate::explorer::Explorer;
use crate::figures::{millis, verdict};
use crate::progress::tell;
use crate::replay::Conditions;

/// So few in a block that a round trip to a far node takes longer than the work.
const SMALL_BLOCKS: ChainPlan = ChainPlan { transactions: 100_000, per_block: 4 };

const LEAST_OF_LEAN: f64 = 0.20;
const MOST_CPU: f64 = 2.0;
const MOST_MEGABYTES: f64 = 1_000.0;
const MOST_DISK: f64 = 200.0;
const MOST_WRITTEN: f64 = 1_500.0;
const LEAST_GROWTH: f64 = 0.8;
const LONGEST_OPENING: Duration = Duration::from_secs(2);

pub(crate) struct IndexFigures {
    transactions: u64,
    bare: Duration,
    lean: Duration,
    full: Duration,
    growth: Growth,
    cpu_seconds: f64,
    peak_megabytes: f64,
    written_bytes: u64,
    disk_bytes: u64,
    opening: recovery::Opening,
    /// Of the chain itself, where the machine is the limit, and of one with small blocks, where the round trip is.
    far: [far::FarFigures; 2],
}

pub(crate) async fn measure(chain: &RecordedChain, data: &Path, far: Conditions) -> anyhow::Result<IndexFigures> {
    tell("index: bare download, then with decoding");
    let bare = download::bare(&chain.url(), chain.head).await?;
    let lean = download::lean(&chain.url(), chain.head).await?;
    tell("index: full index");
    let begun = Instant::now();
    let explorer = Explorer::start(&chain.url(), data).await?;
    let growth = Growth::watch(&explorer, chain, begun).await?;
    let full = begun.elapsed();
    let (cpu_seconds, peak_megabytes) = (explorer.cpu_seconds()?, explorer.peak_megabytes()?);
    let written_bytes = explorer.written_bytes()?;
    explorer.stop().await?;
    tell("index: compaction");
    let disk_bytes = EmbeddedStore::open(data, StoreOptions::default())?.compacted_bytes()?;
    let opening = recovery::measure(chain).await?;
    let small_blocks = RecordedChain::make(SMALL_BLOCKS).await?;
    let far = [far::measure(chain, far).await?, far::measure(&small_blocks, far).await?];
    Ok(IndexFigures {
        transactions: chain.transactions,
        bare,
        lean,
        full,
        growth,
        cpu_seconds,
        peak_megabytes,
        written_bytes,
        disk_bytes,
        opening,
        far,
    })
}

impl fmt::Display for IndexFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let transactions = self.transactions as f64;
        let rate = |time: Duration| transactions / time.as_secs_f64();
        let (bare, lean, full) = (rate(self.bare), rate(self.lean), rate(self.full));
        writeln!(f, "| indexing {} transactions | | of the bare download | of the limit |", self.transactions)?;
        writeln!(f, "|---|---|---|---|")?;
        writeln!(f, "| bare download | {bare:.0} tx/s | | |")?;
        writeln!(f, "| bare download and decoding: the limit | {lean:.0} tx/s | {:.2} | |", lean / bare)?;
        writeln!(
            f,
            "| full index, process start included | {full:.0} tx/s | {:.2} | {:.2} |",
            full / bare,
            full / lean
        )?;

        let cpu = self.cpu_seconds * 1e5 / transactions;
        let (disk, written) = (self.disk_bytes as f64 / transactions, self.written_bytes as f64 / transactions);
        let last = self.growth.last_to_first();
        let opening = self.opening.until_answer;
        writeln!(f, "\n| bar | | bound | |")?;
        writeln!(f, "|---|---|---|---|")?;
        let mut bar = |name: &str, value: String, bound: String, verdict: &str| {
            writeln!(f, "| {name} | {value} | {bound} | {verdict} |")
        };
        bar(
            "full index, of the limit",
            format!("{:.2}", full / lean),
            format!("at least {LEAST_OF_LEAN:.2}"),
            verdict(full / lean >= LEAST_OF_LEAN),
        )?;
        bar(
            "CPU of the whole process for 100,000 tx",
            format!("{cpu:.2} s"),
            format!("at most {MOST_CPU:.1} s"),
            verdict(cpu <= MOST_CPU),
        )?;
        bar(
            "peak memory",
            format!("{:.0} MB", self.peak_megabytes),
            format!("under {MOST_MEGABYTES:.0} MB"),
            verdict(self.peak_megabytes < MOST_MEGABYTES),
        )?;
        bar(
            "on disk for a tx, compacted",
            format!("{disk:.0} bytes"),
            format!("at most {MOST_DISK:.0}"),
            verdict(disk <= MOST_DISK),
        )?;
        bar(
            "written for a tx",
            format!("{written:.0} bytes"),
            format!("at most {MOST_WRITTEN:.0}"),
            verdict(written <= MOST_WRITTEN),
        )?;
        bar(
            "last quarter, of the first one's rate",
            format!("{last:.2}"),
            format!("at least {LEAST_GROWTH}"),
            self.growth.keeps(LEAST_GROWTH).map_or("not measured: chain too short", verdict),
        )?;
        bar(
            "serving again after kill -9 in mid-backfill",
            millis(opening),
            format!("within {}", millis(LONGEST_OPENING)),
            verdict(opening <= LONGEST_OPENING),
        )?;
        let [large_blocks, small_blocks] = &self.far;
        writeln!(f, "\n{}\n{}\n{large_blocks}\n{small_blocks}", self.growth, self.opening)
    }
}
