//! Every target over its corpus and over mutations of it. A failure says how to repeat it.
//!
//! `FUZZ_ITERATIONS` says how many mutations are tried, `FUZZ_SEED` which ones, and `FUZZ_KEEP_INPUT=1` leaves the input
//! of a target that ends the whole process in the folder of failures.

#![allow(clippy::expect_used)]

use std::{
    fs,
    path::{Path, PathBuf},
};

use fuzz_targets::{Plan, TARGETS, Target, run};

/// What a corpus may take in the repository.
const MOST_FILES: usize = 60;
const MOST_BYTES: u64 = 300 << 10;
const MOST_BYTES_IN_ALL: u64 = 1_500 << 10;

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} must be a whole number, not {text}")))
}

fn try_target(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target of this name");
    let plan = Plan {
        iterations: number("FUZZ_ITERATIONS").unwrap_or(target.iterations),
        seed: number("FUZZ_SEED").unwrap_or(1),
        failures: Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz-failures"),
        keep_inputs: number("FUZZ_KEEP_INPUT").is_some_and(|keep| keep != 0),
    };
    if let Err(failure) = run(*target, &fuzz().join("corpus").join(name), &plan) {
        panic!("{failure}");
    }
}

macro_rules! targets {
    ($($name:ident,)*) => {
        $(#[test]
        fn $name() {
            try_target(stringify!($name));
        })*

        const TRIED: &[&str] = &[$(stringify!($name)),*];
    };
}

targets! {
    abi_arguments,
    abi_interface,
    abi_values,
    chunk,
    contract_code,
    cursors,
    egress_address,
    egress_url,
    metadata,
    query_body,
    query_string,
    request_body,
    rows,
    rpc_answer,
    rpc_block,
    rpc_trace,
    signature,
}

#[test]
fn every_target_is_tried_here_and_has_a_binary_for_cargo_fuzz() {
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    assert_eq!(names, TRIED);
    let manifest = fs::read_to_string(fuzz().join("Cargo.toml")).unwrap();
    for Target { name, .. } in TARGETS {
        let source = fs::read_to_string(fuzz().join(format!("fuzz_targets/{name}.rs"))).unwrap();
        assert!(source.contains(&format!("fuzz_targets::{name}(data)")), "{name}");
        assert!(manifest.contains(&format!("name = \"{name}\"\npath = \"fuzz_targets/{name}.rs\"")), "{name}");
    }
}

#[test]
fn corpora_are_small() {
    let mut in_all = 0;
    for Target { name, .. } in TARGETS {
        let files: Vec<_> = fs::read_dir(fuzz().join("corpus").join(name)).unwrap().map(Result::unwrap).collect();
        let bytes: u64 = files.iter().map(|file| file.metadata().unwrap().len()).sum();
        assert!((1..=MOST_FILES).contains(&files.len()) && bytes <= MOST_BYTES, "{name}: {} files", files.len());
        in_all += bytes;
    }
    assert!(in_all <= MOST_BYTES_IN_ALL, "{in_all} bytes");
}
