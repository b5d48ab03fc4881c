//! Tests the client against misbehaving nodes on loopback. One binary, so that it links once.
#![allow(clippy::unwrap_used, reason = "test nodes may panic")]

mod accounts;
mod blocks;
mod calls;
mod codes;
mod creations;
mod failover;
mod sockets;
mod support;
