//! Tests of the repository itself, which run without building the product. All of them are in `tests/repository`: nothing depends
//! on this crate.
