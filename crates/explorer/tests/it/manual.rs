//! Shell completions and manual pages, as packages contain them.

use std::{
    path::Path,
    process::{Command, Output},
};

use crate::support::explorer_command;

fn explorer(arguments: &[&str]) -> Output {
    let mut command = explorer_command();
    // Generated files name variables of the environment, and never their values.
    command.args(arguments).env("EXPLORER_CHAIN_NAME", "Private").output().unwrap()
}

fn completions(shell: &str) -> String {
    let output = explorer(&["completions", shell]);
    assert!(output.status.success(), "{output:?}");
    let script = String::from_utf8(output.stdout).unwrap();
    assert!(!script.contains("Private"), "{shell}");
    script
}

#[test]
fn bash_completes_commands_options_and_values() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("explorer");
    std::fs::write(&script, completions("bash")).unwrap();
    let complete = |words: &[&str]| {
        let (current, previous) = (words[words.len() - 1], words[words.len() - 2]);
        let program = format!(
            "set -e; . '{}'; COMP_WORDS=({}); COMP_CWORD={}; _explorer explorer '{current}' '{previous}'; echo \"${{COMPREPLY[*]}}\"",
            script.display(),
            words.join(" "),
            words.len() - 1,
        );
        let output = Command::new("bash").args(["-c", &program]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(complete(&["explorer", "sna"]), ["snapshot"]);
    assert_eq!(complete(&["explorer", "run", "--rpc-c"]), ["--rpc-concurrency", "--rpc-calls-per-second"]);
    assert_eq!(complete(&["explorer", "run", "--role", "s"]), ["serve"]);
    assert_eq!(complete(&["explorer", "keys", "rev"]), ["revoke"]);
}

#[test]
fn other_shells_have_completions_too() {
    for (shell, start) in [("zsh", "#compdef explorer"), ("fish", "# Print"), ("powershell", "\n"), ("elvish", "\n")] {
        let script = completions(shell);
        assert!(script.starts_with(start) && script.contains("read-database"), "{shell}: {script}");
    }
    let unknown = explorer(&["completions", "cmd"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(String::from_utf8(unknown.stderr).unwrap().contains("zsh"));
}

#[test]
fn every_command_has_a_manual_page_that_renders_without_warnings() {
    let folder = tempfile::tempdir().unwrap();
    // The folder is created.
    let pages = folder.path().join("man1");
    let output = explorer(&["man", pages.to_str().unwrap()]);
    assert!(output.status.success(), "{output:?}");
    let mut names: Vec<_> = std::fs::read_dir(&pages).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    for expected in ["explorer.1", "explorer-run.1", "explorer-keys-list.1", "explorer-database-migrate.1"] {
        assert!(names.contains(&pages.join(expected)), "{expected} is not in {names:?}");
    }
    for page in &names {
        assert!(!render(page).contains("Private"), "{page:?}");
    }
    let run = render(&pages.join("explorer-run.1"));
    let help = String::from_utf8(explorer(&["run", "--help"]).stdout).unwrap();
    let options: Vec<_> = help.split_whitespace().filter(|word| word.starts_with("--")).collect();
    assert!(options.len() > 40, "{options:?}");
    for option in options {
        let option = option.trim_matches(|letter: char| !letter.is_ascii_lowercase() && letter != '-');
        assert!(run.contains(option.split(['[', '=']).next().unwrap()), "{option} is not in the manual page");
    }
    assert!(run.contains("EXPLORER_READ_DATABASE"), "{run}");

    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let failed = explorer(&["man", file.to_str().unwrap()]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(String::from_utf8(failed.stderr).unwrap().contains("cannot write manual pages to"));
}

/// The text of a page. Fails on every warning of groff.
fn render(page: &Path) -> String {
    let mut groff = Command::new("groff");
    let output = groff.args(["-man", "-ww", "-Tutf8", "-P-cbou", "-rLL=200n"]).arg(page).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{page:?}: {output:?}");
    // A hyphen at which a line may break is another character than a minus.
    String::from_utf8(output.stdout).unwrap().replace('\u{2010}', "-")
}
