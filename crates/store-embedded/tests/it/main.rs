//! The embedded store on a real disk. `tests/descriptors.rs` needs a process of its own.

// Everything here is test code, also where clippy does not detect it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::print_stdout)]

mod conformance;
mod damage;
mod folder;
mod interleavings;
mod record_transfer;
mod revert;
mod snapshot;
mod upgrade;
mod user_records;
mod verified_contracts;
mod verify;
mod webhook_records;

/// What `src/states.rs`, included by `interleavings`, finds in this crate.
mod sync {
    pub(crate) use shuttle::sync::{Mutex, atomic::AtomicU64};
}
