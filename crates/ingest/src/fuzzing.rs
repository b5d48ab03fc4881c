//! Entry points of the fuzz targets: logs of arbitrary bytes.

pub use crate::decode::fuzzing::transfer_logs;
