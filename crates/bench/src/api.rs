//! The API under load, compared with a bare handler that returns the same bytes.

mod backfill;
mod bare;
mod endurance;
mod load;
mod scenarios;

use std::{fmt, path::Path, time::Duration};

use self::{
    backfill::DuringBackfill,
    bare::BareHandler,
    load::{Load, Measured, Requests},
    scenarios::Scenario,
};
pub(crate) use self::{bare::serve as serve_bare, endurance::measure as measure_endurance};
use crate::{
    chain::RecordedChain,
    explorer::Explorer,
    figures::{millis, quantile, reached},
    progress::report,
};

/// Requests per second for pages of the busiest address, each for another one.
pub(crate) async fn request_rate(url: &str, chain: &RecordedChain, duration: Duration) -> anyhow::Result<f64> {
    let requests = scenarios::different_pages(chain);
    load::run(url, &requests, Load::Full, WARM_UP).await?;
    Ok(load::run(url, &requests, Load::Full, duration).await?.per_second())
}

/// Pages of lists for many clients at once.
pub(crate) struct Crowd {
    pub(crate) per_second: f64,
    pub(crate) p99: Duration,
    /// Per request.
    pub(crate) cpu_seconds: f64,
}

pub(crate) const CROWD: u32 = 200;

impl Crowd {
    pub(crate) async fn measure(
        url: &str,
        chain: &RecordedChain,
        duration: Duration,
        cpu_seconds: impl Fn() -> anyhow::Result<f64>,
    ) -> anyhow::Result<Self> {
        let requests = scenarios::of_clients(chain, CROWD);
        load::run_over(CROWD, url, &requests, Load::Full, duration / 2).await?;
        let before = cpu_seconds()?;
        let measured = load::run_over(CROWD, url, &requests, Load::Full, duration).await?;
        let cpu_seconds = (cpu_seconds()? - before) / measured.latencies.len().max(1) as f64;
        Ok(Self { per_second: measured.per_second(), p99: quantile(&measured.latencies, 0.99), cpu_seconds })
    }
}

/// Bounds: throughput as a share of the bare handler, p99 latency at half load and during a backfill, and the cost of the
/// last page relative to the first.
const MIN_OF_BARE: f64 = 0.5;
const MAX_P99: Duration = Duration::from_millis(5);
const MAX_P99_DURING_BACKFILL: Duration = Duration::from_millis(20);
const MAX_LAST_PAGE: f64 = 1.5;
const WARM_UP: Duration = Duration::from_millis(300);

pub(crate) struct ApiFigures {
    rows: Vec<Row>,
}

struct Row {
    scenario: Scenario,
    bytes: usize,
    bare: Loaded,
    /// The same request repeated, served from the response cache.
    same: Loaded,
    half: Measured,
    during_backfill: DuringBackfill,
    /// Different requests without a response cache, and the bare handler in the same minute.
    different: Different,
}

struct Different {
    bare: Loaded,
    explorer: Loaded,
    half: Measured,
}

/// A full load and the CPU time of the server under it.
struct Loaded {
    measured: Measured,
    cpu_micros: f64,
}

impl Loaded {
    async fn run(
        url: &str,
        requests: &Requests,
        duration: Duration,
        cpu_seconds: impl Fn() -> anyhow::Result<f64>,
    ) -> anyhow::Result<Self> {
        load::run(url, requests, Load::Full, WARM_UP).await?;
        let before = cpu_seconds()?;
        let measured = load::run(url, requests, Load::Full, duration).await?;
        let cpu_micros = (cpu_seconds()? - before) * 1e6 / measured.latencies.len().max(1) as f64;
        Ok(Self { measured, cpu_micros })
    }

    async fn of_bare(body: &[u8], requests: &Requests, duration: Duration) -> anyhow::Result<Self> {
        let bare = BareHandler::start(body).await?;
        let loaded = Self::run(&bare.url, requests, duration, || bare.cpu_seconds()).await?;
        bare.stop().await?;
        Ok(loaded)
    }

    async fn of_explorer(explorer: &Explorer, requests: &Requests, duration: Duration) -> anyhow::Result<Self> {
        Self::run(&explorer.url, requests, duration, || explorer.cpu_seconds()).await
    }

    fn per_second(&self) -> f64 {
        self.measured.per_second()
    }
}

