//! `explorer records`: files of records, from a data folder to a database and back.

use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt, path::Path};

use store_conformance::leave_records;
use store_embedded::{EmbeddedStore, StoreOptions};

use crate::{postgres::server::Server, support::run_explorer};

async fn records(arguments: &[&str]) -> (bool, String) {
    run_explorer(&[&["records"], arguments].concat()).await
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The lines of a file without the first one, which has an id. What was due at an export may have been sent.
fn lines(path: &Path) -> Vec<String> {
    let content = fs::read_to_string(path).unwrap();
    content.lines().skip(1).map(|line| line.replace("\"maybeReceived\":true", "\"maybeReceived\":false")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn record_files_carry_everything_to_a_database_and_back() {
    let server = Server::shared();
    let database = server.database().await;
    let folder = tempfile::tempdir().unwrap();
    let [source, back, first, second, third] =
        ["source", "back", "first.ndjson", "second.ndjson", "third.ndjson"].map(|name| folder.path().join(name));
    {
        let store = EmbeddedStore::open(&source, StoreOptions::default()).unwrap();
        leave_records(&store).await;
    }
    let (succeeded, message) = records(&["export", text(&first), "--data", text(&source)]).await;
    assert!(succeeded, "{message}");
    assert_eq!(fs::metadata(&first).unwrap().permissions().mode() & 0o777, 0o600);
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for line in lines(&first) {
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        let record = line["record"].as_object().map_or("end", |record| record.keys().next().unwrap());
        *kinds.entry(record.to_owned()).or_default() += 1;
    }
    assert_eq!(kinds.len(), 15, "each kind, and the end: {kinds:?}");
    let (succeeded, message) = records(&["export", text(&first), "--data", text(&source)]).await;
    assert!(!succeeded && message.contains("new file"), "{message}");

    for _ in 0..2 {
        let (succeeded, message) = records(&["import", text(&first), "--database", &database]).await;
        assert!(succeeded, "{message}");
    }
    let (succeeded, message) = records(&["export", text(&second), "--database", &database]).await;
    assert!(succeeded, "{message}");
    assert_eq!(lines(&first), lines(&second));
    let (succeeded, message) = records(&["import", text(&second), "--data", text(&back)]).await;
    assert!(succeeded && message.contains("Imported all"), "{message}");
    let (succeeded, message) = records(&["export", text(&third), "--data", text(&back)]).await;
    assert!(succeeded, "{message}");
    assert_eq!(lines(&first), lines(&third));
}

#[tokio::test(flavor = "multi_thread")]
async fn record_files_that_are_damaged_or_do_not_fit_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let [source, target, file, bad] = ["source", "target", "file", "bad"].map(|name| folder.path().join(name));
    {
        let store = EmbeddedStore::open(&source, StoreOptions::default()).unwrap();
        leave_records(&store).await;
    }
    let (succeeded, message) = records(&["export", text(&file), "--data", text(&source)]).await;
    assert!(succeeded, "{message}");
    let (succeeded, message) = records(&["import", text(&file), "--data", text(&source)]).await;
    assert!(!succeeded && message.contains("of its own"), "{message}");

    let content = fs::read_to_string(&file).unwrap();
    let whole: Vec<&str> = content.lines().collect();
    let refused = async |lines: Vec<&str>, words: &str| {
        fs::write(&bad, lines.join("\n")).unwrap();
        let (succeeded, message) = records(&["import", text(&bad), "--data", text(&target)]).await;
        assert!(!succeeded && message.contains(words), "{words}: {message}");
    };
    refused(whole[1..].to_vec(), "line 1: this is not a file of records").await;
    refused(whole[..whole.len() - 1].to_vec(), "was cut short").await;
    refused([&whole[..5], &["{\"record\":{\"apiKey\":{}}}"], &whole[5..]].concat(), "line 6: missing field").await;
    refused([&whole[..5], &whole[6..]].concat(), "records, but should have").await;
    // The same file, whole, completes what those began.
    let (succeeded, message) = records(&["import", text(&file), "--data", text(&target)]).await;
    assert!(succeeded && message.contains("Imported all"), "{message}");
}
