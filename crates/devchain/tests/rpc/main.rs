//! Tests over real JSON-RPC, by HTTP and WebSocket.

// Clippy does not recognise helpers as test code.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod archive;
mod blocks;
mod determinism;
mod execution;
mod fees;
mod logs;
mod node;
mod pool;
mod protocol;
mod reorgs;
mod states;
mod subscriptions;
mod traces;
mod transactions;
