//! The client against nodes that misbehave on purpose, on loopback. One binary, so that it links once.
#![allow(clippy::unwrap_used, reason = "the nodes of the tests may panic as the tests may")]

mod accounts;
mod blocks;
mod calls;
mod codes;
mod creations;
mod failover;
mod sockets;
mod support;
