//! Native builds, a process for each compilation.

use std::{path::Path, process::Stdio, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::Command,
    time::timeout,
};

use super::{
    CompileError, CompilerConfig, CompilerVersion, CompilersError, CpuBudget, VersionError,
    process::{Bounds, Process, tell},
    watch::within,
};

const VERSION_PATIENCE: Duration = Duration::from_secs(30);
/// The longest output that is read.
const MAX_OUTPUT: u64 = 64 << 20;

pub(super) async fn version_of(program: &Path) -> Result<CompilerVersion, CompilersError> {
    let said = say(program, "--version").await?;
    let version = said.lines().find_map(|line| line.strip_prefix("Version: ")).ok_or(VersionError::Malformed)?;
    Ok(version.parse()?)
}

async fn say(program: &Path, argument: &str) -> Result<String, CompileError> {
    let mut command = Command::new(program);
    command.arg(argument).stdin(Stdio::null()).kill_on_drop(true);
    match timeout(VERSION_PATIENCE, command.output()).await {
        Ok(output) => Ok(String::from_utf8_lossy(&output?.stdout).into_owned()),
        Err(_) => Err(CompileError::TimedOut { limit: VERSION_PATIENCE }),
    }
}

pub(super) async fn compile(
    program: &Path,
    input: String,
    config: &CompilerConfig,
    budget: &CpuBudget,
) -> Result<String, CompileError> {
    let mut arguments = vec!["--standard-json"];
    // Builds that do not know the switch read no file outside of the folder that they are started in.
    if say(program, "--help").await?.contains("--no-import-callback") {
        arguments.push("--no-import-callback");
    }
    let nowhere = config.folder.join("nowhere");
    tokio::fs::create_dir_all(&nowhere).await?;
    // Somewhat later than we end it ourselves.
    let bounds = Bounds { cpu: config.time_limit + Duration::from_secs(5), address_space: Some(config.memory_limit) };
    let (mut process, mut stdin, stdout) = Process::start(program, &arguments, bounds, &nowhere).await?;
    let id = process.id();
    let run = async {
        let feed = async move {
            // One that ends before it has read everything says why in its output.
            let _ = stdin.write_all(input.as_bytes()).await;
            drop(stdin);
        };
        let mut output = Vec::new();
        let mut capped = stdout.take(MAX_OUTPUT);
        let (_, read) = tokio::join!(feed, capped.read_to_end(&mut output));
        read?;
        // One that says more than is read is not waited for.
        if capped.limit() == 0 {
            return Err(CompileError::Crashed("its output is too long".to_owned()));
        }
        let status = process.ended().await?;
        match String::from_utf8(output) {
            Ok(output) if status.success() && !output.is_empty() => Ok(output),
            _ => Err(CompileError::Crashed(tell(status))),
        }
    };
    let outcome = within(id, config.limits(), budget, run).await;
    process.end().await;
    outcome
}
