//! Node.js and the command line options that it supports.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::{process::Command, sync::OnceCell, time::timeout};

use super::CompileError;

const TIMEOUT: Duration = Duration::from_secs(30);
const WORKER: &str = include_str!("worker.js");
const WASM_PAGE: u64 = 64 * 1024;

/// Node.js, with the options that it supports.
#[derive(Debug)]
pub(super) struct Node {
    program: PathBuf,
    memory_limit: u64,
    options: OnceCell<Vec<NodeOption>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NodeOption {
    Permission(&'static str),
    MemoryPages,
}

impl Node {
    pub(super) fn new(program: PathBuf, memory_limit: u64) -> Self {
        Self { program, memory_limit, options: OnceCell::new() }
    }

    pub(super) fn program(&self) -> &Path {
        &self.program
    }

    /// Arguments that run a compiler without access to files (except its own), processes and threads.
    pub(super) async fn arguments(&self, soljson: &Path) -> Result<Vec<String>, CompileError> {
        let soljson = soljson.display().to_string();
        let mut arguments = vec!["--no-warnings".to_owned(), "--max-old-space-size=512".to_owned()];
        for option in self.options().await? {
            match option {
                NodeOption::Permission(name) => {
                    arguments.extend([(*name).to_owned(), format!("--allow-fs-read={soljson}")])
                }
                NodeOption::MemoryPages => {
                    arguments.push(format!("--wasm-max-mem-pages={}", (self.memory_limit / WASM_PAGE).max(1)));
                }
            }
        }
        arguments.extend(["-e".to_owned(), WORKER.to_owned(), soljson]);
        Ok(arguments)
    }

    async fn options(&self) -> Result<&Vec<NodeOption>, CompileError> {
        self.options.get_or_try_init(|| self.find_options()).await
    }

    /// Probed rather than derived from the version: options are renamed and removed.
    async fn find_options(&self) -> Result<Vec<NodeOption>, CompileError> {
        if !self.accepts(&[]).await? {
            return Err(CompileError::Missing(format!("{} does not run", self.program.display())));
        }
        let mut options = Vec::new();
        for name in ["--permission", "--experimental-permission"] {
            if self.accepts(&[name, "--no-warnings"]).await? {
                options.push(NodeOption::Permission(name));
                break;
            }
        }
        if options.is_empty() {
            tracing::warn!("this Node.js cannot deny compilers access to files; use version 20 or later");
        }
        if self.accepts(&["--wasm-max-mem-pages=16384"]).await? {
            options.push(NodeOption::MemoryPages);
        }
        Ok(options)
    }

    async fn accepts(&self, options: &[&str]) -> Result<bool, CompileError> {
        let mut command = Command::new(&self.program);
        command.args(options).args(["-e", "0"]).kill_on_drop(true);
        command.stdin(std::process::Stdio::null());
        match timeout(TIMEOUT, command.output()).await {
            Ok(Ok(output)) => Ok(output.status.success()),
            Ok(Err(error)) if error.kind() == std::io::ErrorKind::NotFound => Err(CompileError::Missing(format!(
                "{} is not installed on the server: install Node.js (20 or later), or give it native compilers (--compiler-source)",
                self.program.display()
            ))),
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(CompileError::Missing(format!("{} does not respond", self.program.display()))),
        }
    }
}