pub(crate) async fn measure(chain: &RecordedChain, data: &Path, duration: Duration) -> anyhow::Result<ApiFigures> {
    let explorer = Explorer::start_without_cache(&chain.url(), data).await?;
    explorer.wait_for_tip(chain.head).await?;
    let mut scenarios = Vec::new();
    for scenario in scenarios::all(&explorer, chain).await? {
        report(format!("api, all requests different: {}", scenario.name));
        // The explorer right after the bare handler, so that noise affects both.
        let body = load::response(&explorer.url, &scenario.request()).await?;
        let bare = Loaded::of_bare(&body, &scenario.same(), duration).await?;
        let requests = scenario.different();
        let loaded = Loaded::of_explorer(&explorer, &requests, duration).await?;
        let half = load::run(&explorer.url, &requests, Load::PerSecond(loaded.per_second() / 2.0), duration).await?;
        scenarios.push((scenario, body, Different { bare, explorer: loaded, half }));
    }
    explorer.stop().await?;
    let explorer = Explorer::start(&chain.url(), data).await?;
    explorer.wait_for_tip(chain.head).await?;
    let mut rows = Vec::new();
    for (scenario, body, different) in scenarios {
        report(format!("api: {}", scenario.name));
        let requests = scenario.same();
        let bare = Loaded::of_bare(&body, &requests, duration).await?;
        let same = Loaded::of_explorer(&explorer, &requests, duration).await?;
        let half = load::run(&explorer.url, &requests, Load::PerSecond(same.per_second() / 2.0), duration).await?;
        rows.push((scenario, body.len(), different, bare, same, half));
    }
    explorer.stop().await?;
    let mut measured = Vec::new();
    for (scenario, bytes, different, bare, same, half) in rows {
        report(format!("api, while a backfill runs: {}", scenario.name));
        let during_backfill = backfill::measure(chain, &scenario, same.per_second() / 2.0, duration).await?;
        measured.push(Row { scenario, bytes, bare, same, half, during_backfill, different });
    }
    Ok(ApiFigures { rows: measured })
}

impl fmt::Display for ApiFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} connections, each with one request in flight.\n", load::CONNECTIONS)?;
        writeln!(
            f,
            "| full load, the same request repeated | bytes | bare handler | explorer | ratio (bound: {MIN_OF_BARE}) | | CPU per request, bare | explorer |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|---|---|")?;
        for Row { scenario, bytes, bare, same, .. } in &self.rows {
            write_ratio(f, &scenario.name, *bytes, bare, same)?;
        }
        writeln!(
            f,
            "\n| full load, all requests different, no cache | bytes | bare handler | explorer | ratio | (of {MIN_OF_BARE}) | CPU per request, bare | explorer |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|---|---|")?;
        for Row { scenario, bytes, different, .. } in &self.rows {
            write_ratio(f, &scenario.name, *bytes, &different.bare, &different.explorer)?;
        }
        let bound = millis(MAX_P99);
        for (what, different) in [("half load, the same request", false), ("half load, all different, no cache", true)]
        {
            writeln!(f, "\n| {what} | requests | median | p99 (bound: {bound}) | |")?;
            writeln!(f, "|---|---|---|---|---|")?;
            for row in &self.rows {
                let half = if different { &row.different.half } else { &row.half };
                let (median, p99) = (quantile(&half.latencies, 0.5), quantile(&half.latencies, 0.99));
                let (rate, reached) = (half.per_second(), reached(p99 < MAX_P99));
                let (name, median, p99) = (&row.scenario.name, millis(median), millis(p99));
                writeln!(f, "| {name} | {rate:.0}/s | {median} | {p99} | {reached} |")?;
            }
        }
        let bound = millis(MAX_P99_DURING_BACKFILL);
        writeln!(
            f,
            "\n| while a backfill runs, same load as above | measured | requests | median | p99 (bound: {bound}) | | backfill meanwhile |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|---|")?;
        for Row { scenario, during_backfill, .. } in &self.rows {
            let (name, half) = (&scenario.name, &during_backfill.half);
            if half.latencies.is_empty() {
                writeln!(f, "| {name} | the chain is too short: the backfill was over | | | | not measured | |")?;
                continue;
            }
            let (median, p99) = (quantile(&half.latencies, 0.5), quantile(&half.latencies, 0.99));
            let reached = reached(p99 < MAX_P99_DURING_BACKFILL);
            let (seconds, rate, indexing) = (half.took.as_secs_f64(), half.per_second(), during_backfill.indexing);
            let (median, p99) = (millis(median), millis(p99));
            writeln!(
                f,
                "| {name} | {seconds:.1} s | {rate:.0}/s | {median} | {p99} | {reached} | {indexing:.0} tx/s |"
            )?;
        }
        let row = |name: &str| self.rows.iter().find(|row| row.scenario.name == name);
        if let (Some(first), Some(last)) = (row(scenarios::FIRST_PAGE), row(scenarios::LAST_PAGE)) {
            let same = first.same.per_second() / last.same.per_second();
            let uncached = first.different.explorer.per_second() / last.different.explorer.per_second();
            let (cached_reached, uncached_reached) =
                (reached(same <= MAX_LAST_PAGE), reached(uncached <= MAX_LAST_PAGE));
            writeln!(
                f,
                "\nThe last page costs {same:.2} times the first one (bound: {MAX_LAST_PAGE}, {cached_reached})."
            )?;
            writeln!(
                f,
                "Without the cache, the last half of the pages costs {uncached:.2} times the first half ({uncached_reached})."
            )?;
        }
        Ok(())
    }
}

fn write_ratio(f: &mut fmt::Formatter<'_>, name: &str, bytes: usize, bare: &Loaded, explorer: &Loaded) -> fmt::Result {
    let (rate, bare_rate) = (explorer.per_second(), bare.per_second());
    let (ratio, reached) = (rate / bare_rate, reached(rate / bare_rate >= MIN_OF_BARE));
    let (cpu, bare_cpu) = (explorer.cpu_micros, bare.cpu_micros);
    writeln!(
        f,
        "| {name} | {bytes} | {bare_rate:.0}/s | {rate:.0}/s | {ratio:.2} | {reached} | {bare_cpu:.1} us | {cpu:.1} us |"
    )
}
