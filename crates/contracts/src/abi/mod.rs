//! Values in the ABI's encoding: decoded within bounds, and written as JSON. Both [`crate::calls`] and [`crate::decode`]
//! stand on this; it knows of neither.

mod bounded;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod json;

pub(crate) use bounded::decode_all;
pub use json::AbiJson;
