//! Vyper: one process per compilation, of a native build or of Python with the package `vyper`.

use std::{
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use domain::Language;

use super::{
    CompileError, CompilerVersion, CompilersError, CpuBudget,
    config::CompilerConfig,
    disk_cache::TemporaryFolder,
    native::{run, run_program},
};

/// Runs the package without access to files outside of Python and the package.
const RUNNER: &str = include_str!("vyper.py");
/// Isolated from the environment and from the working folder, and without writing compiled modules.
const PYTHON: [&str; 4] = ["-I", "-B", "-c", RUNNER];

pub(super) async fn version_of_program(program: &Path) -> Result<CompilerVersion, CompilersError> {
    let output = run_program(program, &["--version"]).await?;
    read_version(&output).ok_or_else(|| does_not_run(program))
}

pub(super) async fn version_of_package(python: &Path) -> Result<CompilerVersion, CompilersError> {
    let output = run_program(python, &[&PYTHON[..], &["--version"]].concat()).await?;
    // `vyper-0.3.10/bin/python`.
    read_version(&output).ok_or_else(|| does_not_run(python.ancestors().nth(2).unwrap_or(python)))
}

fn does_not_run(found: &Path) -> CompilersError {
    let name = found.file_name().unwrap_or_default().to_string_lossy();
    CompilersError::Missing(format!(
        "the Vyper compiler {name} on this server does not run: its operator has to replace it"
    ))
}

/// `0.3.10+commit.91361694`, after warnings.
fn read_version(output: &str) -> Option<CompilerVersion> {
    output.lines().rev().find_map(|line| CompilerVersion::parse(line, Language::Vyper).ok())
}

pub(super) async fn compile_with_program(
    program: &Path,
    input: String,
    config: &CompilerConfig,
    budget: &CpuBudget,
) -> Result<String, CompileError> {
    // Releases are archives that unpack themselves there.
    let folder = temporary_folder(config)?;
    run(program, &["--standard-json"], input, folder.path(), config, budget).await
}

pub(super) async fn compile_with_package(
    python: &Path,
    input: String,
    config: &CompilerConfig,
    budget: &CpuBudget,
) -> Result<String, CompileError> {
    let folder = temporary_folder(config)?;
    run(python, &PYTHON, input, folder.path(), config, budget).await
}

/// A folder for one process, removed with what the process leaves there.
fn temporary_folder(config: &CompilerConfig) -> Result<TemporaryFolder, CompileError> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    Ok(TemporaryFolder::new(&config.folder, &format!("vyper-{number}"))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_from_the_output_of_a_compiler() {
        let read = |output: &str| read_version(output).map(|version| version.to_string());
        assert_eq!(read("0.3.10+commit.91361694\n").as_deref(), Some("vyper:0.3.10+commit.91361694"));
        assert_eq!(read("a warning\n0.4.3+commit.bff19ea2\n").as_deref(), Some("vyper:0.4.3+commit.bff19ea2"));
        assert_eq!(read("Python 3.11\n"), None);
        assert_eq!(read(""), None);
    }

    #[tokio::test]
    async fn the_package_cannot_read_or_write_files_outside_of_python() {
        let folder = std::env::var_os("EXPLORER_TEST_VYPER");
        let folder = folder.expect("this test needs Vyper: run ./test, which gets it, or set EXPLORER_TEST_VYPER");
        let python = Path::new(&folder).join("vyper-0.4.3/bin/python");
        assert_eq!(version_of_package(&python).await.unwrap().release(), (0, 4, 3));
        let temporary = tempfile::tempdir().unwrap();
        let (input, output) = (temporary.path().join("input.json"), temporary.path().join("output.json"));
        let source = r#"{"language":"Vyper","sources":{"a.vy":{"content":"x: uint256"}},"settings":{"outputSelection":{"a.vy":["abi"]}}}"#;
        std::fs::write(&input, source).unwrap();
        let (input, output) = (input.to_str().unwrap(), output.to_str().unwrap());
        let printed = run_program(&python, &[&PYTHON[..], &[input, "-o", output]].concat()).await.unwrap();
        assert_eq!((printed.as_str(), Path::new(output).exists()), ("", false));
        // Without the hook, the same arguments do both.
        let script = "import sys; from vyper.cli import vyper_json; vyper_json._parse_args(sys.argv[1:])";
        run_program(&python, &["-I", "-c", script, input, "-o", output]).await.unwrap();
        assert!(Path::new(output).exists());
    }
}
