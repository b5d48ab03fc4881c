use std::{path::PathBuf, process::Command};

use serde_json::Value;

use super::{permits, process::output};

/// Where ./test installs programs of other languages.
pub(crate) fn installed_clients() -> PathBuf {
    PathBuf::from(std::env::var_os("EXPLORER_TEST_CLIENTS").unwrap_or_else(|| {
        panic!(
            "this test needs viem, ethers, eth-account and schemathesis: run ./test, which gets them, or set \
             EXPLORER_TEST_CLIENTS"
        )
    }))
}

/// Runs a script of tests/clients with the libraries that ./test installs, and returns the JSON that it prints.
pub(crate) async fn run_client(script: &str, arguments: &[&str]) -> Value {
    permits::busy().await;
    let installed = installed_clients();
    let program = match script.rsplit_once('.') {
        Some((_, "py")) => installed.join("python/bin/python"),
        _ => PathBuf::from("node"),
    };
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(script);
    let mut command = Command::new(program);
    command.arg(script).args(arguments).env("EXPLORER_TEST_CLIENTS", &installed);
    let output = output(command).await;
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}{stderr}");
    serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}{stderr}"))
}
