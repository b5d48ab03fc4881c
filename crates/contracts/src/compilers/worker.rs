//! One build of JavaScript in a process of Node.js, and how it is spoken to.

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
    process::{Process, tell},
    watch::{Limits, resident, within},
};

/// The longest output that is read. Of 2 MB of source nothing sound comes near.
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
    worked: Duration,
}

impl Worker {
    /// Takes over a process that has just been started, and waits until it has loaded its compiler.
    pub(super) async fn load(
        soljson: &Path,
        (process, stdin, stdout): (Process, ChildStdin, ChildStdout),
    ) -> Result<Self, CompileError> {
        let (soljson, worked) = (soljson.to_owned(), Duration::ZERO);
        let mut worker = Self { soljson, version: String::new(), process, stdin, stdout, worked };
        match worker.answer().await? {
            (READY, version) => worker.version = version,
            (_, text) => return Err(CompileError::Crashed(text)),
        }
        Ok(worker)
    }

    pub(super) fn soljson(&self) -> &Path {
        &self.soljson
    }

    /// What the compiler says that it is.
    pub(super) fn version(&self) -> &str {
        &self.version
    }

    /// How long it has compiled so far.
    pub(super) fn worked(&self) -> Duration {
        self.worked
    }

    pub(super) fn is_running(&mut self) -> bool {
        self.process.is_running()
    }

    #[cfg(test)]
    pub(super) fn process(&self) -> u32 {
        self.process.id()
    }

    /// Bytes that it holds in memory, where that can be seen.
    pub(super) fn resident(&self) -> Option<u64> {
        resident(self.process.id())
    }

    /// Compiles; None for the worker where it had to be ended.
    pub(super) async fn compile(
        mut self,
        input: &str,
        limits: Limits,
        budget: &CpuBudget,
    ) -> (Result<String, CompileError>, Option<Self>) {
        let started = Instant::now();
        let outcome = within(self.process.id(), limits, budget, self.ask(input)).await;
        self.worked += started.elapsed();
        match outcome {
            Ok(output) => (Ok(output), Some(self)),
            Err(error) => {
                self.process.end().await;
                (Err(error), None)
            }
        }
    }

    async fn ask(&mut self, input: &str) -> Result<String, CompileError> {
        let length =
            u32::try_from(input.len()).map_err(|_| CompileError::Crashed("the input is too long".to_owned()))?;
        let sent = async {
            self.stdin.write_all(&length.to_be_bytes()).await?;
            self.stdin.write_all(input.as_bytes()).await?;
            self.stdin.flush().await
        };
        // One that dies while it reads has its reason in how it ended.
        let sent = sent.await;
        match self.answer().await? {
            (OUTPUT, output) => sent.map(|()| output).map_err(CompileError::from),
            (_, text) => Err(CompileError::Crashed(text)),
        }
    }

    async fn answer(&mut self) -> Result<(u8, String), CompileError> {
        match self.frame().await {
            Ok(frame) => Ok(frame),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                let status = self.process.ended().await?;
                Err(CompileError::Crashed(tell(status)))
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                Err(CompileError::Crashed("its output is too long, or none".to_owned()))
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn frame(&mut self) -> io::Result<(u8, String)> {
        let length = self.stdout.read_u32().await? as usize;
        if length == 0 || length > MAX_OUTPUT {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mark = self.stdout.read_u8().await?;
        let mut body = vec![0; length - 1];
        self.stdout.read_exact(&mut body).await?;
        Ok((mark, String::from_utf8(body).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?))
    }
}
