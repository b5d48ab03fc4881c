//! The systemd units: valid, and hardened.

use std::{fs, process::Command};

use super::{DEPLOY, deployed_file};

/// Exposure by `systemd-analyze security`, in tenths; 14 when this was written. The network and the code that Node.js generates
/// are most of it.
const MAX_EXPOSURE: &str = "15";

fn names() -> Vec<String> {
    let entries = fs::read_dir(format!("{DEPLOY}/systemd")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".service")).collect();
    names.sort();
    assert_eq!(names.len(), 5, "{names:?}");
    names
}

fn analyze(arguments: &[&str]) {
    let output = Command::new("systemd-analyze").args(arguments).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "systemd-analyze {}: {text}", arguments.join(" "));
}

#[test]
fn units_are_valid_and_hardened() {
    let folder = tempfile::tempdir().unwrap();
    for name in names() {
        let text = deployed_file(&format!("systemd/{name}"));
        assert!(text.contains("\nExecStart=explorer run"), "{name}");
        let text = text.replace("ExecStart=explorer", &format!("ExecStart={}", env!("CARGO_BIN_EXE_explorer")));
        // An instance, where it is a template.
        let file = folder.path().join(name.replace("@.", "@3000."));
        fs::write(&file, text).unwrap();
        let file = file.to_str().unwrap();
        analyze(&["verify", "--man=no", file]);
        analyze(&["security", "--offline=true", "--threshold", MAX_EXPOSURE, file]);
    }
}

#[test]
fn all_units_are_hardened_in_the_same_way() {
    let hardening = |name: &String| {
        let text = deployed_file(&format!("systemd/{name}"));
        let start = text.find("# Stops within two seconds").unwrap_or_else(|| panic!("{name}"));
        text[start..].to_owned()
    };
    let all: Vec<String> = names().iter().map(hardening).collect();
    assert!(all[0].contains("SystemCallFilter="), "{}", all[0]);
    for (name, text) in names().iter().zip(&all) {
        assert_eq!(text, &all[0], "{name}");
    }
}
