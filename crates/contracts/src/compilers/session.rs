use std::sync::Arc;

use tokio::sync::Mutex;

use super::{
    CompileError, Compiler, CompilerVersion, CpuBudget, Shared, folder::Found, model_checker, native, worker::Worker,
};

/// The compilations of one verification: one after the other, by one compiler, on one budget of processor time. The
/// process of the compiler stays with it between two compilations, and its file is not deleted meanwhile.
#[derive(Debug)]
pub(crate) struct Session {
    shared: Arc<Shared>,
    compiler: Arc<Compiler>,
    budget: CpuBudget,
    worker: Mutex<Option<Worker>>,
}

impl Session {
    pub(super) fn new(shared: Arc<Shared>, compiler: Arc<Compiler>, budget: CpuBudget) -> Self {
        Self { shared, compiler, budget, worker: Mutex::default() }
    }

    pub(crate) fn compiler(&self) -> &Compiler {
        &self.compiler
    }

    pub(crate) fn version(&self) -> &CompilerVersion {
        &self.compiler.version
    }

    /// Whether there is nothing left to compile with.
    pub(crate) fn is_spent(&self) -> bool {
        self.budget.left().is_zero()
    }

    /// Runs the compiler on standard JSON input; gives its output as it is.
    pub(crate) async fn compile(&self, input: String) -> Result<String, CompileError> {
        if self.is_spent() {
            return Err(self.budget.spent());
        }
        let input = model_checker::switch_off_beside(input, self.version().release());
        match &self.compiler.program {
            Found::Soljson(path) => {
                let workers = &self.shared.workers;
                let mut place = self.worker.lock().await;
                let worker = match place.take() {
                    Some(worker) => worker,
                    None => workers.take(path).await?,
                };
                let (outcome, worker) = workers.compile(worker, &input, &self.budget).await;
                *place = worker;
                outcome
            }
            Found::Native(path) => native::compile(path, input, &self.shared.config, &self.budget).await,
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(worker) = self.worker.get_mut().take() {
            self.shared.workers.put_back(worker);
        }
    }
}
