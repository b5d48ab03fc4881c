//! Verified contracts: sources that give the code on the chain, and calls through what they say.
//!
//! [`matching`] decides, as a pure function, whether compiled code is the code on the chain. [`settings`] finds the
//! settings under which it can be, [`compilers`] runs compilers on sources that nobody trusts, [`Verifier`] puts the three
//! together, [`calls`] asks verified contracts in terms of their own interface, and [`decode`] reads in those terms what was
//! sent to them and what they logged.

pub mod abi;
pub mod calls;
mod code;
mod compilers;
pub mod decode;
mod deployment;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod known;
pub mod matching;
pub mod settings;
mod shortened;
mod verify;

pub use code::{Auxdata, CompiledCode, CompiledContract, Interface, LibraryLink, MetadataHash, Span};
pub use compilers::{
    AvailableCompiler, CompileError, CompilerConfig, CompilerSource, CompilerVersion, Compilers, CompilersError,
    IdleLimits, VersionError,
};
pub use known::KnownContracts;
pub use shortened::shortened;
pub use verify::{
    Allowance, FunctionsDiffer, MissingSource, OptimizerChoice, QueueConfig, Refusal, Sources, SourcesError, Stopped,
    Tried, Verdict, Verifier, VerifierConfig, VerifierParts, VerifyClient, VerifyError, VerifyRequest,
};
