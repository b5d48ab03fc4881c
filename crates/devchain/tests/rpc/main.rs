//! The chain as its clients see it: real JSON-RPC over HTTP and WebSocket.

// All of this is test code, also where clippy cannot tell.
#![allow(clippy::unwrap_used)]

mod blocks;
mod determinism;
mod execution;
mod fees;
mod forgetting;
mod logs;
mod node;
mod pool;
mod protocol;
mod reorgs;
mod states;
mod subscriptions;
mod transactions;
