//! `explorer run --bootstrap`: an explorer that begins with a snapshot.

mod host;

use std::{
    fs,
    path::{Path, PathBuf},
};

use devchain::{DevChainConfig, ReorgedTransactions};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use self::host::{Host, Serving};
use crate::{
    backup::{running::Busy, text},
    support::{
        DevNode, Launch, TestExplorer, eventually, expected_state,
        fixture::lower_hex,
        process::Signal,
        read_api, run_explorer,
        tampering_proxy::{BlockPart, TamperingProxy},
    },
    webhooks,
};

/// Publishes the index of a running explorer.
async fn publish(explorer_running: &TestExplorer, file: &Path, options: &[&str]) -> Vec<u8> {
    let data = explorer_running.data().path();
    let arguments = [&["snapshot", "--data", text(data), text(file)][..], options].concat();
    let (succeeded, message) = run_explorer(&arguments).await;
    assert!(succeeded, "{message}");
    fs::read(file).unwrap()
}

/// A chain, and the published file with its index.
async fn published() -> (DevNode, Vec<u8>, PathBuf, TempDir) {
    let (node, _) = DevNode::with_traffic(120).await;
    let running = TestExplorer::start(&node.url()).await;
    node.wait_for(&running).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("chain.tar");
    let bytes = publish(&running, &file, &["--index-only"]).await;
    running.stop().await;
    (node, bytes, file, folder)
}

/// A position inside the largest file of the archive. Between files is padding, which no checksum has to cover.
fn inside_a_file(archive: &[u8]) -> usize {
    let mut archive = tar::Archive::new(archive);
    let files = archive.entries().unwrap().map(|entry| entry.unwrap());
    let (length, start) = files.map(|file| (file.size(), file.raw_file_position())).max().unwrap();
    usize::try_from(start + length / 2).unwrap()
}

async fn assert_equals_node(explorer: &TestExplorer, node: &DevNode) {
    node.wait_for(explorer).await;
    let expected = expected_state(&node.rpc, 0, []).await;
    read_api(explorer, expected.address_names()).await.assert_equals(&expected, "bootstrapped");
}

