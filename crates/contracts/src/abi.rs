//! Bounded decoding of ABI-encoded values, and their JSON form. Used by [`crate::calls`] and [`crate::decode`].

mod bounded;
#[cfg(feature = "fuzzing")]
#[allow(clippy::expect_used, clippy::indexing_slicing, reason = "a fuzz target panics if a property does not hold")]
pub(crate) mod fuzzing;
mod json;

pub(crate) use bounded::decode_all;
pub use json::AbiJson;
