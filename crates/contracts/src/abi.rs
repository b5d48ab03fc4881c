//! Bounded decoding of ABI-encoded values, and their JSON form. All untrusted values are decoded here.

mod bounded;
#[allow(clippy::expect_used, clippy::indexing_slicing, reason = "a fuzz target panics if a property does not hold")]
pub(crate) mod fuzzing;
mod json;

pub use bounded::decode_all;
pub use json::AbiJson;
