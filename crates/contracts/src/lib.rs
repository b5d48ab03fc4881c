//! Verified contracts: sources that compile to the code on the chain, and calls by their ABI.
//!
//! [`matching`] decides, as a pure function, whether compiled code is the code on the chain. [`settings`] searches for the
//! compiler settings, [`compilers`] runs compilers on untrusted sources, [`Verifier`] combines the three, [`VerificationJobs`] runs it, [`calls`] calls
//! view functions of verified contracts, and [`decode`] decodes their calls, logs and errors; [`standards`] those of others.

pub mod abi;
pub mod calls;
mod code;
mod compilers;
pub mod decode;
mod deployment;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
#[allow(clippy::expect_used, clippy::indexing_slicing, reason = "a fuzz target panics if a property does not hold")]
pub mod fuzzing;
mod jobs;
mod known;
pub mod matching;
mod revert;
pub mod settings;
mod shortened;
mod standards;
mod verify;

pub use code::{Auxdata, CompiledCode, CompiledContract, Interface, LibraryLink, MetadataHash, OutputArtifacts, Span};
pub use compilers::{
    AvailableCompiler, CompileError, CompilerConfig, CompilerSource, CompilerVersion, Compilers, CompilersError,
    IdleLimits, VersionError,
};
pub use jobs::{JobEnd, JobHandle, JobStatus, VerificationJobs, VerificationMetrics};
pub use known::KnownContracts;
pub use revert::revert_reason;
pub use shortened::shortened;
pub use standards::standards;
pub use verify::{
    Allowance, Compilation, CompilationError, CompilationRecorder, FunctionsDiffer, MissingSource, NotRecorded,
    OptimizerChoice, QueueConfig, Refusal, Sources, SourcesError, Stopped, Tried, Verdict, Verifier, VerifierConfig,
    VerifierParts, VerifyClient, VerifyError, VerifyRequest, VerifyStage, is_license,
};
