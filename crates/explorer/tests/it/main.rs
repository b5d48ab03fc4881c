//! End-to-end tests: the real binary as a process, real nodes behind it, HTTP in front.

// Everything here is test code, including helpers that clippy does not recognize as such.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::print_stdout)]

mod admin;
mod approvals;
mod architecture;
mod backup;
mod bad_bodies;
mod bad_input;
mod bootstrap;
mod check;
mod concurrency;
mod configuration;
mod contracts;
mod copy;
mod coverage;
mod crash;
mod data_folder;
mod demo;
mod deployment;
mod dialects;
mod docs;
mod failures;
mod faults;
mod hardhat_and_ganache;
mod internal;
mod keys;
mod limits;
mod log_lines;
mod logs;
mod manual;
mod nft_metadata;
mod nfts;
mod node_outages;
mod packed_calls;
mod pages;
mod pending;
mod postgres;
mod real_contracts;
mod record_files;
mod reindex;
mod reorgs;
mod request_ids;
mod response_cache;
mod routes;
mod schemathesis;
mod slow_clients;
mod sums;
mod support;
mod token_prefix;
mod tokens;
mod traces;
mod upgrade;
mod webhooks;
mod whole_chain;
