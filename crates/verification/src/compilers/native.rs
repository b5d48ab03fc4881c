//! Native builds: one process per compilation.

use std::{path::Path, process::Stdio, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::Command,
    time::timeout,
};

use super::{
    CompileError, CompilerVersion, CompilersError, CpuBudget, VersionError,
    config::CompilerConfig,
    process::{Bounds, Process, describe_exit},
    usage::run_within_limits,
};

const INFO_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest output that is accepted.
const MAX_OUTPUT: u64 = 64 << 20;

pub(super) async fn version_of(program: &Path) -> Result<CompilerVersion, CompilersError> {
    let output = run_program(program, &["--version"]).await?;
    let version = output.lines().find_map(|line| line.strip_prefix("Version: ")).ok_or(VersionError::Malformed)?;
    Ok(version.parse()?)
}

/// What a trusted program prints.
pub(super) async fn run_program(program: &Path, arguments: &[&str]) -> Result<String, CompileError> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).kill_on_drop(true);
    match timeout(INFO_TIMEOUT, command.output()).await {
        Ok(output) => Ok(String::from_utf8_lossy(&output?.stdout).into_owned()),
        Err(_) => Err(CompileError::TimedOut { limit: INFO_TIMEOUT }),
    }
}

pub(super) async fn compile(
    program: &Path,
    input: String,
    config: &CompilerConfig,
    budget: &CpuBudget,
) -> Result<String, CompileError> {
    let mut arguments = vec!["--standard-json"];
    // Builds without this option read no file outside of their working directory.
    if run_program(program, &["--help"]).await?.contains("--no-import-callback") {
        arguments.push("--no-import-callback");
    }
    let empty_folder = config.folder.join("nowhere");
    tokio::fs::create_dir_all(&empty_folder).await?;
    run(program, &arguments, input, &empty_folder, config, budget).await
}

/// Runs a compiler once, within its limits: input and output are JSON.
pub(super) async fn run(
    program: &Path,
    arguments: &[&str],
    input: String,
    folder: &Path,
    config: &CompilerConfig,
    budget: &CpuBudget,
) -> Result<String, CompileError> {
    // A little later than we end it ourselves.
    let bounds = Bounds { cpu: config.time_limit + Duration::from_secs(5), address_space: Some(config.memory_limit) };
    let (mut process, mut stdin, stdout) = Process::start(program, arguments, bounds, folder).await?;
    let id = process.id();
    let run = async {
        let feed = async move {
            // A compiler that exits before it has read everything reports why in its output.
            let _ = stdin.write_all(input.as_bytes()).await;
            drop(stdin);
        };
        let mut output = Vec::new();
        let mut capped = stdout.take(MAX_OUTPUT);
        let (_, read) = tokio::join!(feed, capped.read_to_end(&mut output));
        read?;
        // The limit is reached: do not wait for the process to finish writing.
        if capped.limit() == 0 {
            return Err(CompileError::Crashed("its output is too long".to_owned()));
        }
        let status = process.wait().await?;
        match String::from_utf8(output) {
            Ok(output) if status.success() && !output.is_empty() => Ok(output),
            _ => Err(CompileError::Crashed(describe_exit(status))),
        }
    };
    let outcome = run_within_limits(id, config.limits(), budget, run).await;
    process.kill().await;
    outcome
}
