//! Verification of contracts: sources that compile to the code on the chain.
//!
//! [`matching`] decides, as a pure function, whether compiled code is the code on the chain. [`settings`] searches for the
//! compiler settings, [`compilers`] runs compilers on untrusted sources, [`Verifier`] combines the three, and
//! [`VerificationJobs`] runs it. [`KnownContracts`] finds what is verified.

mod code;
mod compilers;
mod deployment;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
#[allow(clippy::expect_used, clippy::indexing_slicing, reason = "a fuzz target panics if a property does not hold")]
pub mod fuzzing;
mod jobs;
mod known;
pub mod matching;
pub mod settings;
mod shortened;
mod verify;

pub use code::{Auxdata, CompiledCode, CompiledContract, LibraryLink, MetadataHash, OutputArtifacts, Span};
pub use compilers::{
    AvailableCompiler, CompileError, CompilerConfig, CompilerSource, CompilerVersion, Compilers, CompilersError,
    IdleLimits, VersionError,
};
pub use jobs::{JobEnd, JobHandle, JobStatus, VerificationJobs, VerificationMetrics};
pub use known::KnownContracts;
pub use shortened::shortened;
pub use verify::{
    Allowance, Compilation, CompilationError, CompilationRecorder, FunctionsDiffer, MissingSource, NotRecorded,
    OptimizerChoice, QueueConfig, Refusal, Sources, SourcesError, Stopped, Tried, Verdict, Verifier, VerifierConfig,
    VerifierParts, VerifyClient, VerifyError, VerifyRequest, VerifyStage, is_license,
};
