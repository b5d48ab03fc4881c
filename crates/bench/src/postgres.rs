//! The explorer on PostgreSQL beside the embedded store: indexing, size, pages, the head of the chain, several processes.

mod server;

use std::{
    fmt,
    path::Path,
    time::{Duration, Instant},
};

use self::server::Server;
use crate::{
    api::{CROWD, Crowd, request_rate},
    chain::RecordedChain,
    explorer::{Explorer, NO_CACHE, compact_database},
    figures::reached,
    head::{self, HeadFigures},
    page_depth::{self, PageDepthFigures},
    progress::report,
};

const MIN_RATE: f64 = 12_000.0;
const MAX_CPU: f64 = 6.0;
const MAX_BYTES: f64 = 900.0;
const MAX_PAGE: Duration = Duration::from_millis(2);
const MAX_DEPTH: f64 = 1.5;
const MAX_PAIR: f64 = 5.0;
const MAX_HEAD: Duration = Duration::from_millis(100);
const MIN_SPEEDUP: f64 = 1.6;
const MIN_CROWD_RATE: f64 = 1_200.0;
const MAX_CROWD_P99: Duration = Duration::from_millis(300);
const MAX_PAGE_CPU: Duration = Duration::from_micros(600);
/// Both processes need the same one.
const KEY: [&str; 2] = ["--webhook-encryption-key", "0000000000000000000000000000000000000000000000000000000000000007"];

struct Indexing {
    took: Duration,
    /// Of the explorer, and of the server.
    cpu: [f64; 2],
}

/// Requests per second and CPU seconds per request, of one process and of two.
struct Serving {
    per_second: [f64; 2],
    cpu: [f64; 2],
}

pub(crate) struct PostgresFigures {
    transactions: u64,
    embedded: Indexing,
    indexing: Indexing,
    bytes: [f64; 2],
    embedded_pages: PageDepthFigures,
    pages: PageDepthFigures,
    embedded_head: HeadFigures,
    head: HeadFigures,
    serving: Serving,
    /// 200 clients: on the embedded store, on PostgreSQL without limits, and with.
    crowds: [Crowd; 3],
}

pub(crate) async fn measure(
    chain: &RecordedChain,
    requests: usize,
    head_blocks: usize,
    load: Duration,
) -> anyhow::Result<PostgresFigures> {
    let server = Server::start()?;
    let url = server.database("explorer")?;
    let (folder, unused) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let on_database = [&["--database", &url], &NO_CACHE[..], &KEY[..]].concat();
    report("postgres: indexing into the embedded store");
    let embedded = index(chain, folder.path(), &NO_CACHE, || Ok(0.0)).await?;
    report("postgres: indexing into PostgreSQL");
    let indexing = index(chain, unused.path(), &on_database, || server.cpu_seconds()).await?;
    report("postgres: compaction");
    compact_database(&url).await?;
    server.query("explorer", "vacuum (analyze)")?;
    let sizes = server.query(
        "explorer",
        "select sum(pg_relation_size(c.oid)), sum(pg_indexes_size(c.oid)) from pg_class c
        where c.relnamespace = 'explorer'::regnamespace and c.relkind = 'r'",
    )?;
    let mut bytes = [0.0; 2];
    for (size, text) in bytes.iter_mut().zip(sizes.split('|')) {
        *size = text.parse::<f64>()? / chain.transactions as f64;
    }
    report("postgres: pages");
    let embedded_pages = page_depth::measure(chain, folder.path(), requests, &NO_CACHE).await?;
    let pages = page_depth::measure(chain, unused.path(), requests, &on_database).await?;
    report("postgres: one and two processes that serve");
    let serving = serve(chain, unused.path(), &on_database, &server, load).await?;
    report("postgres: many clients");
    let crowds = crowds(chain, [folder.path(), unused.path()], &on_database, &server, load).await?;
    report("postgres: the head of the chain");
    let head = head::measure(chain, unused.path(), head_blocks, &on_database).await?;
    let embedded_head = head::measure(chain, folder.path(), head_blocks, &NO_CACHE).await?;
    Ok(PostgresFigures {
        transactions: chain.transactions,
        embedded,
        indexing,
        bytes,
        embedded_pages,
        pages,
        embedded_head,
        head,
        serving,
        crowds,
    })
}

