//! The API at full load, beside a bare handler that returns the same bytes.

mod backfill;
mod bare;
mod load;
mod questions;

use std::fmt;
use std::path::Path;
use std::time::Duration;

use self::backfill::Beside;
use self::bare::BareHandler;
pub(crate) use self::bare::serve as serve_bare;
use self::load::{Load, Measured, Requests};
use self::questions::Question;
use crate::chain::RecordedChain;
use crate::explorer::Explorer;
use crate::figures::{millis, quantile, verdict};
use crate::progress::tell;

const LEAST_OF_BARE: f64 = 0.5;
const LONGEST: Duration = Duration::from_millis(5);
const LONGEST_BESIDE: Duration = Duration::from_millis(20);
const DEEPEST: f64 = 1.5;
const WARM_UP: Duration = Duration::from_millis(300);

pub(crate) struct ApiFigures {
    rows: Vec<Row>,
}

struct Row {
    question: Question,
    bytes: usize,
    bare: Loaded,
    /// The same question over and over.
    same: Loaded,
    half: Measured,
    beside: Beside,
    /// Questions that are all different, of an explorer that keeps no answers, and the bare handler in the same minute.
    different: Different,
}

struct Different {
    bare: Loaded,
    explorer: Loaded,
    half: Measured,
}

/// A full load, and what the process under it spent.
struct Loaded {
    measured: Measured,
    cpu_micros: f64,
}

impl Loaded {
    async fn run(
        url: &str,
        requests: &Requests,
        lasting: Duration,
        cpu_seconds: impl Fn() -> anyhow::Result<f64>,
    ) -> anyhow::Result<Self> {
        load::run(url, requests, Load::Full, WARM_UP).await?;
        let before = cpu_seconds()?;
        let measured = load::run(url, requests, Load::Full, lasting).await?;
        let cpu_micros = (cpu_seconds()? - before) * 1e6 / measured.latencies.len().max(1) as f64;
        Ok(Self { measured, cpu_micros })
    }

    async fn of_bare(body: &[u8], requests: &Requests, lasting: Duration) -> anyhow::Result<Self> {
        let bare = BareHandler::start(body).await?;
        let loaded = Self::run(&bare.url, requests, lasting, || bare.cpu_seconds()).await?;
        bare.stop().await?;
        Ok(loaded)
    }

    async fn of_explorer(explorer: &Explorer, requests: &Requests, lasting: Duration) -> anyhow::Result<Self> {
        Self::run(&explorer.url, requests, lasting, || explorer.cpu_seconds()).await
    }

    fn per_second(&self) -> f64 {
        self.measured.per_second()
    }
}

pub(crate) async fn measure(chain: &RecordedChain, data: &Path, lasting: Duration) -> anyhow::Result<ApiFigures> {
    let explorer = Explorer::start_forgetful(&chain.url(), data).await?;
    explorer.wait_for_tip(chain.head).await?;
    let mut questions = Vec::new();
    for question in questions::all(&explorer, chain).await? {
        tell(format!("api, all different: {}", question.name));
        // The bare handler before and the explorer after it, in the same minute: noise hits both.
        let body = load::answer(&explorer.url, &question.same()[0]).await?;
        let bare = Loaded::of_bare(&body, &question.same(), lasting).await?;
        let requests = question.different();
        let loaded = Loaded::of_explorer(&explorer, &requests, lasting).await?;
        let half = load::run(&explorer.url, &requests, Load::PerSecond(loaded.per_second() / 2.0), lasting).await?;
        questions.push((question, body, Different { bare, explorer: loaded, half }));
    }
    explorer.stop().await?;
    let explorer = Explorer::start(&chain.url(), data).await?;
    explorer.wait_for_tip(chain.head).await?;
    let mut rows = Vec::new();
    for (question, body, different) in questions {
        tell(format!("api: {}", question.name));
        let requests = question.same();
        let bare = Loaded::of_bare(&body, &requests, lasting).await?;
        let same = Loaded::of_explorer(&explorer, &requests, lasting).await?;
        let half = load::run(&explorer.url, &requests, Load::PerSecond(same.per_second() / 2.0), lasting).await?;
        rows.push((question, body.len(), different, bare, same, half));
    }
    explorer.stop().await?;
    let mut measured = Vec::new();
    for (question, bytes, different, bare, same, half) in rows {
        tell(format!("api, while a backfill runs: {}", question.name));
        let beside = backfill::measure(chain, &question, same.per_second() / 2.0, lasting).await?;
        measured.push(Row { question, bytes, bare, same, half, beside, different });
    }
    Ok(ApiFigures { rows: measured })
}

