//! Builds of JavaScript in processes of Node.js. A process that has compiled stays for the next source of its version:
//! loading a compiler takes longer than most compilations.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::{Child, ChildStdin, ChildStdout},
    time::timeout,
};

use super::{
    CompileError, CompilerConfig, CompilerVersion, CompilersError,
    node::Node,
    process::{Bounds, bounded, end, over_memory, tell},
};

/// Idle processes kept, over all versions. Each holds some 200 MB.
const IDLE: usize = 3;
/// An idle process goes after this.
const IDLE_TIME: Duration = Duration::from_secs(300);
/// For a compiler to load. On a busy machine the old ones take seconds.
const LOAD_TIME: Duration = Duration::from_secs(30);
/// A process is replaced when it has compiled this long: what it may use of the processor is bounded over its life.
const WORKING_LIFE: Duration = Duration::from_secs(60);
/// The longest output that is read. Of 2 MB of source nothing sound comes near.
const MAX_OUTPUT: usize = 256 << 20;
const READY: u8 = 0;
const OUTPUT: u8 = 1;

#[derive(Debug)]
pub(super) struct Workers {
    node: Node,
    time_limit: Duration,
    memory_limit: u64,
    idle: Mutex<Vec<Worker>>,
}

#[derive(Debug)]
struct Worker {
    soljson: PathBuf,
    version: String,
    child: Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
    worked: Duration,
    idle_since: Instant,
}

impl Workers {
    pub(super) fn new(config: &CompilerConfig) -> Self {
        Self {
            node: Node::new(config.node.clone(), config.memory_limit),
            time_limit: config.time_limit,
            memory_limit: config.memory_limit,
            idle: Mutex::default(),
        }
    }

    pub(super) async fn version_of(&self, soljson: &Path) -> Result<CompilerVersion, CompilersError> {
        let worker = self.take(soljson).await?;
        let version = worker.version.parse();
        self.put_back(worker);
        Ok(version?)
    }

    pub(super) async fn compile(&self, soljson: &Path, input: String) -> Result<String, CompileError> {
        let mut worker = self.take(soljson).await?;
        let started = Instant::now();
        let process = worker.child.id().unwrap_or_default();
        let outcome = tokio::select! {
            answered = timeout(self.time_limit, worker.ask(&input)) => match answered {
                Ok(answered) => answered,
                Err(_) => Err(CompileError::TimedOut { limit: self.time_limit }),
            },
            () = over_memory(process, self.memory_limit) => Err(CompileError::OutOfMemory { limit: self.memory_limit }),
        };
        match outcome {
            Ok(output) => {
                worker.worked += started.elapsed();
                self.put_back(worker);
                Ok(output)
            }
            Err(error) => {
                end(worker.child).await;
                Err(error)
            }
        }
    }

    /// The idle processes, for tests.
    #[cfg(test)]
    pub(super) fn processes(&self) -> Vec<u32> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.iter().filter_map(|worker| worker.child.id()).collect()
    }

    async fn take(&self, soljson: &Path) -> Result<Worker, CompileError> {
        let idle = {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            idle.retain(|worker| worker.idle_since.elapsed() < IDLE_TIME);
            let place = idle.iter().rposition(|worker| worker.soljson == soljson);
            place.map(|place| idle.remove(place))
        };
        if let Some(mut worker) = idle
            && matches!(worker.child.try_wait(), Ok(None))
        {
            return Ok(worker);
        }
        timeout(LOAD_TIME, self.start(soljson)).await.unwrap_or(Err(CompileError::TimedOut { limit: LOAD_TIME }))
    }

    async fn start(&self, soljson: &Path) -> Result<Worker, CompileError> {
        let arguments = self.node.arguments(soljson).await?;
        // Several threads of Node.js count together, and so does what came before the last compilation.
        let bounds = Bounds { cpu: 4 * (WORKING_LIFE + LOAD_TIME + self.time_limit), address_space: None };
        let mut child = bounded(self.node.program(), &arguments, bounds).spawn()?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(CompileError::Crashed("it has no input or output".to_owned()));
        };
        let (soljson, idle_since) = (soljson.to_owned(), Instant::now());
        let mut worker =
            Worker { soljson, version: String::new(), child, stdin, stdout, worked: Duration::ZERO, idle_since };
        match worker.answer().await? {
            (READY, version) => worker.version = version,
            (_, text) => return Err(CompileError::Crashed(text)),
        }
        Ok(worker)
    }

    fn put_back(&self, mut worker: Worker) {
        if worker.worked >= WORKING_LIFE {
            return;
        }
        worker.idle_since = Instant::now();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(worker);
        if idle.len() > IDLE {
            idle.remove(0);
        }
    }
}

impl Worker {
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
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                let status = self.child.wait().await?;
                Err(CompileError::Crashed(tell(status)))
            }
            Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                Err(CompileError::Crashed("its output is too long, or none".to_owned()))
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn frame(&mut self) -> std::io::Result<(u8, String)> {
        let length = self.stdout.read_u32().await? as usize;
        if length == 0 || length > MAX_OUTPUT {
            return Err(std::io::ErrorKind::InvalidData.into());
        }
        let mark = self.stdout.read_u8().await?;
        let mut body = vec![0; length - 1];
        self.stdout.read_exact(&mut body).await?;
        Ok((mark, String::from_utf8(body).map_err(|_| std::io::Error::from(std::io::ErrorKind::InvalidData))?))
    }
}
