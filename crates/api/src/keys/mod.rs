//! API keys: who gets one, by what proof, and which are in use.

mod access;
mod contract_wallet;
mod fault;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod issue;
#[cfg(test)]
pub(crate) mod memory;
mod proof;
mod ring;
mod signature;
mod text;

pub(crate) use access::Caller;
pub use access::OwnerAccess;
pub(crate) use fault::{OtherText, ProofFault};
pub(crate) use issue::KeyIssuer;
pub use issue::{IssuedKey, issue_key};
pub(crate) use proof::Proof;
pub use ring::KeyUses;
pub(crate) use ring::{KeyRing, KnownKey};
pub(crate) use signature::SignatureBytes;
pub use text::KeyText;
