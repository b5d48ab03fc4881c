//! Tests the client against misbehaving nodes on loopback. One binary, so that it links once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "test nodes may panic")]

mod accounts;
mod balances;
mod blocks;
mod calls;
mod codes;
mod creations;
mod dev_chain;
mod failover;
mod sockets;
mod support;
