//! One JavaScript build in a Node.js process, and the protocol to talk to it.

use std::{
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::{ChildStdin, ChildStdout},
};

use super::{
    CompileError, CpuBudget,
    process::{Process, describe_exit},
    usage::{Limits, resident_bytes, run_within_limits},
};

/// The longest output that is accepted, far above that of any 2 MB source.
const MAX_OUTPUT: usize = 64 << 20;
const READY: u8 = 0;
const OUTPUT: u8 = 1;

#[derive(Debug)]
pub(super) struct Worker {
    soljson: PathBuf,
    version: String,
    process: Process,
    stdin: ChildStdin,
    stdout: ChildStdout,
    busy_time: Duration,
}

impl Worker {
    /// Takes a process that was just started, and waits until it has loaded its compiler.
    pub(super) async fn load(
        soljson: &Path,
        (process, stdin, stdout): (Process, ChildStdin, ChildStdout),
    ) -> Result<Self, CompileError> {
        let (soljson, busy_time) = (soljson.to_owned(), Duration::ZERO);
        let mut worker = Self { soljson, version: String::new(), process, stdin, stdout, busy_time };
        match worker.response().await? {
            (READY, version) => worker.version = version,
            (_, text) => return Err(CompileError::Crashed(text)),
        }
        Ok(worker)
    }

    pub(super) fn soljson(&self) -> &Path {
        &self.soljson
    }

    /// The version that the compiler reports.
    pub(super) fn version(&self) -> &str {
        &self.version
    }

    /// Total time spent compiling.
    pub(super) fn busy_time(&self) -> Duration {
        self.busy_time
    }

    pub(super) fn is_running(&mut self) -> bool {
        self.process.is_running()
    }

    #[cfg(test)]
    pub(super) fn process(&self) -> u32 {
        self.process.id()
    }

    /// Resident memory in bytes, if it can be measured.
    pub(super) fn resident_bytes(&self) -> Option<u64> {
        resident_bytes(self.process.id())
    }

    /// Compiles; returns the worker unless it had to be killed.
    pub(super) async fn compile(
        mut self,
        input: &str,
        limits: Limits,
        budget: &CpuBudget,
    ) -> (Result<String, CompileError>, Option<Self>) {
        let started = Instant::now();
        let outcome = run_within_limits(self.process.id(), limits, budget, self.request(input)).await;
        self.busy_time += started.elapsed();
        match outcome {
            Ok(output) => (Ok(output), Some(self)),
            Err(error) => {
                self.process.kill().await;
                (Err(error), None)
            }
        }
    }

    async fn request(&mut self, input: &str) -> Result<String, CompileError> {
        let length =
            u32::try_from(input.len()).map_err(|_| CompileError::Crashed("the input is too long".to_owned()))?;
        let sent = async {
            self.stdin.write_all(&length.to_be_bytes()).await?;
            self.stdin.write_all(input.as_bytes()).await?;
            self.stdin.flush().await
        };
        // If the process dies while it reads, its exit status gives the reason.
        let sent = sent.await;
        match self.response().await? {
            (OUTPUT, output) => sent.map(|()| output).map_err(CompileError::from),
            (_, text) => Err(CompileError::Crashed(text)),
        }
    }

    async fn response(&mut self) -> Result<(u8, String), CompileError> {
        match self.frame().await {
            Ok(frame) => Ok(frame),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                let status = self.process.wait().await?;
                Err(CompileError::Crashed(describe_exit(status)))
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                Err(CompileError::Crashed("its output is empty, too long or invalid".to_owned()))
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn frame(&mut self) -> io::Result<(u8, String)> {
        let length = self.stdout.read_u32().await? as usize;
        if length == 0 || length > MAX_OUTPUT {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let kind = self.stdout.read_u8().await?;
        let mut body = vec![0; length - 1];
        self.stdout.read_exact(&mut body).await?;
        Ok((kind, String::from_utf8(body).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?))
    }
}
