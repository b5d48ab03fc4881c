//! Compiler output: code, ABI, metadata hashes and auxdata.

mod artifacts;
mod auxdata;
mod compiled;
mod metadata_hash;
mod nested;
mod output;
mod vyper_footer;

pub use artifacts::OutputArtifacts;
pub use auxdata::Auxdata;
pub(crate) use auxdata::fuzzing;
pub use compiled::{CompiledCode, CompiledContract, LibraryLink, Span};
pub use metadata_hash::MetadataHash;
pub(crate) use metadata_hash::{HashKind, PrefixHasher, hash_metadata};
pub(crate) use nested::without_nested_code;
pub(crate) use output::{CompilerOutput, OutputError};
pub(crate) use vyper_footer::{VyperFooter, vyper_version_at_end_of};
