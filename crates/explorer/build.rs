//! Links the binary so that functions with the same code are one: half a megabyte less.

use std::{env, path::Path, process::Command};

const TARGET: &str = "x86_64-unknown-linux-gnu";

#[allow(clippy::print_stdout, reason = "cargo reads what a build script prints")]
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if links_with_lld() {
        println!("cargo:rustc-link-arg-bins=-Wl,--icf=all");
    }
}

/// The linker that comes with Rust is the default for this target only, and others may not know the option.
fn links_with_lld() -> bool {
    let variable = |name| env::var(name).unwrap_or_default();
    if variable("TARGET") != TARGET
        || !variable("RUSTC_LINKER").is_empty()
        || variable("CARGO_ENCODED_RUSTFLAGS").contains("link")
    {
        return false;
    }
    let printed = Command::new(variable("RUSTC")).args(["--print", "sysroot"]).output();
    printed.is_ok_and(|printed| {
        let sysroot = String::from_utf8_lossy(&printed.stdout);
        Path::new(sysroot.trim()).join("lib/rustlib").join(TARGET).join("bin/gcc-ld/ld.lld").exists()
    })
}
