//! The embedded store on a real disk. `tests/descriptors.rs` needs a process of its own.

// Everything here is test code, also where clippy does not detect it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::print_stdout)]

mod check;
mod conformance;
mod damage;
mod folder;
mod raw_records;
mod revert;
mod snapshot;
mod user_records;
mod verified_contracts;
mod webhook_records;
