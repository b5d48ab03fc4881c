//! How long a verification takes from the source alone, beside one compilation by the same compiler.

use std::fmt;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use alloy_primitives::{Address, U256, hex};
use anyhow::{Context, bail};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::chain::RecordedChain;
use crate::explorer::Explorer;
use crate::progress::tell;

const COIN: &str = include_str!("verification/coin.sol");
const COMPILE: &str = include_str!("verification/compile.cjs");
/// One that is JavaScript, and two that are WebAssembly.
const VERSIONS: [&str; 3] = ["0.5.16", "0.8.20", "0.8.37"];

pub(crate) enum VerificationFigures {
    Measured(Vec<Row>),
    /// Compilers could not be had, and why.
    NotMeasured(String),
}

pub(crate) struct Row {
    version: &'static str,
    state: State,
    /// By a compiler that has compiled the same before.
    compiled: Duration,
    verified: Duration,
    verdict: String,
}

/// Of the compiler, as the explorer finds it.
#[derive(Debug, Clone, Copy)]
enum State {
    /// It has to be started.
    Cold,
    Warm,
}

/// Compilers come from npm, which whoever verifies contracts has.
pub(crate) async fn measure(chain: &RecordedChain) -> anyhow::Result<VerificationFigures> {
    let folder = tempfile::tempdir()?;
    tell("verification: compilers are fetched");
    if let Err(trouble) = fetch_compilers(folder.path()).await {
        return Ok(VerificationFigures::NotMeasured(format!("{trouble:#}")));
    }
    let compilers = folder.path().join("node_modules");
    let source = compilers.to_str().context("a folder whose name is no text")?;
    let data = tempfile::tempdir()?;
    let explorer = Explorer::start_with(&chain.url(), data.path(), &["--compiler-source", source]).await?;
    let mut rows = Vec::new();
    for version in VERSIONS {
        tell(format!("verification: {version}"));
        for state in [State::Cold, State::Warm] {
            // Another text each time, so that nothing is known of the code.
            let source = COIN.replace("COIN", state.symbol());
            let (code, compiled) = compile(&compilers.join(format!("solc-{version}")), &source).await?;
            let address = deploy(&explorer, chain, &code).await?;
            let begun = Instant::now();
            let verdict = verify(&explorer, address, &source, version).await?;
            rows.push(Row { version, state, compiled, verified: begun.elapsed(), verdict });
        }
    }
    explorer.stop().await?;
    Ok(VerificationFigures::Measured(rows))
}

async fn fetch_compilers(folder: &Path) -> anyhow::Result<()> {
    let packages = VERSIONS.map(|version| format!("solc-{version}@npm:solc@{version}"));
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--silent", "--prefix"]).arg(folder).args(packages);
    let fetched = npm.output().await.context("npm cannot be run")?;
    if !fetched.status.success() {
        bail!("npm fetched no compilers: {}", String::from_utf8_lossy(&fetched.stderr).trim());
    }
    Ok(())
}

/// What creates the contract, and how long compiling took.
async fn compile(package: &Path, source: &str) -> anyhow::Result<(Vec<u8>, Duration)> {
    let input = json!({
        "language": "Solidity",
        "sources": { "Coin.sol": { "content": source } },
        "settings": {
            "optimizer": { "enabled": true, "runs": 200 },
            "outputSelection": { "*": { "*": ["evm.bytecode.object"] } },
        },
    });
    let mut node = Command::new("node");
    node.arg("--eval").arg(COMPILE).arg(package).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut node = node.spawn().context("node cannot be run")?;
    node.stdin.take().context("no input")?.write_all(input.to_string().as_bytes()).await?;
    let printed: Value = serde_json::from_slice(&node.wait_with_output().await?.stdout)?;
    let code = printed["output"]["contracts"]["Coin.sol"]["Coin"]["evm"]["bytecode"]["object"].as_str();
    let code = code.with_context(|| format!("the contract does not compile: {}", printed["output"]["errors"]))?;
    let seconds = printed["seconds"][1].as_f64().context("no time was taken")?;
    Ok((hex::decode(code)?, Duration::from_secs_f64(seconds)))
}

/// Creates the contract on the chain, and waits until it is indexed.
async fn deploy(explorer: &Explorer, chain: &RecordedChain, code: &[u8]) -> anyhow::Result<Address> {
    let supply = U256::from(1_000_000).to_be_bytes::<32>();
    let (address, block) = chain.deploy([code, &supply].concat()).await?;
    explorer.wait_for_tip(block).await?;
    Ok(address)
}

async fn verify(explorer: &Explorer, address: Address, source: &str, version: &str) -> anyhow::Result<String> {
    let body = json!({ "address": address, "sourceCode": source, "compilerVersion": version });
    let request = reqwest::Client::new().post(format!("{}/api/v1/verify", explorer.url));
    let answer = request.header("content-type", "application/json").body(body.to_string()).send().await?;
    let answer: Value = serde_json::from_slice(&answer.bytes().await?)?;
    let verdict = answer["match"].as_str().with_context(|| format!("the contract was not verified: {answer}"))?;
    Ok(verdict.to_owned())
}

impl State {
    fn symbol(self) -> &'static str {
        match self {
            Self::Cold => "COLD",
            Self::Warm => "WARM",
        }
    }

    fn describe(self) -> &'static str {
        match self {
            Self::Cold => ", its start included",
            Self::Warm => "",
        }
    }
}

impl fmt::Display for VerificationFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = match self {
            Self::Measured(rows) => rows,
            Self::NotMeasured(why) => return writeln!(f, "Verification was not measured: {why}"),
        };
        writeln!(f, "| a coin by the compiler | bare compilation | verified | ratio | |")?;
        writeln!(f, "|---|---|---|---|---|")?;
        for Row { version, state, compiled, verified, verdict } in rows {
            let (compiled, verified) = (compiled.as_secs_f64(), verified.as_secs_f64());
            let ratio = verified / compiled;
            writeln!(
                f,
                "| {version}{} | {compiled:.2} s | {verified:.2} s | {ratio:.1} | {verdict} |",
                state.describe()
            )?;
        }
        Ok(())
    }
}
