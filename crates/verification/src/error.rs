use node::NodeError;
use store::StoreError;

use crate::{CompileError, CompilersError, VersionError};

/// Why a verification could not be completed.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    #[error("no bytecode is indexed at this address: there is no contract on the chain")]
    NoCode,
    #[error("compilerVersion {0}")]
    Version(VersionError),
    #[error("you already have a running verification of this address: wait for its response")]
    AlreadyRunning,
    /// The client has to wait for its own verifications.
    #[error("you have reached the limit of running and waiting verifications: wait for one to finish")]
    ClientLimitReached,
    #[error("too many verifications are waiting: try again later")]
    Busy,
    /// The server lacks a program; the text says what to install.
    #[error("{0}")]
    NoCompiler(String),
    #[error("the verification took too long")]
    TimedOut,
    #[error("the verification panicked: {0}")]
    Panicked(String),
    #[error("cannot get or run the compiler")]
    Compilers(#[source] CompilersError),
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<CompilersError> for VerifyError {
    fn from(error: CompilersError) -> Self {
        match error {
            CompilersError::Version(error) => Self::Version(error),
            CompilersError::Missing(advice) | CompilersError::Run(CompileError::Missing(advice)) => {
                Self::NoCompiler(advice)
            }
            error => Self::Compilers(error),
        }
    }
}