async fn index(
    chain: &RecordedChain,
    data: &Path,
    options: &[&str],
    server_cpu: impl Fn() -> anyhow::Result<f64>,
) -> anyhow::Result<Indexing> {
    let (started, before) = (Instant::now(), server_cpu()?);
    let explorer = Explorer::start_with(&chain.url(), data, options).await?;
    explorer.wait_for_tip(chain.head).await?;
    let took = started.elapsed();
    let cpu = [explorer.cpu_seconds()?, server_cpu()? - before];
    explorer.stop().await?;
    Ok(Indexing { took, cpu })
}

/// The same load on one process and on two.
async fn serve(
    chain: &RecordedChain,
    data: &Path,
    options: &[&str],
    server: &Server,
    load: Duration,
) -> anyhow::Result<Serving> {
    let options = [options, &["--role", "serve"]].concat();
    let mut serving = Serving { per_second: [0.0; 2], cpu: [0.0; 2] };
    for (count, (per_second, cpu)) in (1..).zip(serving.per_second.iter_mut().zip(&mut serving.cpu)) {
        let mut explorers = Vec::new();
        for _ in 0..count {
            explorers.push(Explorer::start_with(&chain.url(), data, &options).await?);
        }
        let used = |explorers: &[Explorer]| -> anyhow::Result<f64> {
            let own: f64 = explorers.iter().map(Explorer::cpu_seconds).sum::<anyhow::Result<f64>>()?;
            Ok(own + server.cpu_seconds()?)
        };
        let before = used(&explorers)?;
        let urls = explorers.iter().map(|explorer| explorer.url.clone()).collect::<Vec<_>>();
        let rates = futures::future::try_join_all(urls.iter().map(|url| request_rate(url, chain, load))).await?;
        *per_second = rates.iter().sum();
        *cpu = (used(&explorers)? - before) / (*per_second * load.as_secs_f64());
        for explorer in explorers {
            explorer.stop().await?;
        }
    }
    Ok(serving)
}

async fn crowds(
    chain: &RecordedChain,
    [embedded, unused]: [&Path; 2],
    on_database: &[&str],
    server: &Server,
    load: Duration,
) -> anyhow::Result<[Crowd; 3]> {
    let explorer = Explorer::start_with(&chain.url(), embedded, &NO_CACHE).await?;
    let on_embedded = Crowd::measure(&explorer.url, chain, load, || explorer.cpu_seconds()).await?;
    explorer.stop().await?;
    let options = [on_database, &["--role", "serve"]].concat();
    let explorer = Explorer::start_with(&chain.url(), unused, &options).await?;
    let cpu = |explorer: &Explorer| -> anyhow::Result<f64> { Ok(explorer.cpu_seconds()? + server.cpu_seconds()?) };
    let unlimited = Crowd::measure(&explorer.url, chain, load, || cpu(&explorer)).await?;
    explorer.stop().await?;
    let explorer = Explorer::start_counting(&chain.url(), unused, &options).await?;
    let limited = Crowd::measure(&explorer.url, chain, load, || cpu(&explorer)).await?;
    explorer.stop().await?;
    Ok([on_embedded, unlimited, limited])
}

