//! The service through its front door: the real binary as a process, real chains behind it, HTTP in front.

// All of this is test code, also where clippy cannot tell.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod architecture;
mod bad_bodies;
mod bad_input;
mod concurrency;
mod configuration;
mod contracts;
mod crash;
mod data_folder;
mod demo;
mod docs;
mod document_holds;
mod faults;
mod keys;
mod limits;
mod node_trouble;
mod other_nodes;
mod pages;
mod real_contracts;
mod reorgs;
mod request_ids;
mod response_cache;
mod routes;
mod slow_clients;
mod support;
mod tokens;
mod webhooks;
mod whole_chain;