impl fmt::Display for ApiFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} connections, each with one request under way.\n", load::CONNECTIONS)?;
        writeln!(
            f,
            "| full load, the same question again and again | bytes | bare handler | explorer | ratio (bound: {LEAST_OF_BARE}) | | CPU of a request, bare | explorer |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|---|---|")?;
        for Row { question, bytes, bare, same, .. } in &self.rows {
            write_ratio(f, &question.name, *bytes, bare, same)?;
        }
        writeln!(
            f,
            "\n| full load, questions all different, none kept | bytes | bare handler | explorer | ratio | (of {LEAST_OF_BARE}) | CPU of a request, bare | explorer |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|---|---|")?;
        for Row { question, bytes, different, .. } in &self.rows {
            write_ratio(f, &question.name, *bytes, &different.bare, &different.explorer)?;
        }
        let bound = millis(LONGEST);
        for (what, different) in
            [("half load, the same question", false), ("half load, all different, none kept", true)]
        {
            writeln!(f, "\n| {what} | requests | median | p99 (bound: {bound}) | |")?;
            writeln!(f, "|---|---|---|---|---|")?;
            for row in &self.rows {
                let half = if different { &row.different.half } else { &row.half };
                let (median, p99) = (quantile(&half.latencies, 0.5), quantile(&half.latencies, 0.99));
                let (rate, verdict) = (half.per_second(), verdict(p99 < LONGEST));
                let (name, median, p99) = (&row.question.name, millis(median), millis(p99));
                writeln!(f, "| {name} | {rate:.0}/s | {median} | {p99} | {verdict} |")?;
            }
        }
        let bound = millis(LONGEST_BESIDE);
        writeln!(
            f,
            "\n| while a backfill runs, same load as above | measured | requests | median | p99 (bound: {bound}) | | backfill meanwhile |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|---|")?;
        for Row { question, beside, .. } in &self.rows {
            let (name, half) = (&question.name, &beside.half);
            if half.latencies.is_empty() {
                writeln!(f, "| {name} | the chain is too short: the backfill was over | | | | not measured | |")?;
                continue;
            }
            let (median, p99) = (quantile(&half.latencies, 0.5), quantile(&half.latencies, 0.99));
            let verdict = verdict(p99 < LONGEST_BESIDE);
            let (seconds, rate, indexing) = (half.took.as_secs_f64(), half.per_second(), beside.indexing);
            let (median, p99) = (millis(median), millis(p99));
            writeln!(
                f,
                "| {name} | {seconds:.1} s | {rate:.0}/s | {median} | {p99} | {verdict} | {indexing:.0} tx/s |"
            )?;
        }
        let row = |name: &str| self.rows.iter().find(|row| row.question.name == name);
        if let (Some(first), Some(last)) = (row(questions::FIRST_PAGE), row(questions::LAST_PAGE)) {
            let same = first.same.per_second() / last.same.per_second();
            let anew = first.different.explorer.per_second() / last.different.explorer.per_second();
            let (kept, kept_anew) = (verdict(same <= DEEPEST), verdict(anew <= DEEPEST));
            writeln!(f, "\nThe last page costs {same:.2} times the first one (bound: {DEEPEST}, {kept}).")?;
            writeln!(f, "Read anew, the last half of the pages costs {anew:.2} times the first half ({kept_anew}).")?;
        }
        Ok(())
    }
}

fn write_ratio(f: &mut fmt::Formatter<'_>, name: &str, bytes: usize, bare: &Loaded, explorer: &Loaded) -> fmt::Result {
    let (rate, bare_rate) = (explorer.per_second(), bare.per_second());
    let (ratio, verdict) = (rate / bare_rate, verdict(rate / bare_rate >= LEAST_OF_BARE));
    let (cpu, bare_cpu) = (explorer.cpu_micros, bare.cpu_micros);
    writeln!(
        f,
        "| {name} | {bytes} | {bare_rate:.0}/s | {rate:.0}/s | {ratio:.2} | {verdict} | {bare_cpu:.1} us | {cpu:.1} us |"
    )
}
