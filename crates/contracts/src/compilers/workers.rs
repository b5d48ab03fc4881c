//! Builds of JavaScript in processes of Node.js. A process that has compiled stays for the next source of its version:
//! loading a compiler takes longer than most compilations.

use std::{path::Path, time::Duration};

use tokio::time::timeout;

use super::{
    CompileError, CompilerConfig, CompilerVersion, CompilersError, CpuBudget,
    idle::IdleWorkers,
    node::Node,
    process::{Bounds, Process},
    watch::Limits,
    worker::Worker,
};

/// For a compiler to load. It takes a second; behind everything else on a busy machine, many times as long.
const LOAD_TIME: Duration = Duration::from_secs(90);
/// A process is replaced when it has compiled this long: what it may use of the processor is bounded over its life.
const WORKING_LIFE: Duration = Duration::from_secs(60);

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

    /// A worker with this compiler: one that waits, or a new one.
    pub(super) async fn take(&self, soljson: &Path) -> Result<Worker, CompileError> {
        if let Some(worker) = self.idle.take(soljson) {
            return Ok(worker);
        }
        timeout(LOAD_TIME, self.start(soljson)).await.unwrap_or(Err(CompileError::TimedOut { limit: LOAD_TIME }))
    }

    /// Compiles on a worker, which is given back unless it had to be ended or is worn out.
    pub(super) async fn compile(
        &self,
        worker: Worker,
        input: &str,
        budget: &CpuBudget,
    ) -> (Result<String, CompileError>, Option<Worker>) {
        let (outcome, worker) = worker.compile(input, self.limits, budget).await;
        (outcome, worker.filter(|worker| worker.worked() < WORKING_LIFE))
    }

    pub(super) fn put_back(&self, worker: Worker) {
        self.idle.put(worker);
    }

    /// The idle processes, for tests.
    #[cfg(test)]
    pub(super) fn processes(&self) -> Vec<u32> {
        self.idle.processes()
    }

    async fn start(&self, soljson: &Path) -> Result<Worker, CompileError> {
        let arguments = self.node.arguments(soljson).await?;
        // Several threads of Node.js count together, and so does what came before the last compilation.
        let bounds = Bounds { cpu: 4 * (WORKING_LIFE + self.limits.time), address_space: None };
        let started = Process::start(self.node.program(), &arguments, bounds, Path::new("/")).await?;
        Worker::load(soljson, started).await
    }
}
