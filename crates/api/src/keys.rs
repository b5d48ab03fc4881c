//! API keys: proof of ownership, issuing, and lookup.

mod access;
mod contract_wallet;
#[allow(clippy::expect_used, clippy::indexing_slicing, reason = "a fuzz target panics if a property does not hold")]
pub(crate) mod fuzzing;
mod issue;
#[cfg(test)]
pub(crate) mod memory;
mod owner_guard;
mod proof;
mod proof_error;
mod ring;
mod signature;
mod text;

pub use access::{Caller, OwnerAccess};
pub(crate) use issue::KeyIssuer;
pub use issue::{IssuedKey, REQUESTS_PER_MINUTE, issue_key};
pub(crate) use owner_guard::OwnerGuard;
pub(crate) use proof::Proof;
pub(crate) use proof_error::ProofError;
pub(crate) use ring::KeyRing;
pub use ring::KeyUses;
pub(crate) use signature::SignatureBytes;
pub use text::KeyText;
