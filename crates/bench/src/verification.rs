//! How long a verification takes from the source alone, beside one compilation by the same compiler.

mod compiling;
mod packages;
mod subjects;

use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

use alloy_primitives::Address;
use anyhow::Context;
use serde_json::{Value, json};

use self::compiling::{Compiled, compile};
use self::packages::Packages;
use self::subjects::{Start, Subject};
use crate::chain::RecordedChain;
use crate::explorer::Explorer;
use crate::progress::tell;

/// Characters of the reason why a contract was not verified.
const SHOWN_REASON: usize = 160;

pub(crate) enum VerificationFigures {
    Measured(Vec<Table>),
    /// Compilers could not be had, and why.
    NotMeasured(String),
}

/// Contracts that were verified one after the other.
pub(crate) struct Table {
    title: &'static str,
    rows: Vec<Row>,
}

struct Row {
    subject: String,
    /// As the explorer finds the compiler: one that has to be started, or one that has compiled before.
    compiled: Duration,
    verified: Duration,
    /// CPU seconds of the explorer alone: hashing and comparing, without the compiler's process.
    hashing: f64,
    verdict: String,
}

/// Compilers and contracts come from npm, which whoever verifies contracts has. They are kept in the folder, if one is
/// given.
pub(crate) async fn measure(chain: &RecordedChain, folder: Option<&Path>) -> anyhow::Result<VerificationFigures> {
    let temporary = tempfile::tempdir()?;
    tell("verification: compilers and contracts are fetched");
    let packages = match Packages::fetch(folder.unwrap_or(temporary.path())).await {
        Ok(packages) => packages,
        Err(trouble) => return Ok(VerificationFigures::NotMeasured(format!("{trouble:#}"))),
    };
    let mut tables = Vec::new();
    for (title, subjects) in [
        ("a coin by the compiler", subjects::coins()),
        ("a contract that a library function creates, by every release, its start included", subjects::makers()),
        (
            "OpenZeppelin and Uniswap, every file of the package, its compiler's start included",
            subjects::published(&packages).await?,
        ),
    ] {
        // Each table has an explorer of its own, which has started no compiler yet.
        let data = tempfile::tempdir()?;
        let source = packages.modules().to_str().context("a folder whose name is no text")?.to_owned();
        let explorer = Explorer::start_with(&chain.url(), data.path(), &["--compiler-source", &source]).await?;
        let mut rows = Vec::new();
        for subject in subjects {
            tell(format!("verification: {}", subject.label));
            match measure_one(&explorer, chain, &packages, &subject).await {
                Ok(row) => rows.push(row),
                // The others are worth measuring all the same.
                Err(error) => tell(format!("verification: {} was not measured: {error:#}", subject.label)),
            }
        }
        explorer.stop().await?;
        tables.push(Table { title, rows });
    }
    Ok(VerificationFigures::Measured(tables))
}

async fn measure_one(
    explorer: &Explorer,
    chain: &RecordedChain,
    packages: &Packages,
    subject: &Subject,
) -> anyhow::Result<Row> {
    let Compiled { code, cold, warm } =
        compile(&packages.compiler(&subject.version), subject).await.with_context(|| subject.label.clone())?;
    let deployment = [code, subject.arguments.clone()].concat();
    let (address, block) = chain.deploy(deployment).await.with_context(|| subject.label.clone())?;
    explorer.wait_for_tip(block).await?;
    let (begun, before) = (Instant::now(), explorer.cpu_seconds()?);
    let verdict = verify(explorer, address, subject).await?;
    Ok(Row {
        subject: subject.label.clone(),
        compiled: if subject.start == Start::Cold { cold } else { warm },
        verified: begun.elapsed(),
        hashing: explorer.cpu_seconds()? - before,
        verdict,
    })
}

/// The kind of match, or why there is none.
async fn verify(explorer: &Explorer, address: Address, subject: &Subject) -> anyhow::Result<String> {
    let body = json!({ "address": address, "sourceCode": subject.sent, "compilerVersion": subject.version });
    let request = reqwest::Client::new().post(format!("{}/api/v1/verify", explorer.url));
    let answer = request.header("content-type", "application/json").body(body.to_string()).send().await?;
    let answer: Value = serde_json::from_slice(&answer.bytes().await?)?;
    if let Some(kind) = answer["match"].as_str() {
        return Ok(kind.to_owned());
    }
    let reason = answer["message"].as_str().or(answer["detail"].as_str()).unwrap_or("no answer");
    Ok(format!("NOT verified: {}", reason.chars().take(SHOWN_REASON).collect::<String>()))
}

impl Table {
    /// How verifications compare with compilations: the median and the largest ratio.
    fn ratios(&self) -> Option<(f64, f64)> {
        let mut ratios: Vec<f64> = self.rows.iter().map(Row::ratio).collect();
        ratios.sort_by(f64::total_cmp);
        Some((*ratios.get(ratios.len() / 2)?, *ratios.last()?))
    }
}

impl Row {
    fn ratio(&self) -> f64 {
        self.verified.as_secs_f64() / self.compiled.as_secs_f64()
    }
}

impl fmt::Display for VerificationFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Measured(tables) => tables.iter().try_for_each(|table| writeln!(f, "{table}")),
            Self::NotMeasured(why) => writeln!(f, "Verification was not measured: {why}"),
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| {} | bare compilation | verified | ratio | CPU of the explorer | |", self.title)?;
        writeln!(f, "|---|---|---|---|---|---|")?;
        for row in &self.rows {
            let (compiled, verified) = (row.compiled.as_secs_f64(), row.verified.as_secs_f64());
            let Row { subject, hashing, verdict, .. } = row;
            let ratio = row.ratio();
            writeln!(f, "| {subject} | {compiled:.2} s | {verified:.2} s | {ratio:.1} | {hashing:.2} s | {verdict} |")?;
        }
        match self.ratios() {
            Some((median, most)) => {
                let verified = self.rows.iter().filter(|row| !row.verdict.starts_with("NOT")).count();
                writeln!(
                    f,
                    "\n{verified} of {} verified; median ratio {median:.1}, largest {most:.1}.",
                    self.rows.len()
                )
            }
            None => Ok(()),
        }
    }
}
