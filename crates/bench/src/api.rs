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
use self::load::{Load, Measured};
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
    bare: Measured,
    full: Measured,
    half: Measured,
    beside: Beside,
}

pub(crate) async fn measure(chain: &RecordedChain, data: &Path, lasting: Duration) -> anyhow::Result<ApiFigures> {
    let explorer = Explorer::start(&chain.url(), data).await?;
    explorer.wait_for_tip(chain.head).await?;
    let questions = questions::all(&explorer, chain).await?;
    let mut rows = Vec::new();
    for question in questions {
        tell(format!("api: {}", question.name));
        let request = question.request();
        let body = load::answer(&explorer.url, &request).await?;
        let bare = BareHandler::start(&body).await?;
        // The bare handler before and the explorer after it, in the same minute: noise hits both.
        load::run(&bare.url, &request, Load::Full, WARM_UP).await?;
        let bare_load = load::run(&bare.url, &request, Load::Full, lasting).await?;
        bare.stop().await?;
        load::run(&explorer.url, &request, Load::Full, WARM_UP).await?;
        let full = load::run(&explorer.url, &request, Load::Full, lasting).await?;
        let half = load::run(&explorer.url, &request, Load::PerSecond(full.per_second() / 2.0), lasting).await?;
        rows.push((question, body.len(), bare_load, full, half));
    }
    explorer.stop().await?;
    let mut measured = Vec::new();
    for (question, bytes, bare, full, half) in rows {
        tell(format!("api, while a backfill runs: {}", question.name));
        let beside = backfill::measure(chain, &question, full.per_second() / 2.0, lasting).await?;
        measured.push(Row { question, bytes, bare, full, half, beside });
    }
    Ok(ApiFigures { rows: measured })
}

impl fmt::Display for ApiFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} connections, each with one request under way.\n", load::CONNECTIONS)?;
        writeln!(f, "| full load | bytes | bare handler | explorer | ratio (bound: {LEAST_OF_BARE}) | |")?;
        writeln!(f, "|---|---|---|---|---|---|")?;
        for Row { question, bytes, bare, full, .. } in &self.rows {
            let (bare, full) = (bare.per_second(), full.per_second());
            let (ratio, name) = (full / bare, &question.name);
            let verdict = verdict(ratio >= LEAST_OF_BARE);
            writeln!(f, "| {name} | {bytes} | {bare:.0}/s | {full:.0}/s | {ratio:.2} | {verdict} |")?;
        }
        writeln!(f, "\n| half load | requests | median | p99 (bound: {}) | |", millis(LONGEST))?;
        writeln!(f, "|---|---|---|---|---|")?;
        for Row { question, half, .. } in &self.rows {
            let (median, p99) = (quantile(&half.latencies, 0.5), quantile(&half.latencies, 0.99));
            let verdict = verdict(p99 < LONGEST);
            writeln!(
                f,
                "| {} | {:.0}/s | {} | {} | {verdict} |",
                question.name,
                half.per_second(),
                millis(median),
                millis(p99)
            )?;
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
        let of = |name: &str| self.rows.iter().find(|row| row.question.name == name).map(|row| row.full.per_second());
        if let (Some(first), Some(last)) = (of(questions::FIRST_PAGE), of(questions::LAST_PAGE)) {
            let (ratio, kept) = (first / last, verdict(first / last <= DEEPEST));
            writeln!(f, "\nThe last page costs {ratio:.2} times the first one (bound: {DEEPEST}, {kept}).")?;
        }
        Ok(())
    }
}
