//! Downloads, checks, runs and stops real compilers, from the folder that `./test` fills.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use super::{folder::CompilerFile, *};

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

/// Constants that the compiler evaluates 2^steps times.
fn doubling(steps: u32) -> String {
    let mut source = "contract C{uint constant a0=1;".to_owned();
    for step in 1..=steps {
        source += &format!("uint constant a{step}=a{p}+a{p};", p = step - 1);
    }
    source + &format!("uint[a{steps}] x;}}")
}

/// Structs that contain the previous one twice: an ABI with 2^steps members.
fn nesting(steps: u32) -> String {
    let mut source = "contract C{struct S0{uint a;}".to_owned();
    for step in 1..=steps {
        source += &format!("struct S{step}{{S{p} a;S{p} b;}}", p = step - 1);
    }
    source + &format!("function f(S{steps} memory x) external {{}}}}")
}

fn session(compilers: &Compilers, compiler: &Arc<Compiler>) -> Session {
    compilers.session(Arc::clone(compiler), CpuBudget::new(Duration::from_secs(600)))
}

async fn compile(compilers: &Compilers, compiler: &Arc<Compiler>, input: String) -> Result<String, CompileError> {
    session(compilers, compiler).compile(input).await
}

async fn compiles(compilers: &Compilers, compiler: &Arc<Compiler>) {
    let output = compile(compilers, compiler, input("contract A { function f() public {} }")).await.unwrap();
    let output: Value = serde_json::from_str(&output).unwrap();
    assert_eq!(output["contracts"]["a.sol"]["A"]["abi"][0]["name"], "f");
}

#[tokio::test]
async fn a_source_of_more_than_a_megabyte_is_compiled_by_old_and_new_compilers() {
    let (compilers, _folder) = compilers(|_| {});
    let source =
        format!("contract Long {{}}\n{}", "// A line of a comment, of which there are very many.\n".repeat(32_000));
    for age in ["0.4.26", "0.5.16", "0.6.12", "0.8.20"] {
        let compiler = compilers.get(&version(age)).await.unwrap();
        let output = compile(&compilers, &compiler, input(&source)).await.unwrap();
        let output: Value = serde_json::from_str(&output).unwrap();
        assert!(output["contracts"]["a.sol"]["Long"]["abi"].is_array(), "{age}: {output}");
    }
}

#[tokio::test]
async fn a_process_is_reused_and_one_that_hangs_is_killed() {
    let (compilers, _folder) = compilers(|config| config.time_limit = Duration::from_secs(5));
    let compiler = compilers.get(&version(VERSION)).await.unwrap();
    assert_eq!(compiler.version.to_string(), VERSION);
    let processes = || compilers.inventory.workers.processes();
    let first = processes();
    compiles(&compilers, &compiler).await;
    compiles(&compilers, &compiler).await;
    assert_eq!(processes(), first, "the process that reported its version has compiled twice");

    let error = compile(&compilers, &compiler, input(&doubling(30))).await.unwrap_err();
    assert!(matches!(error, CompileError::TimedOut { .. }), "{error}");
    assert!(processes().is_empty());
    #[cfg(target_os = "linux")]
    assert!(is_gone(first[0]), "it is gone");
    compiles(&compilers, &compiler).await;
}

#[cfg(target_os = "linux")]
fn is_gone(process: u32) -> bool {
    !Path::new(&format!("/proc/{process}")).exists()
}

