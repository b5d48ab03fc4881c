//! The program that runs JavaScript, and what it can be asked for.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::{process::Command, sync::OnceCell, time::timeout};

use super::CompileError;

const PATIENCE: Duration = Duration::from_secs(30);
const WORKER: &str = include_str!("worker.js");
const WASM_PAGE: u64 = 64 * 1024;

/// Node.js, with the switches that it turned out to know.
#[derive(Debug)]
pub(super) struct Node {
    program: PathBuf,
    memory_limit: u64,
    switches: OnceCell<Vec<Switch>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Switch {
    Permission(&'static str),
    MemoryPages,
}

impl Node {
    pub(super) fn new(program: PathBuf, memory_limit: u64) -> Self {
        Self { program, memory_limit, switches: OnceCell::new() }
    }

    pub(super) fn program(&self) -> &Path {
        &self.program
    }

    /// The arguments that run a compiler with no way to files, processes and threads but the compiler itself.
    pub(super) async fn arguments(&self, soljson: &Path) -> Result<Vec<String>, CompileError> {
        let soljson = soljson.display().to_string();
        let mut arguments = vec!["--no-warnings".to_owned(), "--max-old-space-size=512".to_owned()];
        for switch in self.switches().await? {
            match switch {
                Switch::Permission(name) => {
                    arguments.extend([(*name).to_owned(), format!("--allow-fs-read={soljson}")])
                }
                Switch::MemoryPages => {
                    arguments.push(format!("--wasm-max-mem-pages={}", (self.memory_limit / WASM_PAGE).max(1)));
                }
            }
        }
        arguments.extend(["-e".to_owned(), WORKER.to_owned(), soljson]);
        Ok(arguments)
    }

    async fn switches(&self) -> Result<&Vec<Switch>, CompileError> {
        self.switches.get_or_try_init(|| self.find_switches()).await
    }

    /// Tried rather than looked up by version: switches come, change their names and go.
    async fn find_switches(&self) -> Result<Vec<Switch>, CompileError> {
        if !self.takes(&[]).await? {
            return Err(CompileError::Missing(format!("{} does not run", self.program.display())));
        }
        let mut switches = Vec::new();
        for name in ["--permission", "--experimental-permission"] {
            if self.takes(&[name, "--no-warnings"]).await? {
                switches.push(Switch::Permission(name));
                break;
            }
        }
        if switches.is_empty() {
            tracing::warn!("this Node.js cannot forbid files to compilers; version 20 or later can");
        }
        if self.takes(&["--wasm-max-mem-pages=16384"]).await? {
            switches.push(Switch::MemoryPages);
        }
        Ok(switches)
    }

    async fn takes(&self, switches: &[&str]) -> Result<bool, CompileError> {
        let mut command = Command::new(&self.program);
        command.args(switches).args(["-e", "0"]).kill_on_drop(true);
        command.stdin(std::process::Stdio::null());
        match timeout(PATIENCE, command.output()).await {
            Ok(Ok(output)) => Ok(output.status.success()),
            Ok(Err(error)) if error.kind() == std::io::ErrorKind::NotFound => Err(CompileError::Missing(format!(
                "{} is not installed on the server: install Node.js (20 or later), or give it native compilers (--compiler-source)",
                self.program.display()
            ))),
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(CompileError::Missing(format!("{} does not answer", self.program.display()))),
        }
    }
}
