//! What the fuzz targets call: code, metadata and ABI values read from arbitrary bytes.

pub use crate::{
    abi::fuzzing::abi_values,
    calls::fuzzing::{abi_arguments, abi_interface},
    code::fuzzing::contract_code,
    verify::fuzzing::metadata,
};
