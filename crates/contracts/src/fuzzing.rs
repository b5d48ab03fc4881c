//! What the fuzz targets call: ABI values and interfaces read from arbitrary bytes.

pub use crate::{
    abi::fuzzing::abi_values,
    calls::fuzzing::{abi_arguments, abi_interface},
};
