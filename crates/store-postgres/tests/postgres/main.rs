//! The store on a real PostgreSQL server: the conformance suite, several processes, and failures.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod compaction;
mod conformance;
mod cuts;
mod damage;
mod failures;
mod old_primary;
mod processes;
mod quotas;
mod replica;
mod schema;
mod senders;
mod server;
mod walks;

/// The end-to-end tests, which use [`server`] as well, wait for their turn here.
fn before_server() {}
