//! Compilation with the npm package of a compiler.

use std::{path::Path, time::Duration};

use alloy_primitives::hex;
use anyhow::Context;
use serde_json::{Value, json};

use super::{script::run_script, subjects::Subject};

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