async fn refused(launch: Launch, data: &Path, words: &str) {
    let (status, message) = launch.on(data).fails_to_start().await;
    assert!(status.code() == Some(1) && message.contains(words), "{words}: {message}");
    let left: Vec<_> = fs::read_dir(data).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| name == "lock"), "{words}: {left:?}");
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_published_index_has_no_trace_of_users_and_nobody_takes_over_records() {
    let busy = Busy::start().await;
    busy.pay();
    let folder = tempfile::tempdir().unwrap();
    let owner = lower_hex(busy.node.account(1));
    let hook = busy.hook.listed(&busy.explorer, &owner).await;
    let url = hook["url"].as_str().unwrap().to_owned();
    let digest: [u8; 32] = Sha256::digest(busy.key.as_bytes()).into();
    eventually("a message", async || (!busy.hook.deliveries(&busy.explorer).await.is_empty()).then_some(())).await;
    let everything = publish(&busy.explorer, &folder.path().join("everything.tar"), &[]).await;
    let index = publish(&busy.explorer, &folder.path().join("index.tar"), &["--index-only"]).await;
    let secrets = [url.as_bytes(), &digest[..8], &busy.key.as_bytes()[..12], b"webhook-secrets.key"];
    for secret in secrets {
        assert!(contains(&everything, secret), "{}", String::from_utf8_lossy(secret));
        assert!(!contains(&index, secret), "{}", String::from_utf8_lossy(secret));
    }
    let deleted = webhooks::send(busy.explorer.client(), "DELETE", &busy.hook.path(""), None).await;
    assert!(deleted.status < 300, "{}", deleted.text);
    let index = publish(&busy.explorer, &folder.path().join("after.tar"), &["--index-only"]).await;
    for secret in secrets {
        assert!(!contains(&index, secret), "a deleted row: {}", String::from_utf8_lossy(secret));
    }

    // Also if somebody publishes everything by accident.
    for name in ["index.tar", "everything.tar"] {
        let file = folder.path().join(name);
        let new = webhooks::launch(&busy.node.url()).argument("--bootstrap", text(&file)).start().await;
        assert!(new.log().contains("agrees with the node"), "{}", new.log());
        assert_eq!(new.log().contains("records of its publisher"), name == "everything.tar");
        assert_equals_node(&new, &busy.node).await;
        let client = new.client();
        let answer = client.send(client.request("GET", "/api/v1/stats").header("X-API-Key", &busy.key)).await;
        assert_eq!(answer.status, 401, "{}", answer.text);
        assert_eq!(new.json(&format!("/api/v1/webhooks?owner={owner}")).await["webhooks"], json!([]));
        let kept = |name: &str| fs::read(new.data().path().join(name)).ok();
        assert_ne!(kept("webhook-secrets.key"), fs::read(busy.data().join("webhook-secrets.key")).ok());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_explorer_that_begins_with_a_snapshot_answers_like_one_that_indexed_all() {
    let (node, bytes, file, _folder) = published().await;
    let host = Host::start(bytes.clone(), Serving::Cut).await;
    let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02X}")).collect();
    node.chain.mine(None);
    let launch = || Launch::run(&node.url()).argument("--bootstrap", format!("{}#sha256={digest}", host.url()));
    let new = launch().start().await;
    assert!(new.log().contains("blocks_compared"), "{}", new.log());
    let positions = host.positions();
    assert!(positions.len() >= 3 && positions.is_sorted() && positions[1] > 0, "resumed: {positions:?}");
    assert_equals_node(&new, &node).await;

    // Reorgs below the tip of the snapshot are reverted like any.
    node.chain.reorg(3, 4, ReorgedTransactions::Drop).unwrap();
    assert_equals_node(&new, &node).await;
    let (_, data) = new.stop().await;
    let again = launch().on(&data).start().await;
    assert!(again.log().contains("--bootstrap is ignored"), "{}", again.log());
    assert_equals_node(&again, &node).await;
    assert_eq!(host.positions(), positions, "nothing was fetched");

    let reorged = Launch::run(&node.url()).argument("--bootstrap", text(&file)).start().await;
    assert!(reorged.log().contains("were orphaned"), "{}", reorged.log());
    assert_equals_node(&reorged, &node).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn downloads_that_fail_leave_a_folder_that_the_next_start_fills() {
    let (node, bytes, file, folder) = published().await;
    let data = folder.path().join("data");
    let host = Host::start(bytes.clone(), Serving::CutWithoutRanges).await;
    let launch = |url: &str| Launch::run(&node.url()).argument("--bootstrap", url);
    refused(launch(&host.url()), &data, "cannot resume").await;
    host.set(Serving::Missing);
    refused(launch(&host.url()), &data, "404").await;
    let mut altered = bytes.clone();
    altered[inside_a_file(&bytes)] ^= 1;
    let altered = Host::start(altered, Serving::Whole).await;
    refused(launch(&altered.url()), &data, "altered").await;
    let other_digest = format!("{}#sha256={}", text(&file), "ab".repeat(32));
    refused(launch(&other_digest), &data, "and not that of --bootstrap").await;
    refused(launch("http://192.0.2.1/chain.tar"), &data, "anybody on the way").await;
    refused(launch(text(&folder.path().join("absent.tar"))), &data, "absent.tar").await;

    // Killed, and stopped, in the middle.
    host.set(Serving::Stalled);
    for is_stopped in [false, true] {
        let asked = host.positions().len();
        let mut process = launch(&host.url()).on(data.as_path()).spawn();
        eventually("the download", async || (host.positions().len() > asked).then_some(())).await;
        eventually("the first files", async || data.join("restore.tmp/received/index").exists().then_some(())).await;
        if is_stopped {
            process.stop(Signal::Terminate).await;
        } else {
            process.kill();
        }
        assert!(!data.join("index").exists());
    }
    host.set(Serving::Whole);
    let new = launch(&host.url()).on(data.as_path()).start().await;
    assert!(!data.join("restore.tmp").exists());
    assert_equals_node(&new, &node).await;
}

/// Changes the data of every log.
fn change_logs(number: u64, part: &mut BlockPart<'_>) {
    if let (1.., BlockPart::Receipts(receipts)) = (number, part) {
        for log in receipts.as_array_mut().unwrap().iter_mut().flat_map(|receipt| {
            let logs: &mut Value = &mut receipt["logs"];
            logs.as_array_mut().unwrap()
        }) {
            let data = log["data"].as_str().unwrap();
            log["data"] = json!(data.replace('1', "2").replacen("2x", "0x", 1));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_that_differs_from_the_node_is_refused_with_what_differs() {
    let (node, _, file, folder) = published().await;
    let data = folder.path().join("data");
    let other = DevNode::with(DevChainConfig { chain_id: 999, ..DevChainConfig::default() }).await;
    refused(Launch::run(&other.url()).argument("--bootstrap", text(&file)), &data, "another chain than the node").await;
    let later = Launch::run(&node.url()).argument("--bootstrap", text(&file)).argument("--start-block", 5);
    refused(later, &data, "--start-block").await;

    // An index of false receipts.
    let proxy = TamperingProxy::in_front_of(&node.url(), change_logs).await;
    let lied_to = Launch::run(&proxy.url()).argument("--verify-blocks", "off").start().await;
    node.wait_for(&lied_to).await;
    let false_file = folder.path().join("false.tar");
    publish(&lied_to, &false_file, &["--index-only"]).await;
    let launch = Launch::run(&node.url()).argument("--bootstrap", text(&false_file));
    refused(launch, &data, "is not what the node says").await;

    // A tip that the node does not have, deeper than can be reverted.
    let long = DevNode::start().await;
    for _ in 0..300 {
        long.chain.mine(None);
    }
    let running = TestExplorer::start(&long.url()).await;
    long.wait_for(&running).await;
    let orphaned = folder.path().join("orphaned.tar");
    publish(&running, &orphaned, &["--index-only"]).await;
    running.stop().await;
    long.chain.reorg(290, 295, ReorgedTransactions::Drop).unwrap();
    let launch = Launch::run(&long.url()).argument("--bootstrap", text(&orphaned));
    refused(launch, &data, "its tip, block 300, is").await;

    let database = Launch::run(&node.url()).argument("--bootstrap", text(&file));
    let (_, message) = database.argument("--database", "postgres://u@127.0.0.1:1/d").fails_to_start().await;
    assert!(message.contains("--bootstrap fills a data folder"), "{message}");
}
