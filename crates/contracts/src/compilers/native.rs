//! Native builds, a process for each compilation.

use std::{path::Path, process::Stdio, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::Command,
    time::timeout,
};

use super::{
    CompileError, CompilerConfig, CompilerVersion, CompilersError, VersionError,
    process::{Bounds, bounded, end, over_memory, tell},
};

const VERSION_PATIENCE: Duration = Duration::from_secs(10);
/// The longest output that is read.
const MAX_OUTPUT: u64 = 256 << 20;

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

pub(super) async fn compile(program: &Path, input: String, config: &CompilerConfig) -> Result<String, CompileError> {
    let mut arguments = vec!["--standard-json"];
    // Builds that do not know the switch read no file outside of the folder that they are started in.
    if say(program, "--help").await?.contains("--no-import-callback") {
        arguments.push("--no-import-callback");
    }
    let nowhere = config.folder.join("nowhere");
    tokio::fs::create_dir_all(&nowhere).await?;
    let bounds = Bounds { cpu: config.time_limit, address_space: Some(config.memory_limit) };
    let mut child = bounded(program, &arguments, bounds).current_dir(&nowhere).spawn()?;
    let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(CompileError::Crashed("it has no input or output".to_owned()));
    };
    let process = child.id().unwrap_or_default();
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
        let status = child.wait().await?;
        match String::from_utf8(output) {
            Ok(output) if status.success() && !output.is_empty() => Ok(output),
            _ => Err(CompileError::Crashed(tell(status))),
        }
    };
    let outcome = tokio::select! {
        ended = timeout(config.time_limit, run) => ended.unwrap_or(Err(CompileError::TimedOut { limit: config.time_limit })),
        () = over_memory(process, config.memory_limit) => Err(CompileError::OutOfMemory { limit: config.memory_limit }),
    };
    if outcome.is_err() {
        end(child).await;
    }
    outcome
}
