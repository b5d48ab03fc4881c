//! What the fuzz targets call: code and metadata read from arbitrary bytes.

pub use crate::{code::fuzzing::contract_code, sources::fuzzing::metadata};
