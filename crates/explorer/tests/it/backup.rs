//! `explorer snapshot` and `explorer restore`.

mod archives;
pub(crate) mod running;

use std::path::Path;

use crate::support::{DevNode, TestExplorer, expected_state, key_request::KeyRequest, read_api, run_explorer};

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restored_snapshot_answers_like_the_folder_it_was_taken_from() {
    let (node, _) = DevNode::with_traffic(120).await;
    let running = TestExplorer::start(&node.url()).await;
    node.wait_for(&running).await;
    let key = KeyRequest::by(&node.chain.accounts()[0]).key(running.client()).await;
    let folder = tempfile::tempdir().unwrap();
    let (snapshot, restored) = (folder.path().join("snapshot"), folder.path().join("restored"));
    let data = text(running.data().path()).to_owned();
    let elsewhere = text(&folder.path().join("other.sock")).to_owned();
    let (succeeded, message) =
        run_explorer(&["snapshot", "--data", &data, "--admin-socket", &elsewhere, text(&snapshot)]).await;
    assert!(!succeeded && message.contains("an explorer has") && message.contains("--admin-socket"), "{message}");
    let (_, kept) = running.stop().await;

    let (succeeded, message) = run_explorer(&["snapshot", "--data", &data, text(&snapshot)]).await;
    assert!(succeeded && message.contains("Snapshot of"), "{message}");
    assert!(kept.path().join("webhook-secrets.key").exists() == snapshot.join("webhook-secrets.key").exists());
    let (succeeded, message) = run_explorer(&["snapshot", "--data", &data, text(&snapshot)]).await;
    assert!(!succeeded && message.contains("not empty"), "{message}");
    let (succeeded, message) = run_explorer(&["restore", text(&snapshot), "--data", &data]).await;
    assert!(!succeeded && message.contains("empty folder"), "{message}");
    let (succeeded, message) = run_explorer(&["restore", text(folder.path()), "--data", text(&restored)]).await;
    assert!(!succeeded && message.contains("not a snapshot"), "{message}");

    // The original goes on, and changes nothing in the snapshot.
    node.chain.mine(None);
    let original = TestExplorer::start_on(&node.url(), &kept).await;
    node.wait_for(&original).await;
    original.stop().await;
    let (succeeded, message) = run_explorer(&["restore", text(&snapshot), "--data", text(&restored)]).await;
    assert!(succeeded && message.contains("Next: explorer run"), "{message}");
    let running = TestExplorer::start_on(&node.url(), restored.as_path()).await;
    node.wait_for(&running).await;
    let expected = expected_state(&node.rpc, 0, []).await;
    read_api(&running, expected.address_names()).await.assert_equals(&expected, "restored");
    let client = running.client();
    let answer = client.send(client.request("GET", "/api/v1/stats").header("X-API-Key", &key)).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
}
