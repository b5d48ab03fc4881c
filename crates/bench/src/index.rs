//! The speed and the resource usage of indexing.

mod growth;
mod recovery;
mod remote_node;

use std::{
    fmt,
    path::Path,
    time::{Duration, Instant},
};

use store_embedded::{
    EmbeddedStore, StoreOptions,
    testing::{TableSize, table_sizes},
};

use self::growth::Growth;
pub(crate) use self::remote_node::full_index;
use crate::{
    chain::{ChainPlan, RecordedChain},
    download,
    explorer::Explorer,
    figures::{millis, reached},
    progress::report,
    replay::Conditions,
};

/// So few per block that the round trip to a remote node dominates.
const SMALL_BLOCKS: ChainPlan = ChainPlan { transactions: 100_000, per_block: 4 };

const MIN_OF_DECODED: f64 = 0.20;
const MAX_CPU: f64 = 2.0;
const MAX_MEGABYTES: f64 = 1_000.0;
const MAX_DISK: f64 = 250.0;
const MAX_WRITTEN: f64 = 1_500.0;
const MIN_GROWTH: f64 = 0.8;
/// Bytes a transaction of a table.
const SMALLEST_SHOWN: f64 = 0.2;
const MAX_OPENING: Duration = Duration::from_secs(2);

pub(crate) struct IndexFigures {
    transactions: u64,
    bare: Duration,
    decoded: Duration,
    full: Duration,
    /// The same with every block fully checked.
    fully_checked: Duration,
    fully_checked_cpu: f64,
    growth: Growth,
    cpu_seconds: f64,
    peak_megabytes: f64,
    written_bytes: u64,
    disk_bytes: u64,
    tables: Vec<TableSize>,
    opening: recovery::Opening,
    /// Of the chain itself, where the machine is the limit, and of one with small blocks, where the round trip is.
    remote_node: [remote_node::RemoteNodeFigures; 2],
}

pub(crate) async fn measure(
    chain: &RecordedChain,
    data: &Path,
    remote_node: Conditions,
) -> anyhow::Result<IndexFigures> {
    report("index: bare download, then with decoding");
    let bare = download::bare(&chain.url(), chain.head).await?;
    let decoded = download::decoded(&chain.url(), chain.head).await?;
    report("index: full index");
    let started = Instant::now();
    let explorer = Explorer::start(&chain.url(), data).await?;
    let growth = Growth::watch(&explorer, chain, started).await?;
    let full = started.elapsed();
    let (cpu_seconds, peak_megabytes) = (explorer.cpu_seconds()?, explorer.peak_megabytes()?);
    let written_bytes = explorer.written_bytes()?;
    explorer.stop().await?;
    report("index: full index, every block fully checked");
    let (fully_checked, fully_checked_cpu) = fully_checked(chain).await?;
    report("index: compaction");
    let disk_bytes = EmbeddedStore::open(data, StoreOptions::default())?.compacted_bytes()?;
    let mut tables = table_sizes(data, tempfile::tempdir()?.path())?;
    tables.sort_by_key(|size| std::cmp::Reverse(size.disk_bytes));
    let opening = recovery::measure(chain).await?;
    let small_blocks = RecordedChain::make(SMALL_BLOCKS).await?;
    let remote_node =
        [remote_node::measure(chain, remote_node).await?, remote_node::measure(&small_blocks, remote_node).await?];
    Ok(IndexFigures {
        transactions: chain.transactions,
        bare,
        decoded,
        full,
        fully_checked,
        fully_checked_cpu,
        growth,
        cpu_seconds,
        peak_megabytes,
        written_bytes,
        disk_bytes,
        tables,
        opening,
        remote_node,
    })
}

/// Indexes with `--verify-blocks full`; returns the time and the CPU seconds.
async fn fully_checked(chain: &RecordedChain) -> anyhow::Result<(Duration, f64)> {
    let data = tempfile::tempdir()?;
    let started = Instant::now();
    let explorer = Explorer::start_with(&chain.url(), data.path(), &["--verify-blocks", "full"]).await?;
    explorer.wait_for_tip(chain.head).await?;
    let figures = (started.elapsed(), explorer.cpu_seconds()?);
    explorer.stop().await?;
    Ok(figures)
}

