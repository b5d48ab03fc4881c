//! Runs every target on its corpus and on mutations of it. A failure message says how to reproduce it.
//!
//! `FUZZ_ITERATIONS` sets the number of mutations and `FUZZ_SEED` their seed. `FUZZ_KEEP_INPUT=1` writes each input to the
//! folder of failures before it is run, in case it ends the process.

#![allow(clippy::expect_used)]

use std::{
    fs,
    path::{Path, PathBuf},
};

use fuzz_targets::{Plan, TARGETS, Target, run};

/// Maximum size of a corpus in the repository.
const MAX_FILES: usize = 60;
const MAX_BYTES: u64 = 300 << 10;
const MAX_TOTAL_BYTES: u64 = 1_500 << 10;

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} must be a whole number, not {text}")))
}

fn run_target(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("the target exists");
    let plan = Plan {
        iterations: number("FUZZ_ITERATIONS").unwrap_or(target.iterations),
        seed: number("FUZZ_SEED").unwrap_or(1),
        failures: Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz-failures"),
        save_inputs: number("FUZZ_KEEP_INPUT").is_some_and(|keep| keep != 0),
    };
    if let Err(failure) = run(*target, &fuzz().join("corpus").join(name), &plan) {
        panic!("{failure}");
    }
}

macro_rules! targets {
    ($($name:ident,)*) => {
        $(#[test]
        fn $name() {
            run_target(stringify!($name));
        })*

        const TESTED: &[&str] = &[$(stringify!($name)),*];
    };
}

targets! {
    abi_arguments,
    abi_interface,
    abi_values,
    chunk,
    contract_code,
    cursors,
    dialect_form,
    dns_reply,
    egress_address,
    egress_url,
    metadata,
    nft_document,
    page_input,
    query_body,
    query_string,
    record_line,
    request_body,
    rows,
    rpc_answer,
    rpc_block,
    rpc_flat_trace,
    rpc_trace,
    signature,
    transfer_logs,
}

#[test]
fn every_target_has_a_test_and_a_binary_for_cargo_fuzz() {
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    assert_eq!(names, TESTED);
    let manifest = fs::read_to_string(fuzz().join("Cargo.toml")).unwrap();
    for Target { name, .. } in TARGETS {
        let source = fs::read_to_string(fuzz().join(format!("fuzz_targets/{name}.rs"))).unwrap();
        assert!(source.contains(&format!("fuzz_targets::{name}(data)")), "{name}");
        assert!(manifest.contains(&format!("name = \"{name}\"\npath = \"fuzz_targets/{name}.rs\"")), "{name}");
    }
}

#[test]
fn corpora_are_small() {
    let mut total = 0;
    for Target { name, .. } in TARGETS {
        let files: Vec<_> = fs::read_dir(fuzz().join("corpus").join(name)).unwrap().map(Result::unwrap).collect();
        let bytes: u64 = files.iter().map(|file| file.metadata().unwrap().len()).sum();
        assert!((1..=MAX_FILES).contains(&files.len()) && bytes <= MAX_BYTES, "{name}: {} files", files.len());
        total += bytes;
    }
    assert!(total <= MAX_TOTAL_BYTES, "{total} bytes");
}
