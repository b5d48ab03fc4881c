use std::time::Duration;

use super::VersionError;

/// Why a compiler is unavailable.
#[derive(Debug, thiserror::Error)]
pub enum CompilersError {
    #[error(transparent)]
    Version(#[from] VersionError),
    /// Something that the operator can fix; the text says how.
    #[error("{0}")]
    Missing(String),
    #[error("cannot fetch the compiler: {0}")]
    FetchFailed(String),
    #[error("{what} has checksum {found}, expected {expected}")]
    Checksum { what: String, expected: String, found: String },
    #[error("cannot read or write the compiler folder")]
    Storage(#[source] std::io::Error),
    #[error(transparent)]
    Run(#[from] CompileError),
}

/// Why a compilation failed.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    #[error("the compiler was stopped: it did not finish within {} s", limit.as_secs())]
    TimedOut { limit: Duration },
    #[error("the compiler was stopped: it used more than {} MB of memory", limit >> 20)]
    OutOfMemory { limit: u64 },
    #[error("its compilations used more than the {} s of CPU time allowed per verification", limit.as_secs())]
    BudgetExhausted { limit: Duration },
    #[error("the compiler failed: {0}")]
    Crashed(String),
    /// Something that the operator can fix; the text says how.
    #[error("{0}")]
    Missing(String),
    #[error("cannot run the compiler")]
    Io(#[from] std::io::Error),
}