impl fmt::Display for PostgresFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let transactions = self.transactions as f64;
        let rate = |indexing: &Indexing| transactions / indexing.took.as_secs_f64();
        let per_100_000 = |seconds: f64| seconds * 1e5 / transactions;
        writeln!(f, "| indexing {} transactions | embedded | PostgreSQL | ratio |", self.transactions)?;
        writeln!(f, "|---|---|---|---|")?;
        let (own, other) = (rate(&self.embedded), rate(&self.indexing));
        writeln!(f, "| tx/s | {own:.0} | {other:.0} | {:.2} |", other / own)?;
        let [client, server] = self.indexing.cpu.map(per_100_000);
        let embedded = per_100_000(self.embedded.cpu[0]);
        writeln!(
            f,
            "| CPU s per 100,000 tx | {embedded:.2} | {client:.2} + {server:.2} of the server | {:.2} |",
            (client + server) / embedded
        )?;
        writeln!(f, "\nEmbedded store:\n\n{}\nPostgreSQL:\n\n{}", self.embedded_pages, self.pages)?;
        writeln!(f, "Embedded store:\n\n{}\nPostgreSQL:\n\n{}", self.embedded_head, self.head)?;
        let Serving { per_second: [one, two], cpu: [cpu_one, cpu_two] } = self.serving;
        writeln!(f, "| processes that serve | requests/s | CPU per request, server included |\n|---|---|---|")?;
        writeln!(f, "| one | {one:.0} | {:.0} us |", cpu_one * 1e6)?;
        writeln!(f, "| two | {two:.0} | {:.0} us |", cpu_two * 1e6)?;

        writeln!(f, "\n| {CROWD} clients | requests/s | p99 | CPU per request, server included |\n|---|---|---|---|")?;
        let stores = ["embedded store", "PostgreSQL", "PostgreSQL, with a limit"];
        for (store, crowd) in stores.iter().zip(&self.crowds) {
            let (p99, cpu) = (crowd.p99.as_secs_f64() * 1e3, crowd.cpu_seconds * 1e6);
            writeln!(f, "| {store} | {:.0} | {p99:.0} ms | {cpu:.0} us |", crowd.per_second)?;
        }

        writeln!(f, "\n| bar | | bound | |\n|---|---|---|---|")?;
        let mut bar = |name: &str, value: String, bound: String, is_reached: bool| {
            writeln!(f, "| {name} | {value} | {bound} | {} |", reached(is_reached))
        };
        bar("tx/s", format!("{other:.0}"), format!("at least {MIN_RATE:.0}"), other >= MIN_RATE)?;
        let cpu = client + server;
        bar("CPU s per 100,000 tx", format!("{cpu:.2}"), format!("at most {MAX_CPU:.0}"), cpu <= MAX_CPU)?;
        let [heap, indexes] = self.bytes;
        bar(
            "bytes of heap and indexes per tx, merged",
            format!("{heap:.0} + {indexes:.0}"),
            format!("at most {MAX_BYTES:.0}"),
            heap + indexes <= MAX_BYTES,
        )?;
        let [first, last, pair] = self.pages.compared();
        let millis = |duration: Duration| format!("{:.2} ms", duration.as_secs_f64() * 1e3);
        bar("a page, median", millis(first), format!("under {}", millis(MAX_PAGE)), first.max(last) < MAX_PAGE)?;
        let depth = last.as_secs_f64() / first.as_secs_f64();
        bar("last page, of the first", format!("{depth:.2}"), format!("at most {MAX_DEPTH}"), depth <= MAX_DEPTH)?;
        let pairs = pair.as_secs_f64() / first.as_secs_f64();
        bar("two lists, of one", format!("{pairs:.2}"), format!("at most {MAX_PAIR:.0}"), pairs <= MAX_PAIR)?;
        let p99 = self.head.p99();
        bar("200 tx at the head, p99", millis(p99), format!("under {}", millis(MAX_HEAD)), p99 < MAX_HEAD)?;
        let speedup = two / one;
        bar(
            "two processes, of the load of one",
            format!("{speedup:.2}"),
            format!("at least {MIN_SPEEDUP}, where cores are free"),
            speedup >= MIN_SPEEDUP,
        )?;
        let [_, crowd, _] = &self.crowds;
        let is_reached = crowd.per_second >= MIN_CROWD_RATE && crowd.p99 <= MAX_CROWD_P99;
        bar(
            "200 clients, requests/s and p99",
            format!("{:.0}, {}", crowd.per_second, millis(crowd.p99)),
            format!("at least {MIN_CROWD_RATE:.0}, at most {}", millis(MAX_CROWD_P99)),
            is_reached,
        )?;
        bar(
            "CPU of a page, server included",
            millis(Duration::from_secs_f64(crowd.cpu_seconds)),
            format!("at most {}", millis(MAX_PAGE_CPU)),
            crowd.cpu_seconds <= MAX_PAGE_CPU.as_secs_f64(),
        )
    }
}
