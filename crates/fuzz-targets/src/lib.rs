//! The table of fuzz targets. A target is a function of arbitrary bytes that panics if a property does not hold. It is in
//! the `fuzzing` module of the tested crate.
//!
//! Targets run in two ways: under libFuzzer with coverage feedback (`fuzz/run`), and in the tests of this crate, on every
//! file in `fuzz/corpus` and on mutations of them.

mod mutate;
mod random;
mod runner;

pub use api::fuzzing::{query_body, query_string, request_body, signature};
pub use contracts::fuzzing::{abi_arguments, abi_interface, abi_values};
pub use dialects::fuzzing::dialect_form;
pub use egress::fuzzing::{dns_reply, egress_address, egress_url};
pub use enrichment::fuzzing::nft_document;
pub use ingest::fuzzing::transfer_logs;
pub use mutate::mutate;
pub use node::fuzzing::{rpc_answer, rpc_block, rpc_flat_trace, rpc_trace};
pub use random::Random;
pub use runner::{Failure, Plan, run};
pub use store::fuzzing::record_line;
pub use store_embedded::fuzzing::{chunk, cursors, rows};
pub use verification::fuzzing::{contract_code, metadata};
pub use web::fuzzing::page_input;

/// One fuzz target.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Also the name of its binary in `fuzz/fuzz_targets`, and of its folder in `fuzz/corpus`.
    pub name: &'static str,
    pub run: fn(&[u8]),
    /// Mutations per test run, chosen to take a few seconds.
    pub iterations: u64,
}

macro_rules! targets {
    ($($name:ident: $iterations:literal,)*) => {
        /// Every target.
        pub const TARGETS: &[Target] =
            &[$(Target { name: stringify!($name), run: $name, iterations: $iterations }),*];
    };
}

targets! {
    abi_arguments: 300_000,
    abi_interface: 40_000,
    abi_values: 150_000,
    chunk: 100_000,
    contract_code: 60_000,
    cursors: 1_000,
    dialect_form: 40_000,
    dns_reply: 1_000_000,
    egress_address: 2_000_000,
    egress_url: 150_000,
    metadata: 15_000,
    nft_document: 60_000,
    page_input: 60_000,
    query_body: 200_000,
    query_string: 200_000,
    record_line: 100_000,
    request_body: 150_000,
    rows: 500_000,
    rpc_answer: 40_000,
    rpc_block: 6_000,
    rpc_flat_trace: 40_000,
    rpc_trace: 40_000,
    signature: 8_000,
    transfer_logs: 500_000,
}
