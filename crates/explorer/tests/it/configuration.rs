//! Flags override the environment, the environment overrides the file.

use std::{fs, path::Path};

use repository::options::{assert_same, in_document, in_help, paragraphs};
use tempfile::TempDir;

use crate::support::{DevNode, Launch, client::Client, explorer_command, fixture::lower_hex};

/// A labels file with this name for the address.
fn labels(folder: &TempDir, address: &str, name: &str) -> String {
    let path = folder.path().join(name);
    fs::write(&path, format!("{address},{name}\n")).unwrap();
    path.display().to_string()
}

async fn label(launch: Launch, node: &DevNode, address: &str) -> String {
    let explorer = launch.start().await;
    node.wait_for(&explorer).await;
    let detail = explorer.json(&format!("/api/v1/addresses/{address}")).await;
    detail["label"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn flags_override_the_environment_and_the_environment_overrides_the_file() {
    let node = DevNode::start().await;
    node.chain.mine(None);
    let address = lower_hex(node.chain.block(1).unwrap().header.beneficiary);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.toml");
    let in_file = labels(&folder, &address, "file");
    let text = format!("rpc = ['{}']\nlisten = '127.0.0.1:0'\nlabels = '{in_file}'\n", node.url());
    fs::write(&file, text).unwrap();
    let (variable, flag) = (labels(&folder, &address, "environment"), labels(&folder, &address, "flag"));

    let launch = || Launch::bare(["run"]).argument("--config", file.display());
    assert_eq!(label(launch(), &node, &address).await, "file");
    let launch = || launch().variable("EXPLORER_LABELS", &variable);
    assert_eq!(label(launch(), &node, &address).await, "environment");
    assert_eq!(label(launch().argument("--labels", &flag), &node, &address).await, "flag");
}

#[tokio::test]
async fn the_file_in_the_users_configuration_folder_is_read() {
    let node = DevNode::start().await;
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("explorer")).unwrap();
    let text = format!("rpc = '{}'\nlisten = '127.0.0.1:0'\n", node.url());
    fs::write(home.path().join("explorer/config.toml"), text).unwrap();
    let explorer = Launch::bare(["run"]).variable("XDG_CONFIG_HOME", home.path().display()).start().await;
    node.wait_for(&explorer).await;
}

#[tokio::test]
async fn a_start_says_where_everything_is_and_who_may_see_what() {
    let node = DevNode::start().await;
    let mut process = Launch::run(&node.url()).spawn();
    process.printed("  Hooks").await;
    let said = process.stdout();
    for line in ["  Pages", "  API", "  Limits", "  Owners", "  Hooks"] {
        assert!(said.lines().any(|said| said.starts_with(line)), "{line}: {said}");
    }
    assert!(said.contains("on a dev chain") && said.contains("--webhook-allow-insecure"), "{said}");
    let urls: Vec<&str> = said.split([' ', ',', '\n']).filter(|word| word.starts_with("http://")).collect();
    assert_eq!(urls.len(), 5, "{said}");
    for url in urls {
        assert_eq!(Client::new(url).get("").await.status, 200, "{url}");
    }
}

async fn startup_error(launch: Launch) -> String {
    let (status, message) = launch.fails_to_start().await;
    assert_eq!(status.code(), Some(1), "{message}");
    message
}

#[tokio::test]
async fn configuration_errors_are_reported_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let node = "http://127.0.0.1:1";
    assert!(startup_error(Launch::bare(["run"])).await.contains("--rpc"));
    let misspelt = Launch::run(node).argument("--config", write("config.toml", "lisen = '127.0.0.1:0'"));
    assert!(startup_error(misspelt).await.contains("lisen"));
    let misspelt = Launch::run(node).argument("--config", write("config.toml", "[looks]\nchainname = 'A'"));
    assert!(startup_error(misspelt).await.contains("`chain-name`"));
    for (text, reasons) in [
        ("rpc = 'http://127.0.0.1:1'\nlisten = '127.0.0.1:0", ["line 2", "listen"]),
        ("memory = 'much'", ["line 1", "memory"]),
        ("trusted-proxy = 7", ["line 1", "trusted-proxy"]),
        ("listen = 'here'", ["line 1", "listen"]),
        ("webhook-allow-insecure = 'yes'", ["line 1", "webhook-allow-insecure"]),
        ("listen = '127.0.0.1:0'\nlisten = '127.0.0.1:1'", ["line 2", "listen"]),
    ] {
        let message = startup_error(Launch::run(node).argument("--config", write("config.toml", text))).await;
        let reasons = [&["config.toml"], &reasons[..]].concat();
        assert!(reasons.iter().all(|reason| message.contains(reason)), "{reasons:?}: {message}");
    }
    let latin = folder.path().join("latin.toml");
    fs::write(&latin, b"chain-name = 'K\xf6ln'\n").unwrap();
    for option in ["--config", "--labels"] {
        let message = startup_error(Launch::run(node).argument(option, latin.display())).await;
        assert!(message.contains("latin.toml") && message.contains("UTF-8"), "{option}: {message}");
    }
    let absent = Launch::run(node).argument("--config", folder.path().join("absent").display());
    assert!(startup_error(absent).await.contains("absent"));
    let bad_labels = Launch::run(node).argument("--labels", write("labels", "0x12,short\n"));
    assert!(startup_error(bad_labels).await.contains("line 1"));
    assert!(startup_error(Launch::run(node).argument("--log", "no=such=filter")).await.contains("log filter"));
    for option in ["--rpc-timeout", "--webhook-pending"] {
        assert!(startup_error(Launch::run(node).argument(option, 0)).await.contains(option));
    }
}

#[tokio::test]
async fn an_address_in_use_is_reported_with_what_to_do() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let data = tempfile::tempdir().unwrap();
    let data = data.path().display().to_string();
    let launch = Launch::bare(["run", "--rpc", "http://127.0.0.1:1", "--listen", &address, "--data", &data]);
    let message = startup_error(launch).await;
    assert!(message.contains(&address) && message.contains("--listen"), "{message}");
}

fn help(arguments: &[&str]) -> String {
    let output = explorer_command().args(arguments).env("COLUMNS", "100").output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn help_matches_its_snapshots() {
    insta::with_settings!({ prepend_module_to_snapshot => false, snapshot_path => Path::new("snapshots") }, {
        insta::assert_snapshot!("help", help(&["--help"]));
        insta::assert_snapshot!("help-run-short", help(&["run", "-h"]));
        insta::assert_snapshot!("help-reindex", help(&["reindex", "--help"]));
        insta::assert_snapshot!("help-demo", help(&["demo", "--help"]));
    });
}

#[test]
fn the_configuration_describes_every_option_with_its_values_default_and_variable() {
    let help = help(&["run", "--help"]);
    let document = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md")).unwrap();
    assert_same(in_document(&document), in_help(&help), "docs/configuration.md");
    let options = paragraphs(&help);
    assert!(options.len() > 30, "{} options", options.len());
    for (name, (_, text)) in options {
        let variable = format!("EXPLORER_{}", name.trim_start_matches("--").replace('-', "_").to_uppercase());
        assert!(text.contains(&format!("[env: {variable}")), "{name} is not set by {variable}");
    }
}

#[test]
fn the_version_is_printed() {
    assert_eq!(help(&["--version"]), format!("explorer {}\n", env!("CARGO_PKG_VERSION")));
}
