//! Compares manifests, modules and documents with each other.

// Everything here is test code, including helpers that clippy does not recognize as such.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod architecture;
mod circles;
mod decisions;
mod dependencies;
mod documents;
mod files;
mod options;
mod routes;
mod rpc_methods;
mod store_tables;
