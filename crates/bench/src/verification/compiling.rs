//! Compilation with the npm package of a compiler.

use std::{path::Path, process::Stdio, time::Duration};

use alloy_primitives::hex;
use anyhow::Context;
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt, process::Command};

use super::subjects::Subject;

const COMPILE: &str = include_str!("compile.cjs");

pub(super) struct Compiled {
    /// The creation code.
    pub(super) code: Vec<u8>,
    /// From the start of the compiler to its first output.
    pub(super) cold: Duration,
    /// The same compilation a second time.
    pub(super) warm: Duration,
}

/// Compiles one contract with the minimum of outputs.
pub(super) async fn compile(package: &Path, subject: &Subject) -> anyhow::Result<Compiled> {
    let mut settings = subject.settings.clone();
    settings["outputSelection"] = json!({ "*": { "*": ["evm.bytecode.object"] } });
    let input = json!({ "language": "Solidity", "sources": subject.files, "settings": settings });
    let printed: Value = serde_json::from_slice(&run_script(COMPILE, package, &input).await?)?;
    let code = &printed["output"]["contracts"][&subject.path][&subject.contract]["evm"]["bytecode"]["object"];
    let code =
        code.as_str().with_context(|| format!("the contract does not compile: {}", printed["output"]["errors"]))?;
    let seconds = |round: usize| {
        let seconds = printed["seconds"][round].as_f64().context("no time was measured")?;
        anyhow::Ok(Duration::from_secs_f64(seconds))
    };
    Ok(Compiled { code: hex::decode(code)?, cold: seconds(0)?, warm: seconds(1)? })
}

/// Runs a Node.js script with a path as argument and JSON on stdin; returns its output.
pub(super) async fn run_script(script: &str, path: &Path, input: &Value) -> anyhow::Result<Vec<u8>> {
    let mut node = Command::new("node");
    node.arg("--no-warnings").arg("--eval").arg(script).arg(path).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut node = node.spawn().context("cannot run node")?;
    node.stdin.take().context("no input")?.write_all(input.to_string().as_bytes()).await?;
    Ok(node.wait_with_output().await?.stdout)
}
