//! Tests of the repository itself, which run without building the product. They are in `tests/repository`; what is here is also used by
//! the end-to-end tests of the binary, which compare documents with it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "only tests use this")]

pub mod options;
pub mod tables;
