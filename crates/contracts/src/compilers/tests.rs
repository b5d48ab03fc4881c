//! Real compilers, fetched, checked, run and stopped. They come from the folder that `./test` fills.

use std::{path::Path, sync::Arc};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use super::*;

const VERSION: &str = "0.8.20+commit.a1b79de6";

fn packages() -> PathBuf {
    let clients = std::env::var_os("EXPLORER_TEST_CLIENTS");
    let clients =
        clients.expect("this test needs compilers: run ./test, which gets them, or set EXPLORER_TEST_CLIENTS");
    Path::new(&clients).join("node_modules")
}

fn compilers(change: impl FnOnce(&mut CompilerConfig)) -> (Compilers, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut config = CompilerConfig::new(folder.path().to_owned(), CompilerSource::Folder(packages()));
    change(&mut config);
    (Compilers::new(config), folder)
}

fn version(text: &str) -> CompilerVersion {
    text.parse().unwrap()
}

fn input(source: &str) -> String {
    json!({ "language": "Solidity", "sources": { "a.sol": { "content": source } },
            "settings": { "outputSelection": { "*": { "*": ["abi", "metadata"] } } } })
    .to_string()
}

/// Constants that are worked out anew 2^steps times.
fn doubling(steps: u32) -> String {
    let mut source = "contract C{uint constant a0=1;".to_owned();
    for step in 1..=steps {
        source += &format!("uint constant a{step}=a{p}+a{p};", p = step - 1);
    }
    source + &format!("uint[a{steps}] x;}}")
}

/// Structs that hold the one before twice: an interface of 2^steps members.
fn nesting(steps: u32) -> String {
    let mut source = "contract C{struct S0{uint a;}".to_owned();
    for step in 1..=steps {
        source += &format!("struct S{step}{{S{p} a;S{p} b;}}", p = step - 1);
    }
    source + &format!("function f(S{steps} memory x) external {{}}}}")
}

async fn compiles(compilers: &Compilers, compiler: &Compiler) {
    let output = compilers.compile(compiler, input("contract A { function f() public {} }")).await.unwrap();
    let output: Value = serde_json::from_str(&output).unwrap();
    assert_eq!(output["contracts"]["a.sol"]["A"]["abi"][0]["name"], "f");
}

#[tokio::test]
async fn a_source_of_more_than_a_megabyte_is_compiled_by_compilers_of_every_age() {
    let (compilers, _folder) = compilers(|_| {});
    let source =
        format!("contract Long {{}}\n{}", "// A line of a comment, of which there are very many.\n".repeat(32_000));
    for age in ["0.4.26", "0.5.16", "0.6.12", "0.8.20"] {
        let compiler = compilers.get(&version(age)).await.unwrap();
        let output = compilers.compile(&compiler, input(&source)).await.unwrap();
        let output: Value = serde_json::from_str(&output).unwrap();
        assert!(output["contracts"]["a.sol"]["Long"]["abi"].is_array(), "{age}: {output}");
    }
}

#[tokio::test]
async fn a_process_stays_for_the_next_source_and_one_that_hangs_is_ended() {
    let (compilers, _folder) = compilers(|config| config.time_limit = Duration::from_secs(5));
    let compiler = compilers.get(&version(VERSION)).await.unwrap();
    assert_eq!(compiler.version.to_string(), VERSION);
    let processes = || compilers.workers.processes();
    let first = processes();
    compiles(&compilers, &compiler).await;
    compiles(&compilers, &compiler).await;
    assert_eq!(processes(), first, "the process that told its version has compiled twice");

    let error = compilers.compile(&compiler, input(&doubling(30))).await.unwrap_err();
    assert!(matches!(error, CompileError::TimedOut { .. }), "{error}");
    assert!(processes().is_empty());
    #[cfg(target_os = "linux")]
    assert!(!Path::new(&format!("/proc/{}", first[0])).exists(), "it is gone");
    compiles(&compilers, &compiler).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_compilation_that_swells_is_ended() {
    let (compilers, _folder) = compilers(|config| {
        config.memory_limit = 256 << 20;
        config.time_limit = Duration::from_secs(120);
    });
    let compiler = compilers.get(&version(VERSION)).await.unwrap();
    compiles(&compilers, &compiler).await;
    let error = compilers.compile(&compiler, input(&nesting(20))).await.unwrap_err();
    assert!(matches!(error, CompileError::OutOfMemory { .. }), "{error}");
}

#[tokio::test]
async fn no_file_is_read_for_an_import() {
    let (compilers, _folder) = compilers(|_| {});
    for name in ["0.4.26", VERSION] {
        let compiler = compilers.get(&version(name)).await.unwrap();
        let output = compilers.compile(&compiler, input("import \"/etc/passwd\"; contract A {}")).await.unwrap();
        assert!(output.contains("File not supplied initially") && !output.contains("root:"), "{output}");
    }
}

#[tokio::test]
async fn a_compiler_that_is_not_what_its_name_says_is_refused() {
    let (compilers, folder) = compilers(|config| config.source = CompilerSource::Offline);
    std::fs::copy(packages().join("solc-0.8.20/soljson.js"), folder.path().join("soljson-v0.8.19.js")).unwrap();
    let error = compilers.get(&version("0.8.19")).await.unwrap_err();
    assert!(matches!(error, CompilersError::NotWhatItSays { .. }), "{error}");
    let error = compilers.get(&version("0.8.21")).await.unwrap_err();
    assert!(error.to_string().contains("near it are 0.8.19"), "{error}");
}

#[tokio::test]
async fn npm_fetches_a_compiler_once_and_it_is_checked() {
    let (compilers, folder) = compilers(|config| config.source = CompilerSource::Npm);
    let compiler = compilers.get(&version("0.8.20")).await.unwrap();
    compiles(&compilers, &compiler).await;
    let kept = folder.path().join("soljson-v0.8.20.js");
    let checksum = std::fs::read_to_string(folder.path().join("soljson-v0.8.20.js.sha256")).unwrap();
    assert_eq!(checksum, checksum::sha256(&std::fs::read(&kept).unwrap()));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "nothing else is left behind");
}

