//! Scripts for Node.js.

use std::{path::Path, process::Stdio};

use anyhow::Context;
use serde_json::Value;
use tokio::{io::AsyncWriteExt, process::Command};

/// Runs a Node.js script with a path as argument and JSON on stdin; returns its output.
pub(super) async fn run_script(script: &str, path: &Path, input: &Value) -> anyhow::Result<Vec<u8>> {
    let mut node = Command::new("node");
    node.arg("--no-warnings").arg("--eval").arg(script).arg(path).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut node = node.spawn().context("cannot run node")?;
    node.stdin.take().context("no input")?.write_all(input.to_string().as_bytes()).await?;
    Ok(node.wait_with_output().await?.stdout)
}
