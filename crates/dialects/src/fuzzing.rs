//! Entry points of the fuzz targets: forms of arbitrary bytes.

pub use crate::etherscan::fuzzing::dialect_form;