/// A file on the loopback, by its path.
async fn serve(files: Vec<(String, Vec<u8>)>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let files = Arc::new(files);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let files = Arc::clone(&files);
            tokio::spawn(async move {
                let mut request = vec![0; 4096];
                let read = stream.read(&mut request).await.unwrap_or(0);
                let path = String::from_utf8_lossy(&request[..read]).split(' ').nth(1).unwrap_or("/").to_owned();
                let (status, body) = match files.iter().find(|(name, _)| format!("/{name}") == path) {
                    Some((_, body)) => ("200 OK", body.as_slice()),
                    None => ("404 Not Found", &[][..]),
                };
                let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
                let _ = stream.write_all(head.as_bytes()).await;
                let _ = stream.write_all(body).await;
            });
        }
    });
    address
}

fn list(name: &str, content: &[u8], of: &[u8]) -> Vec<(String, Vec<u8>)> {
    let build = json!({ "path": name, "version": "0.8.20", "build": "commit.a1b79de6", "longVersion": VERSION,
        "keccak256": checksum::keccak(of), "sha256": checksum::sha256(of), "urls": [] });
    let list = json!({ "builds": [build], "releases": { "0.8.20": name }, "latestRelease": "0.8.20" });
    vec![("list.json".to_owned(), list.to_string().into_bytes()), (name.to_owned(), content.to_vec())]
}

/// Speaks as native builds do, and has the work done by the JavaScript build: there is none to be had from npm.
fn native_build() -> Vec<u8> {
    let soljson = packages().join("solc-0.8.20/soljson.js");
    let script = format!(
        "#!/bin/sh\nexec node -e '\
        const m = require(\"{}\"); const say = (text) => process.stdout.write(text, () => process.exit(0)); \
        const version = m.cwrap(\"solidity_version\", \"string\", [])(); \
        if (process.argv.includes(\"--version\")) say(`solc\\nVersion: ${{version}}\\n`); \
        else if (process.argv.includes(\"--help\")) say(\"--no-import-callback\"); \
        else say(m.cwrap(\"solidity_compile\", \"string\", [\"string\", \"number\", \"number\"])(require(\"fs\").readFileSync(0, \"utf8\"), 0, 0));\
        ' -- \"$@\"\n",
        soljson.display()
    );
    script.into_bytes()
}

#[tokio::test]
async fn builds_of_a_list_are_checked_and_run_as_processes() {
    let native = native_build();
    let name = "solc-linux-amd64-v0.8.20+commit.a1b79de6";
    let address = serve(list(name, &native, &native)).await;
    // The work is done by Node.js, which reserves far more address space than it uses.
    let (compilers, folder) = compilers(|config| {
        config.source = CompilerSource::List(address);
        config.memory_limit = 1 << 44;
    });
    let compiler = compilers.get(&version("v0.8.20")).await.unwrap();
    assert_eq!(compiler.program, Found::Native(folder.path().join(format!("solc-v{VERSION}"))));
    compiles(&compilers, &compiler).await;
    let error = compilers.get(&version("0.8.21")).await.unwrap_err();
    assert!(error.to_string().contains("near it are 0.8.20"), "{error}");

    let address = serve(list(name, b"something else", &native)).await;
    let (compilers, folder) = self::compilers(|config| config.source = CompilerSource::List(address));
    let error = compilers.get(&version(VERSION)).await.unwrap_err();
    assert!(matches!(error, CompilersError::Checksum { .. }), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "and nothing of it is kept");
}

#[tokio::test]
async fn a_program_that_is_not_installed_is_named() {
    let missing = "/nowhere/program";
    let (compilers, _folder) = compilers(|config| config.node = missing.into());
    let error = compilers.get(&version(VERSION)).await.unwrap_err();
    assert!(
        matches!(&error, CompilersError::Run(CompileError::Missing(what)) if what.contains("install Node.js")),
        "{error}"
    );
    let (compilers, _folder) = self::compilers(|config| {
        config.source = CompilerSource::Npm;
        config.npm = missing.into();
    });
    let error = compilers.get(&version(VERSION)).await.unwrap_err();
    assert!(matches!(&error, CompilersError::Missing(what) if what.contains("with npm")), "{error}");
}
