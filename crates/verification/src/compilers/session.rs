use std::sync::Arc;

use tokio::sync::Mutex;

use super::{
    CompileError, CompilerVersion, CpuBudget,
    folder::CompilerFile,
    model_checker, native,
    obtain::{Compiler, Inventory},
    vyper,
    worker::Worker,
};

/// The sequential compilations of one verification with one compiler and one CPU budget. The session holds the compiler's
/// process between compilations, and its file is not deleted meanwhile.
#[derive(Debug)]
pub(crate) struct Session {
    inventory: Arc<Inventory>,
    compiler: Arc<Compiler>,
    budget: CpuBudget,
    worker: Mutex<Option<Worker>>,
}

impl Session {
    pub(super) fn new(inventory: Arc<Inventory>, compiler: Arc<Compiler>, budget: CpuBudget) -> Self {
        Self { inventory, compiler, budget, worker: Mutex::default() }
    }

    pub(crate) fn compiler(&self) -> &Compiler {
        &self.compiler
    }

    pub(crate) fn version(&self) -> &CompilerVersion {
        &self.compiler.version
    }

    /// Whether the CPU budget is exhausted.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.budget.left().is_zero()
    }

    /// Runs the compiler on standard JSON input and returns its raw output.
    pub(crate) async fn compile(&self, input: String) -> Result<String, CompileError> {
        if self.is_exhausted() {
            return Err(self.budget.exhausted());
        }
        let config = &self.inventory.config;
        match &self.compiler.program {
            CompilerFile::NativeVyper(path) => vyper::compile_with_program(path, input, config, &self.budget).await,
            CompilerFile::VyperPackage(path) => vyper::compile_with_package(path, input, config, &self.budget).await,
            CompilerFile::Native(path) => native::compile(path, self.solc_input(input), config, &self.budget).await,
            CompilerFile::Soljson(path) => {
                let input = self.solc_input(input);
                let workers = &self.inventory.workers;
                let mut slot = self.worker.lock().await;
                let worker = match slot.take() {
                    Some(worker) => worker,
                    None => workers.take(path).await?,
                };
                let (outcome, worker) = workers.compile(worker, &input, &self.budget).await;
                *slot = worker;
                outcome
            }
        }
    }

    fn solc_input(&self, input: String) -> String {
        model_checker::disable_outside_settings(input, self.version().release())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(worker) = self.worker.get_mut().take() {
            self.inventory.workers.put_back(worker);
        }
    }
}
