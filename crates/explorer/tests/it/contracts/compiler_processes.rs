//! Compiler processes end with the explorer, however it ends.

use std::{collections::HashMap, fs, os::unix::fs::PermissionsExt, path::PathBuf, process::Command};

use serde_json::json;

use super::{
    hostile::{ONE_BYTE_CODE, endless},
    verifier_fixture::{VerifierFixture, compilers},
};
use crate::support::eventually;

/// The descendants of a process with their commands.
fn descendants(ancestor: u32) -> Vec<(u32, String)> {
    let mut parents = HashMap::new();
    for entry in fs::read_dir("/proc").unwrap() {
        let Some(id) = entry.unwrap().file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let Some(stat) = stat(id) else { continue };
        parents.insert(id, stat.1);
    }
    let mut found = vec![ancestor];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        found.extend(parents.iter().filter(|(_, of)| **of == parent).map(|(id, _)| *id));
        next += 1;
    }
    found[1..].iter().map(|id| (*id, command(*id))).collect()
}

/// The state of a process and its parent.
fn stat(id: u32) -> Option<(char, u32)> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ');
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// Hundredths of a second of processor time.
fn cpu_ticks(id: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
    fields.split(' ').skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
}

fn command(id: u32) -> String {
    fs::read_to_string(format!("/proc/{id}/cmdline")).unwrap_or_default().replace('\0', " ")
}

fn is_gone(id: u32, was: &str) -> bool {
    // A zombie, or another process with the same id.
    stat(id).is_none_or(|(state, _)| state == 'Z') || command(id) != was
}

async fn compiler_ends_after_a_kill(compilers: PathBuf, version: &str, program: &str) {
    let fixture = VerifierFixture::start_with(compilers).await;
    let address = fixture.deploy(ONE_BYTE_CODE).await;
    let body = json!({ "address": address, "sourceCode": endless(), "compilerVersion": version });
    let explorer = fixture.explorer.process_id();
    let compiling = async {
        eventually("a process that compiles", async || {
            let started = descendants(explorer);
            // Loading takes a second of CPU time: a process with more is compiling the source.
            let hangs = |id| cpu_ticks(id) >= 400;
            let compiles = started.iter().any(|(id, command)| command.contains(program) && hangs(*id));
            compiles.then_some(started)
        })
        .await
    };
    let mut request = std::pin::pin!(fixture.post("/api/v1/verify", &body));
    let started = tokio::select! {
        answer = &mut request => panic!("it ended: {}", answer.json),
        started = compiling => started,
    };
    let killed = Command::new("kill").args(["-9", &explorer.to_string()]).status().unwrap();
    assert!(killed.success());
    eventually("the end of all that the explorer had started", async || {
        started.iter().all(|(id, command)| is_gone(*id, command)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_javascript_compiler_ends_when_the_explorer_is_killed() {
    compiler_ends_after_a_kill(compilers(), "0.8.20", "solc-0.8.20/soljson.js").await;
}

#[tokio::test]
async fn a_native_compiler_ends_when_the_explorer_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("solc-v0.8.20");
    let script = "#!/bin/sh\ncase $1 in\n--version) echo 'Version: 0.8.20+commit.a1b79de6';;\n--help) ;;\n*) while :; do :; done;;\nesac\n";
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    compiler_ends_after_a_kill(folder.path().to_owned(), "0.8.20", "solc-v0.8.20 --standard-json").await;
}
