//! Finding the settings under which sources give the code on the chain.
//!
//! First the metadata at the end of the code is read: it tells the compiler and how the metadata was hashed. Then the
//! hash in it is used as an oracle: settings and file names are tried on the text of the metadata, without compiling, until the
//! hash comes out. Only where there is no hash, or none is hit, settings are tried by compiling, in the order that the
//! looks of the code suggest.

mod candidates;
mod choice;
mod evm_version;
mod fingerprint;
mod oracle;
mod paths;
mod template;

pub(crate) use candidates::{Candidates, Given, Trial};
pub use choice::{Optimizer, SettingsChoice};
pub use evm_version::EvmVersion;
pub use fingerprint::Fingerprint;
pub use oracle::Oracle;
pub(crate) use oracle::{Hit, all_choices};
pub(crate) use paths::likely_paths;
pub use template::{Filling, MetadataTemplate};
