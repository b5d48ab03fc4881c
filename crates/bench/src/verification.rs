//! The time of a verification without settings, compared with one compilation by the same compiler.

mod compiling;
mod packages;
mod script;
mod subjects;

use std::{
    fmt,
    path::Path,
    time::{Duration, Instant},
};

use alloy_primitives::Address;
use anyhow::Context;
use serde_json::{Value, json};

use self::{
    compiling::{Compiled, compile},
    packages::Packages,
    subjects::{Start, Subject},
};
use crate::{chain::RecordedChain, explorer::Explorer, progress::report};

/// Characters of the failure reason that are shown.
const SHOWN_REASON: usize = 160;

pub(crate) enum VerificationFigures {
    Measured(Vec<Table>),
    /// The compilers could not be installed; the reason.
    NotMeasured(String),
}

/// Contracts that were verified one after the other.
pub(crate) struct Table {
    title: &'static str,
    rows: Vec<Row>,
}

struct Row {
    subject: String,
    /// With a cold or a warm compiler, like the explorer's.
    compiled: Duration,
    verified: Duration,
    /// CPU seconds of the explorer without the compiler's process: hashing and comparing.
    hashing: f64,
    verdict: String,
}

/// Installs compilers and contracts from npm, into the folder if one is given.
pub(crate) async fn measure(chain: &RecordedChain, folder: Option<&Path>) -> anyhow::Result<VerificationFigures> {
    let temporary = tempfile::tempdir()?;
    report("verification: installing compilers and contracts");
    let packages = match Packages::fetch(folder.unwrap_or(temporary.path()), &subjects::releases()).await {
        Ok(packages) => packages,
        Err(error) => return Ok(VerificationFigures::NotMeasured(format!("{error:#}"))),
    };
    let mut tables = Vec::new();
    for (title, subjects) in [
        ("a coin by the compiler", subjects::coins()),
        ("a contract created by a library function, every release, start included", subjects::makers()),
        (
            "OpenZeppelin and Uniswap, every file of the package, compiler start included",
            subjects::published(&packages).await?,
        ),
    ] {
        // A new explorer per table, without running compilers.
        let data = tempfile::tempdir()?;
        let source = packages.modules().to_str().context("the name of the folder is not UTF-8")?.to_owned();
        let explorer = Explorer::start_with(&chain.url(), data.path(), &["--compiler-source", &source]).await?;
        let mut rows = Vec::new();
        for subject in subjects {
            report(format!("verification: {}", subject.label));
            match measure_one(&explorer, chain, &packages, &subject).await {
                Ok(row) => rows.push(row),
                // The other contracts are still measured.
                Err(error) => report(format!("verification: {} was not measured: {error:#}", subject.label)),
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
    let (started, before) = (Instant::now(), explorer.cpu_seconds()?);
    let verdict = verify(explorer, address, subject).await?;
    Ok(Row {
        subject: subject.label.clone(),
        compiled: if subject.start == Start::Cold { cold } else { warm },
        verified: started.elapsed(),
        hashing: explorer.cpu_seconds()? - before,
        verdict,
    })
}

/// The kind of match, or why there is no match.
async fn verify(explorer: &Explorer, address: Address, subject: &Subject) -> anyhow::Result<String> {
    let body = json!({ "address": address, "sourceCode": subject.sent, "compilerVersion": subject.version });
    let request = reqwest::Client::new().post(format!("{}/api/v1/verify", explorer.url));
    let response = request.header("content-type", "application/json").body(body.to_string()).send().await?;
    let response: Value = serde_json::from_slice(&response.bytes().await?)?;
    if let Some(kind) = response["match"].as_str() {
        return Ok(kind.to_owned());
    }
    let reason = response["message"].as_str().or(response["detail"].as_str()).unwrap_or("no response");
    Ok(format!("NOT verified: {}", reason.chars().take(SHOWN_REASON).collect::<String>()))
}

impl Table {
    /// The median and the largest ratio of verification to compilation.
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
