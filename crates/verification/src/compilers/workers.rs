//! The pool of Node.js processes that run JavaScript builds. A process is reused for the next source of its version, since
//! loading a compiler takes longer than most compilations.

use std::{path::Path, time::Duration};

use tokio::time::timeout;

use super::{
    CompileError, CompilerVersion, CompilersError, CpuBudget,
    config::CompilerConfig,
    idle::IdleWorkers,
    node::Node,
    process::{Bounds, Process},
    usage::Limits,
    worker::Worker,
};

/// Loading takes about a second, and much longer at low priority on a busy machine.
const LOAD_TIMEOUT: Duration = Duration::from_secs(90);
/// A process is replaced after this much compiling, since its total CPU time is limited.
const MAX_BUSY_TIME: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Workers {
    node: Node,
    limits: Limits,
    idle: IdleWorkers,
}

impl Workers {
    pub(super) fn new(config: &CompilerConfig) -> Self {
        Self {
            node: Node::new(config.node.clone(), config.memory_limit),
            limits: config.limits(),
            idle: IdleWorkers::new(config.idle),
        }
    }

    pub(super) async fn version_of(&self, soljson: &Path) -> Result<CompilerVersion, CompilersError> {
        let worker = self.take(soljson).await?;
        let version = worker.version().parse();
        self.put_back(worker);
        Ok(version?)
    }

    /// An idle worker with this compiler, or a new one.
    pub(super) async fn take(&self, soljson: &Path) -> Result<Worker, CompileError> {
        if let Some(worker) = self.idle.take(soljson) {
            return Ok(worker);
        }
        timeout(LOAD_TIMEOUT, self.start(soljson)).await.unwrap_or(Err(CompileError::TimedOut { limit: LOAD_TIMEOUT }))
    }

    /// Compiles on a worker, which is returned unless it was killed or has reached `MAX_BUSY_TIME`.
    pub(super) async fn compile(
        &self,
        worker: Worker,
        input: &str,
        budget: &CpuBudget,
    ) -> (Result<String, CompileError>, Option<Worker>) {
        let (outcome, worker) = worker.compile(input, self.limits, budget).await;
        (outcome, worker.filter(|worker| worker.busy_time() < MAX_BUSY_TIME))
    }

    pub(super) fn put_back(&self, worker: Worker) {
        self.idle.put(worker);
    }

    /// The process ids of idle workers, for tests.
    #[cfg(test)]
    pub(super) fn processes(&self) -> Vec<u32> {
        self.idle.processes()
    }

    async fn start(&self, soljson: &Path) -> Result<Worker, CompileError> {
        let arguments = self.node.arguments(soljson).await?;
        // The limit covers all threads of Node.js over the life of the process.
        let bounds = Bounds { cpu: 4 * (MAX_BUSY_TIME + self.limits.time), address_space: None };
        let started = Process::start(self.node.program(), &arguments, bounds, Path::new("/")).await?;
        Worker::load(soljson, started).await
    }
}