#[cfg(target_os = "linux")]
async fn ends(process: u32) {
    let gone = async {
        while !is_gone(process) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), gone).await.expect("the process ends");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_idle_process_expires_without_another_request() {
    let (compilers, _folder) = compilers(|config| config.idle.time = Duration::from_millis(300));
    let compiler = compilers.get(&version(VERSION)).await.unwrap();
    let session = session(&compilers, &compiler);
    session.compile(input("contract A {}")).await.unwrap();
    drop(session);
    let idle = compilers.inventory.workers.processes();
    assert_eq!(idle.len(), 1);
    ends(idle[0]).await;
    assert!(compilers.inventory.workers.processes().is_empty());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn idle_processes_stay_within_the_memory_limit() {
    let (compilers, _folder) = compilers(|config| config.idle.bytes = 1 << 20);
    let compiler = compilers.get(&version(VERSION)).await.unwrap();
    assert!(
        compilers.inventory.workers.processes().is_empty(),
        "the process that reported its version is too large to be kept"
    );
    let session = session(&compilers, &compiler);
    for _ in 0..2 {
        session.compile(input("contract A {}")).await.unwrap();
    }
    assert!(compilers.inventory.workers.processes().is_empty(), "within a verification its process is kept");
    drop(session);
    assert!(compilers.inventory.workers.processes().is_empty());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_compilations_of_a_session_share_a_cpu_budget() {
    let (compilers, _folder) = compilers(|_| {});
    let compiler = compilers.get(&version(VERSION)).await.unwrap();
    let session = compilers.session(compiler, CpuBudget::new(Duration::from_millis(1_500)));
    session.compile(input("contract A {}")).await.unwrap();
    let error = session.compile(input(&doubling(30))).await.unwrap_err();
    assert!(matches!(error, CompileError::BudgetExhausted { .. }), "{error}");
    assert!(session.is_exhausted());
    let error = session.compile(input("contract A {}")).await.unwrap_err();
    assert!(matches!(error, CompileError::BudgetExhausted { .. }), "{error}");
}

/// Takes an SMT solver more than a minute.
const SMT: &str = "contract C{function f(uint a,uint b,uint c,uint d)public pure{require(a>1&&b>1&&c>1&&d>1&&a<2000000&&b<2000000&&c<2000000&&d<2000000);assert(a*a*a+b*b*b!=c*c*c);assert(a*b*c*d!=12345678901);uint x=a;for(uint i=0;i<b;i++){x=x*c+d;}assert(x!=777777);}}";

fn input_with(source: &str, settings: Value) -> String {
    let mut settings = settings;
    settings["outputSelection"] = json!({ "*": { "*": ["abi", "metadata"] } });
    json!({ "language": "Solidity", "sources": { "a.sol": { "content": source } }, "settings": settings }).to_string()
}

#[tokio::test]
async fn the_model_checker_is_disabled_without_changing_the_metadata() {
    let (compilers, _folder) = compilers(|config| config.time_limit = Duration::from_secs(60));
    for name in ["0.8.20", "0.8.37"] {
        let compiler = compilers.get(&version(name)).await.unwrap();
        let release = compiler.version.release();
        let mut settings = serde_json::Map::new();
        settings.insert("modelChecker".to_owned(), json!({ "engine": "all" }));
        model_checker::disable(&mut settings, release);
        let source = format!("pragma experimental SMTChecker;{SMT}");
        let session = compilers.session(Arc::clone(&compiler), CpuBudget::new(Duration::from_secs(30)));
        let output = session.compile(input_with(&source, settings.clone().into())).await;
        assert!(output.is_ok_and(|output| output.contains("metadata")), "{name}");

        let harmless = "pragma experimental SMTChecker; contract A { uint public x; }";
        let metadata = async |settings: Value| {
            let output = session.compile(input_with(harmless, settings)).await.unwrap();
            let output: Value = serde_json::from_str(&output).unwrap();
            output["contracts"]["a.sol"]["A"]["metadata"].as_str().unwrap().to_owned()
        };
        assert_eq!(metadata(settings.into()).await, metadata(json!({})).await, "{name}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_compilation_that_exceeds_the_memory_limit_is_killed() {
    let (compilers, _folder) = compilers(|config| {
        config.memory_limit = 256 << 20;
        config.time_limit = Duration::from_secs(120);
    });
    let compiler = compilers.get(&version(VERSION)).await.unwrap();
    compiles(&compilers, &compiler).await;
    let error = compile(&compilers, &compiler, input(&nesting(20))).await.unwrap_err();
    assert!(matches!(error, CompileError::OutOfMemory { .. }), "{error}");
}

#[tokio::test]
async fn no_file_is_read_for_an_import() {
    let (compilers, _folder) = compilers(|_| {});
    for name in ["0.4.26", VERSION] {
        let compiler = compilers.get(&version(name)).await.unwrap();
        let output = compile(&compilers, &compiler, input("import \"/etc/passwd\"; contract A {}")).await.unwrap();
        assert!(output.contains("File not supplied initially") && !output.contains("root:"), "{output}");
    }
}

#[tokio::test]
async fn a_mislabelled_compiler_is_rejected() {
    let (compilers, folder) = compilers(|config| config.source = CompilerSource::Offline);
    std::fs::copy(packages().join("solc-0.8.20/soljson.js"), folder.path().join("soljson-v0.8.19.js")).unwrap();
    for _ in 0..2 {
        let error = compilers.get(&version("0.8.19")).await.unwrap_err();
        assert!(matches!(error, CompilersError::Version(VersionError::Unknown { .. })), "{error}");
    }
    let error = compilers.get(&version("0.8.21")).await.unwrap_err();
    assert!(error.to_string().contains("the nearest are 0.8.20"), "listed by its real version: {error}");
}

/// A stand-in for npm that logs its arguments and fails.
fn failing_npm(folder: &Path) -> PathBuf {
    let path = folder.join("npm");
    let script = format!("#!/bin/sh\necho \"$@\" >> {}/calls\nexit 1\n", folder.display());
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    path
}

fn calls(folder: &Path) -> Vec<String> {
    let calls = std::fs::read_to_string(folder.join("calls")).unwrap_or_default();
    calls.lines().map(str::to_owned).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn an_unknown_commit_is_rejected_before_anything_is_downloaded() {
    let scripts = tempfile::tempdir().unwrap();
    let npm = failing_npm(scripts.path());
    let (compilers, folder) = compilers(|config| {
        config.source = CompilerSource::Npm;
        config.npm = npm;
    });
    for number in 1..=5 {
        let error = compilers.get(&version(&format!("0.8.26+commit.0000000{number}"))).await.unwrap_err();
        let expected = "does not exist with this commit: 0.8.26 is 0.8.26+commit.8a97fa7a";
        assert_eq!(error.to_string(), expected);
    }
    assert_eq!(calls(scripts.path()), Vec::<String>::new());
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

#[tokio::test]
async fn a_release_missing_in_the_registry_is_reported_without_a_download() {
    let scripts = tempfile::tempdir().unwrap();
    let npm = failing_npm(scripts.path());
    let (compilers, _folder) = compilers(|config| {
        config.source = CompilerSource::Npm;
        config.npm = npm;
    });
    for (name, why) in [("0.8.1", "holds 0.8.0"), ("0.8.1+commit.df193b15", "holds 0.8.0"), ("0.4.12", "no package")] {
        let error = compilers.get(&version(name)).await.unwrap_err();
        assert!(matches!(error, CompilersError::Version(VersionError::Unavailable { .. })), "{error}");
        assert!(error.to_string().contains(why) && error.to_string().contains("--compiler-source"), "{error}");
    }
    assert_eq!(calls(scripts.path()), Vec::<String>::new());
}

#[tokio::test]
async fn a_failed_download_leaves_no_files_and_is_not_retried_for_every_request() {
    let scripts = tempfile::tempdir().unwrap();
    let npm = failing_npm(scripts.path());
    let (compilers, folder) = compilers(|config| {
        config.source = CompilerSource::Npm;
        config.npm = npm;
    });
    for _ in 0..5 {
        let error = compilers.get(&version("0.8.26")).await.unwrap_err();
        assert!(matches!(error, CompilersError::FetchFailed(_)), "{error}");
    }
    assert_eq!(calls(scripts.path()).len(), 1);
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

#[tokio::test]
async fn concurrent_requests_share_one_npm_download_that_is_checked() {
    let scripts = tempfile::tempdir().unwrap();
    // The real npm, with its arguments logged.
    let npm = failing_npm(scripts.path());
    let script = std::fs::read_to_string(&npm).unwrap().replace("exit 1", "exec npm \"$@\"");
    std::fs::write(&npm, script).unwrap();
    let (compilers, folder) = compilers(|config| {
        config.source = CompilerSource::Npm;
        config.npm = npm;
    });
    let (bare, full) = (version("0.8.20"), version(VERSION));
    let (one, two, three) = tokio::join!(compilers.get(&bare), compilers.get(&full), compilers.get(&bare));
    let compiler = one.unwrap();
    assert!(Arc::ptr_eq(&compiler, &two.unwrap()) && Arc::ptr_eq(&compiler, &three.unwrap()));
    assert_eq!(calls(scripts.path()).len(), 1, "{:?}", calls(scripts.path()));
    compiles(&compilers, &compiler).await;
    let name = format!("soljson-v{VERSION}.js");
    assert_eq!(names(folder.path()), [name.clone(), format!("{name}.sha256")], "nothing else is left behind");
    let checksum = std::fs::read_to_string(folder.path().join(format!("{name}.sha256"))).unwrap();
    assert_eq!(checksum, checksum::sha256(&std::fs::read(folder.path().join(name)).unwrap()));
    let available = compilers.available().await.unwrap();
    let fetched: Vec<_> = available.iter().filter(|one| one.fetched).map(|one| one.version.to_string()).collect();
    assert_eq!(fetched, [VERSION]);
    assert!(available.len() >= 90 && available.is_sorted_by(|one, next| one.version > next.version));
}

#[tokio::test]
async fn the_least_recently_used_compiler_is_evicted_unless_it_is_in_use() {
    let soljson = |release: &str| std::fs::read(packages().join(format!("solc-{release}/soljson.js"))).unwrap();
    let releases = [("0.8.20", VERSION), ("0.6.12", "0.6.12+commit.27d51765"), ("0.5.16", "0.5.16+commit.9c3226ce")];
    let mut files = Vec::new();
    let mut builds = Vec::new();
    for (release, long) in releases {
        let (name, content) = (format!("soljson-v{long}.js"), soljson(release));
        builds.push(json!({ "path": name, "longVersion": long, "keccak256": checksum::keccak(&content), "sha256": checksum::sha256(&content) }));
        files.push((name, content));
    }
    let room: usize = files.iter().map(|(_, content)| content.len()).sum();
    files.push(("list.json".to_owned(), json!({ "builds": builds }).to_string().into_bytes()));
    let address = serve(files).await;
    let (compilers, folder) = compilers(|config| {
        config.source = CompilerSource::List(address);
        config.folder_bytes = room as u64 - 1;
    });
    let in_use = compilers.get(&version("0.8.20")).await.unwrap();
    drop(compilers.get(&version("0.6.12")).await.unwrap());
    drop(compilers.get(&version("0.5.16")).await.unwrap());
    let there = |long: &str| folder.path().join(format!("soljson-v{long}.js")).is_file();
    assert!(there(releases[0].1) && !there(releases[1].1) && there(releases[2].1), "{:?}", names(folder.path()));
    assert_eq!(names(folder.path()).len(), 4, "{:?}", names(folder.path()));
    compiles(&compilers, &in_use).await;
    // An evicted compiler is downloaded again.
    drop(in_use);
    let again = compilers.get(&version("0.6.12")).await.unwrap();
    compiles(&compilers, &again).await;
}

/// Serves files over HTTP on the loopback.
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

/// A script with the command line of a native build, which npm does not provide: it runs the JavaScript build.
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
async fn native_builds_of_a_list_are_checked_and_run() {
    let native = native_build();
    let name = "solc-linux-amd64-v0.8.20+commit.a1b79de6";
    let address = serve(list(name, &native, &native)).await;
    // Node.js, which does the work, reserves far more address space than it uses.
    let (compilers, folder) = compilers(|config| {
        config.source = CompilerSource::List(address);
        config.memory_limit = 1 << 44;
    });
    let compiler = compilers.get(&version("v0.8.20")).await.unwrap();
    assert_eq!(compiler.program, CompilerFile::Native(folder.path().join(format!("solc-v{VERSION}"))));
    compiles(&compilers, &compiler).await;
    let error = compilers.get(&version("0.8.21")).await.unwrap_err();
    assert!(error.to_string().contains("the nearest are 0.8.20"), "{error}");

    let address = serve(list(name, b"something else", &native)).await;
    let (compilers, folder) = self::compilers(|config| config.source = CompilerSource::List(address));
    let error = compilers.get(&version(VERSION)).await.unwrap_err();
    assert!(matches!(error, CompilersError::Checksum { .. }), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "and nothing of it is stored");
}

#[tokio::test]
async fn a_missing_program_is_named_in_the_error() {
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

fn vyper_environments() -> PathBuf {
    let folder = std::env::var_os("EXPLORER_TEST_VYPER");
    folder.expect("this test needs Vyper: run ./test, which gets it, or set EXPLORER_TEST_VYPER").into()
}

fn vyper_input(source: &str) -> String {
    json!({ "language": "Vyper", "sources": { "a.vy": { "content": source } },
            "settings": { "outputSelection": { "a.vy": ["abi"] } } })
    .to_string()
}

#[tokio::test]
async fn a_vyper_package_compiles_within_its_limits_and_leaves_nothing() {
    let (compilers, folder) = compilers(|config| {
        config.source = CompilerSource::Folder(vyper_environments());
        config.time_limit = Duration::from_secs(3);
    });
    let compiler = compilers.get(&version("vyper:0.4.3")).await.unwrap();
    assert_eq!(compiler.version.to_string(), "vyper:0.4.3+commit.bff19ea2");
    let session = session(&compilers, &compiler);
    let output = session.compile(vyper_input("x: public(uint256)\n")).await.unwrap();
    let output: Value = serde_json::from_str(&output).unwrap();
    assert_eq!(output["contracts"]["a.vy"]["a"]["abi"][0]["name"], "x", "{output}");
    // Structs that contain the previous one twice.
    let mut endless = "struct S0:\n    a: uint256\n".to_owned();
    for step in 1..40 {
        let last = step - 1;
        endless += &format!("struct S{step}:\n    a: S{last}\n    b: S{last}\n");
    }
    endless += "@external\ndef f(x: S39):\n    pass\n";
    let error = session.compile(vyper_input(&endless)).await.unwrap_err();
    assert!(matches!(error, CompileError::TimedOut { .. }), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let missing = compilers.get(&version("vyper:0.2.1")).await.unwrap_err();
    assert!(matches!(missing, CompilersError::Version(VersionError::NotInstalled { .. })), "{missing}");
}

#[tokio::test]
async fn a_vyper_package_that_does_not_run_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let python = folder.path().join("vyper-0.4.0/bin/python");
    std::fs::create_dir_all(python.parent().unwrap()).unwrap();
    std::fs::write(&python, "#!/bin/sh\nexit 1\n").unwrap();
    std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o755)).unwrap();
    let (compilers, _folder) = compilers(|config| config.source = CompilerSource::Folder(folder.path().to_owned()));
    let error = compilers.get(&version("vyper:0.4.0")).await.unwrap_err();
    assert!(matches!(error, CompilersError::Missing(_)) && error.to_string().contains("vyper-0.4.0"), "{error}");
    let listed = compilers.available().await.unwrap();
    assert_eq!(listed, [AvailableCompiler { version: version("vyper:0.4.0"), fetched: true }]);
}