impl fmt::Display for IndexFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let transactions = self.transactions as f64;
        let rate = |time: Duration| transactions / time.as_secs_f64();
        let (bare, decoded, full) = (rate(self.bare), rate(self.decoded), rate(self.full));
        writeln!(f, "| indexing {} transactions | | of the bare download | of the limit |", self.transactions)?;
        writeln!(f, "|---|---|---|---|")?;
        writeln!(f, "| bare download | {bare:.0} tx/s | | |")?;
        writeln!(f, "| bare download and decoding: the limit | {decoded:.0} tx/s | {:.2} | |", decoded / bare)?;
        writeln!(
            f,
            "| full index, process start included | {full:.0} tx/s | {:.2} | {:.2} |",
            full / bare,
            full / decoded
        )?;
        let checked = rate(self.fully_checked);
        writeln!(
            f,
            "| full index, every block fully checked: {:.2} CPU s per 100,000 tx | {checked:.0} tx/s | {:.2} | {:.2} |",
            self.fully_checked_cpu * 1e5 / transactions,
            checked / bare,
            checked / decoded
        )?;

        let cpu = self.cpu_seconds * 1e5 / transactions;
        let (disk, written) = (self.disk_bytes as f64 / transactions, self.written_bytes as f64 / transactions);
        let last = self.growth.last_to_first();
        let opening = self.opening.until_response;
        writeln!(f, "\n| bar | | bound | |")?;
        writeln!(f, "|---|---|---|---|")?;
        let mut bar = |name: &str, value: String, bound: String, reached: &str| {
            writeln!(f, "| {name} | {value} | {bound} | {reached} |")
        };
        bar(
            "full index, of the limit",
            format!("{:.2}", full / decoded),
            format!("at least {MIN_OF_DECODED:.2}"),
            reached(full / decoded >= MIN_OF_DECODED),
        )?;
        bar(
            "CPU of the whole process per 100,000 tx",
            format!("{cpu:.2} s"),
            format!("at most {MAX_CPU:.1} s"),
            reached(cpu <= MAX_CPU),
        )?;
        bar(
            "peak memory",
            format!("{:.0} MB", self.peak_megabytes),
            format!("under {MAX_MEGABYTES:.0} MB"),
            reached(self.peak_megabytes < MAX_MEGABYTES),
        )?;
        bar(
            "on disk per tx, compacted",
            format!("{disk:.0} bytes"),
            format!("at most {MAX_DISK:.0}"),
            reached(disk <= MAX_DISK),
        )?;
        bar(
            "written per tx",
            format!("{written:.0} bytes"),
            format!("at most {MAX_WRITTEN:.0}"),
            reached(written <= MAX_WRITTEN),
        )?;
        bar(
            "last quarter, of the first one's rate",
            format!("{last:.2}"),
            format!("at least {MIN_GROWTH}"),
            self.growth.reaches(MIN_GROWTH).map_or("not measured: chain too short", reached),
        )?;
        bar(
            "serving again after kill -9 in mid-backfill",
            millis(opening),
            format!("within {}", millis(MAX_OPENING)),
            reached(opening <= MAX_OPENING),
        )?;
        writeln!(f, "\n| table | rows a tx | bytes a tx, plain | on disk |")?;
        writeln!(f, "|---|---|---|---|")?;
        for TableSize { table, rows, plain_bytes, disk_bytes } in &self.tables {
            let [rows, plain, disk] = [rows, plain_bytes, disk_bytes].map(|number| *number as f64 / transactions);
            if disk >= SMALLEST_SHOWN {
                writeln!(f, "| {table} | {rows:.3} | {plain:.1} | {disk:.1} |")?;
            }
        }
        let [large_blocks, small_blocks] = &self.remote_node;
        writeln!(f, "\n{}\n{}\n{large_blocks}\n{small_blocks}", self.growth, self.opening)
    }
}
