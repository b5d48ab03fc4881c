use std::time::Duration;

use super::VersionError;

/// Why a compiler is not at hand.
#[derive(Debug, thiserror::Error)]
pub enum CompilersError {
    #[error(transparent)]
    Version(#[from] VersionError),
    /// Something that the operator can mend: the text says how.
    #[error("{0}")]
    Missing(String),
    #[error("a compiler cannot be fetched: {0}")]
    Unfetched(String),
    #[error("{what} has checksum {found}, expected {expected}")]
    Checksum { what: String, expected: String, found: String },
    #[error("the folder of compilers cannot be used")]
    Storage(#[source] std::io::Error),
    #[error(transparent)]
    Run(#[from] CompileError),
}

/// Why a compilation gave no output.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    #[error("the compiler was stopped: it had not finished after {} s", limit.as_secs())]
    TimedOut { limit: Duration },
    #[error("the compiler was stopped: it used more than {} MB of memory", limit >> 20)]
    OutOfMemory { limit: u64 },
    #[error("its compilations used more than the {} s of processor time that a verification may use", limit.as_secs())]
    BudgetSpent { limit: Duration },
    #[error("the compiler failed: {0}")]
    Crashed(String),
    /// Something that the operator can mend: the text says how.
    #[error("{0}")]
    Missing(String),
    #[error("the compiler cannot be run")]
    Io(#[from] std::io::Error),
}
