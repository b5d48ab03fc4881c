//! Verification of contracts: sources that compile to the code on the chain.
//!
//! [`matching`] decides, as a pure function, whether compiled code is the code on the chain. [`settings`] searches for the
//! compiler settings, [`compilers`] runs compilers on untrusted sources, [`Verifier`] combines the three, and
//! [`VerificationJobs`] runs it. [`VerifiedDeployments`] finds what is verified.

mod code;
mod compilation;
mod compilers;
mod config;
mod deployment;
mod error;
#[doc(hidden)]
#[allow(clippy::expect_used, clippy::indexing_slicing, reason = "a fuzz target panics if a property does not hold")]
pub mod fuzzing;
mod jobs;
mod license;
pub mod matching;
mod on_chain;
mod queue;
mod record;
mod request;
mod search;
pub mod settings;
mod shortened;
#[cfg(test)]
mod soundness;
mod sources;
mod verified_deployments;
mod verifier;

pub use code::{Auxdata, CompiledCode, CompiledContract, LibraryLink, MetadataHash, OutputArtifacts, Span};
pub use compilation::{Compilation, CompilationError, CompilationRecorder, NotRecorded};
pub use compilers::{
    AvailableCompiler, CompileError, CompilerConfig, CompilerSource, CompilerVersion, Compilers, CompilersError,
    IdleLimits, VersionError,
};
pub use config::VerifierConfig;
pub use error::VerifyError;
pub use jobs::{JobEnd, JobHandle, JobStatus, VerificationJobs, VerificationMetrics};
pub use license::is_license;
pub use queue::{Allowance, QueueConfig, VerifyClient};
pub use request::{OptimizerChoice, VerifyRequest};
pub use search::{FunctionDifference, Refusal, SearchExtent, StopReason};
pub use shortened::shortened;
pub use sources::{MissingSource, Sources, SourcesError};
pub use verified_deployments::VerifiedDeployments;
pub use verifier::{Verdict, Verifier, VerifierParts, VerifyStage};
