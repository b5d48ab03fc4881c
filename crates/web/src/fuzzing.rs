//! Entry points of the fuzz targets: what visitors send to pages, of arbitrary bytes.

pub use crate::pages::fuzzing::page_input;
