//! The documentation of the metrics, the dashboard and the alert rules name metrics that exist.

use std::{
    collections::BTreeSet,
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::json;

use super::metrics;
use crate::support::{DevNode, TestExplorer, admin::Metrics};

fn root() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).to_owned()
}

async fn served() -> Metrics {
    let (node, _) = DevNode::with_traffic(30).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    for path in ["/", "/api/v1/stats", "/nowhere"] {
        explorer.get(path).await;
    }
    metrics(&explorer).await
}

/// Runs promtool, which `./test` gets.
fn promtool(arguments: &[&str], input: &str) {
    let program = std::env::var("PROMTOOL_BIN").unwrap_or_else(|_| "promtool".to_owned());
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn();
    let mut child = child.expect("this test needs promtool: run ./test, which gets it, or set PROMTOOL_BIN");
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let printed = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success(), "promtool {arguments:?}: {printed}");
}

#[tokio::test]
async fn the_metrics_pass_the_checks_of_prometheus_and_are_documented() {
    let served = served().await;
    promtool(&["check", "metrics"], &served.text);

    let described: BTreeSet<String> = served.text.lines().filter_map(described).collect();
    let text = fs::read_to_string(root().join("docs/metrics.md")).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| `explorer_") || line.starts_with("| `process_"));
    let documented: BTreeSet<String> = rows.map(documented).collect();
    let missing: Vec<_> = described.difference(&documented).collect();
    let unknown: Vec<_> = documented.difference(&described).collect();
    assert!(
        missing.is_empty() && unknown.is_empty(),
        "missing in docs/metrics.md: {missing:#?}\nunknown: {unknown:#?}"
    );
    for (name, kind) in served.names() {
        let row = text.lines().find(|line| line.starts_with(&format!("| `{name}` "))).unwrap();
        assert_eq!(row.split('|').nth(2).map(str::trim), Some(kind), "{row}");
    }
}

/// Name and description of a line of help.
fn described(line: &str) -> Option<String> {
    let (name, help) = line.strip_prefix("# HELP ")?.split_once(' ')?;
    Some(format!("{name}: {help}"))
}

/// Name and description of a row: `| name | kind | labels | description |`.
fn documented(row: &str) -> String {
    let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
    let [name, _, _, help] = cells[..] else { panic!("not four cells: {row}") };
    format!("{}: {}", name.trim_matches('`'), help.trim_end_matches(" |"))
}

/// The metrics that a text names.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|character: char| !character.is_ascii_alphanumeric() && character != '_');
    let is_metric = |word: &&str| word.starts_with("explorer_") || word.starts_with("process_");
    words.filter(is_metric).map(str::to_owned).collect()
}

#[tokio::test]
async fn the_dashboard_and_the_alerts_use_metrics_that_exist() {
    let series = served().await.series();
    for file in ["deploy/grafana/explorer.json", "deploy/prometheus/alerts.yml"] {
        let text = fs::read_to_string(root().join(file)).unwrap();
        let named = named(&text);
        assert!(named.len() >= 10, "{file} names only {named:?}");
        let unknown: Vec<_> = named.difference(&series).collect();
        assert!(unknown.is_empty(), "{file} names {unknown:?}");
    }
    let alerts = root().join("deploy/prometheus/alerts.yml");
    promtool(&["check", "rules", alerts.to_str().unwrap()], "");
    promtool(&["test", "rules", root().join("deploy/prometheus/alerts_test.yml").to_str().unwrap()], "");
    let config = root().join("deploy/prometheus/prometheus.yml");
    promtool(&["check", "config", "--syntax-only", config.to_str().unwrap()], "");
    let dashboard = fs::read_to_string(root().join("deploy/grafana/explorer.json")).unwrap();
    let dashboard: serde_json::Value = serde_json::from_str(&dashboard).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<u64> = panels.iter().filter_map(|panel| panel["id"].as_u64()).collect();
    assert_eq!(ids.len(), panels.len(), "panels have different ids");
    let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    let queries = targets.map(|target| target["expr"].as_str().unwrap().replace("$instance", ".*"));
    let rules =
        queries.enumerate().map(|(number, query)| json!({ "record": format!("query:{number}"), "expr": query }));
    let rules = json!({ "groups": [{ "name": "dashboard", "rules": rules.collect::<Vec<_>>() }] });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rules.yml");
    fs::write(&file, rules.to_string()).unwrap();
    promtool(&["check", "rules", file.to_str().unwrap()], "");
}
