//! The search for the settings with which sources compile to the code on the chain.
//!
//! First the auxdata at the end of the code is read: it names the compiler and the metadata hash. Then the metadata search
//! puts candidate settings and file names into the text of the metadata, without compiling, until it has that hash. Only if
//! there is no hash, or no candidate has it, settings are tried by compiling, in the order that the fingerprint of the code
//! suggests.

mod candidates;
mod choice;
mod evm_version;
mod fingerprint;
mod metadata_search;
mod paths;
mod source_hashes;
mod template;

pub(crate) use candidates::{Candidates, RequestedSettings, TrialOutcome};
pub use choice::{Optimizer, SettingsChoice};
pub use evm_version::EvmVersion;
pub use fingerprint::Fingerprint;
pub use metadata_search::MetadataSearch;
pub(crate) use metadata_search::{Hit, all_choices, all_runs};
pub(crate) use paths::likely_paths;
pub(crate) use source_hashes::replace_sources;
pub use template::{Filling, MetadataTemplate};
