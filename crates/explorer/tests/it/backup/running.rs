//! Backups of an explorer that goes on indexing, serving and sending.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use alloy_primitives::{TxKind, U256};
use devchain::ReorgedTransactions;
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt, net::UnixStream};

use super::text;
use crate::{
    support::{
        DevNode, TestExplorer, eventually, expected_state,
        fixture::lower_hex,
        key_request::KeyRequest,
        read_api,
        receiver::{Behavior, Receiver},
        run_explorer,
    },
    webhooks::{self, Hook, register},
};

/// An explorer with a key, and with a webhook whose messages wait.
pub(crate) struct Busy {
    pub(crate) node: DevNode,
    pub(crate) explorer: TestExplorer,
    pub(crate) hook: Hook,
    pub(crate) key: String,
    _receiver: Receiver,
}

impl Busy {
    pub(crate) async fn start() -> Self {
        let (node, _) = DevNode::with_traffic(120).await;
        let explorer = webhooks::launch(&node.url()).start().await;
        node.wait_for(&explorer).await;
        let key = KeyRequest::by(&node.chain.accounts()[0]).key(explorer.client()).await;
        let receiver = Receiver::start().await;
        receiver.set_behavior("/later", Behavior::Status(503));
        let watched = lower_hex(node.account(1));
        let hook = register(&explorer, &receiver.url("/later"), &watched, &["tx", "removed"]).await;
        Self { node, explorer, hook, key, _receiver: receiver }
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.explorer.data().path().to_owned()
    }

    /// A payment that a message is about.
    pub(crate) fn pay(&self) {
        self.node.chain.send(0, TxKind::Call(self.node.account(1)), U256::from(7), []).unwrap();
        self.node.chain.mine(None);
    }

    /// Messages in the queue.
    async fn wait_for_messages(&self, count: usize) {
        eventually(&format!("{count} messages"), async || {
            (self.hook.deliveries(&self.explorer).await.len() >= count).then_some(())
        })
        .await;
    }

    /// The restored folder answers like one that was indexed from the start, and has the records.
    pub(crate) async fn compare(&self, restored: &Path) {
        let running = webhooks::launch(&self.node.url()).on(restored).start().await;
        self.node.wait_for(&running).await;
        let expected = expected_state(&self.node.rpc, 0, []).await;
        read_api(&running, expected.address_names()).await.assert_equals(&expected, "restored");
        let client = running.client();
        let answer = client.send(client.request("GET", "/api/v1/stats").header("X-API-Key", &self.key)).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let expected = self.hook.deliveries(&self.explorer).await.len();
        eventually("all messages", async || (self.hook.deliveries(&running).await.len() == expected).then_some(()))
            .await;
        running.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn snapshots_of_a_running_explorer_are_complete_while_it_continues() {
    let busy = Busy::start().await;
    let folder = tempfile::tempdir().unwrap();
    let data = busy.data();
    busy.pay();
    busy.wait_for_messages(1).await;
    for number in 0..4 {
        let target = folder.path().join(format!("snapshot-{number}"));
        let paying = async {
            for _ in 0..10 {
                busy.pay();
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let arguments = ["snapshot", "--data", text(&data), text(&target)];
        let ((succeeded, message), ()) = tokio::join!(run_explorer(&arguments), paying);
        assert!(succeeded && message.contains("Snapshot of") && message.contains("keep it as private"), "{message}");
        let mode = |file: &str| fs::metadata(target.join(file)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode("webhook-secrets.key"), 0o600);
    }
    busy.node.wait_for(&busy.explorer).await;
    let left = |folder: &Path, mark: &str| {
        fs::read_dir(folder).unwrap().any(|entry| entry.unwrap().file_name().to_string_lossy().contains(mark))
    };
    assert!(!left(&data, ".tmp") && !left(folder.path(), "unfinished"));

    for number in 0..4 {
        let (snapshot, restored) =
            (folder.path().join(format!("snapshot-{number}")), folder.path().join(format!("restored-{number}")));
        let (succeeded, message) = run_explorer(&["restore", text(&snapshot), "--data", text(&restored)]).await;
        assert!(succeeded, "{message}");
        let (succeeded, message) =
            run_explorer(&["check", "--node", "--rpc", &busy.node.url(), "--data", text(&restored)]).await;
        assert!(succeeded && message.contains("are what the node says"), "{message}");
        if number % 3 == 0 {
            busy.compare(&restored).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_taken_during_reorgs_is_of_one_branch() {
    let busy = Busy::start().await;
    let folder = tempfile::tempdir().unwrap();
    let data = busy.data();
    let reorgs = || busy.explorer.log().matches("chain reorg").count();
    for number in 0..4 {
        let target = folder.path().join(format!("snapshot-{number}"));
        let branching = async {
            for depth in [2, 9, 1, 25, 4] {
                let before = reorgs();
                busy.pay();
                // It takes no notice of a block that it never saw.
                busy.node.wait_for(&busy.explorer).await;
                busy.node.chain.reorg(depth, depth + 1, ReorgedTransactions::Drop).unwrap();
                eventually("the reorg", async || (reorgs() > before).then_some(())).await;
            }
        };
        let arguments = ["snapshot", "--data", text(&data), text(&target)];
        let ((succeeded, message), ()) = tokio::join!(run_explorer(&arguments), branching);
        assert!(succeeded, "{message}");
    }

    for number in 0..4 {
        let (snapshot, restored) =
            (folder.path().join(format!("snapshot-{number}")), folder.path().join(format!("restored-{number}")));
        let (succeeded, message) = run_explorer(&["restore", text(&snapshot), "--data", text(&restored)]).await;
        assert!(succeeded, "{message}");
        let (succeeded, message) = run_explorer(&["check", "--data", text(&restored)]).await;
        assert!(succeeded, "{message}");
        // The branch of the snapshot is left, and nothing of it stays.
        let running = webhooks::launch(&busy.node.url()).on(restored.as_path()).start().await;
        busy.node.wait_for(&running).await;
        let expected = expected_state(&busy.node.rpc, 0, []).await;
        read_api(&running, expected.address_names()).await.assert_equals(&expected, &format!("snapshot {number}"));
        running.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_snapshot_is_complete_or_is_not_there() {
    let busy = Busy::start().await;
    let (data, folder) = (busy.data(), tempfile::tempdir().unwrap());
    let ask = async |target: &Path| {
        let body = json!({ "target": target, "content": "everything" }).to_string();
        let mut stream = UnixStream::connect(data.join("admin.sock")).await.unwrap();
        let head = "POST /snapshot HTTP/1.1\r\nHost: admin\r\nContent-Type: application/json\r\n";
        let request = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    };
    // The client goes away.
    let target = folder.path().join("alone");
    let stream = ask(&target).await;
    busy.explorer.wait_for_log("taking a snapshot").await;
    drop(stream);
    eventually("the snapshot", async || target.exists().then_some(())).await;
    let restored = folder.path().join("restored");
    let (succeeded, message) = run_explorer(&["restore", text(&target), "--data", text(&restored)]).await;
    assert!(succeeded, "{message}");

    // The service is killed.
    let Busy { node, explorer: mut running, .. } = busy;
    let mut interrupted = 0;
    for millis in [0, 2, 5, 10, 20, 50] {
        let target = folder.path().join(format!("killed-{millis}"));
        let stream = ask(&target).await;
        tokio::time::sleep(Duration::from_millis(millis)).await;
        let data = running.kill();
        drop(stream);
        interrupted += usize::from(!target.exists());
        if target.exists() {
            let restored = folder.path().join(format!("restored-{millis}"));
            let (succeeded, message) = run_explorer(&["restore", text(&target), "--data", text(&restored)]).await;
            assert!(succeeded, "{message}");
        }
        running = webhooks::launch(&node.url()).on(&data).start().await;
        let left = fs::read_dir(data.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let left: Vec<_> = left.filter(|name| name.to_string_lossy().ends_with(".tmp")).collect();
        assert!(left.is_empty(), "{left:?}");
        let (succeeded, message) = run_explorer(&["snapshot", "--data", text(data.path()), text(&target)]).await;
        assert!(succeeded || message.contains("not empty"), "{message}");
    }
    assert!(interrupted >= 1, "every snapshot was complete before the kill");
}

#[tokio::test(flavor = "multi_thread")]
async fn records_of_a_running_explorer_are_exported_as_they_were_at_one_moment() {
    let busy = Busy::start().await;
    let (data, folder) = (busy.data(), tempfile::tempdir().unwrap());
    for number in 0..3 {
        let (file, target) = (folder.path().join(format!("{number}.ndjson")), folder.path().join(format!("{number}")));
        let paying = async {
            for _ in 0..10 {
                busy.pay();
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let arguments = ["records", "export", text(&file), "--data", text(&data)];
        let ((succeeded, message), ()) = tokio::join!(run_explorer(&arguments), paying);
        assert!(succeeded && message.contains("exported all records"), "{message}");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let (succeeded, message) = run_explorer(&["records", "import", text(&file), "--data", text(&target)]).await;
        assert!(succeeded && message.contains("Imported all"), "{message}");

        // Counters and rows of one moment belong together.
        let content = fs::read_to_string(&file).unwrap();
        let records: Vec<Value> = content.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let of_kind = |kind: &str| records.iter().filter(|line| line["record"][kind].is_object()).count();
        let log = records.iter().find(|line| line["record"]["deliveryLog"].is_object());
        if let Some(log) = log {
            let log = &log["record"]["deliveryLog"];
            let stored = log["next"].as_u64().unwrap() - log["first"].as_u64().unwrap();
            assert_eq!(usize::try_from(stored).unwrap(), of_kind("delivery"), "{content}");
        }
        assert_eq!(of_kind("apiKey"), 1);
    }
    let (succeeded, message) = run_explorer(&["records", "export", "-", "--data", text(&data)]).await;
    assert!(succeeded && message.contains("explorer-records") && message.contains("\"end\""), "{message}");
    assert!(!data.join("export.tmp").exists());
    busy.node.wait_for(&busy.explorer).await;
    // The last export, with the chain indexed again.
    let target = folder.path().join("2");
    fs::copy(data.join("webhook-secrets.key"), target.join("webhook-secrets.key")).unwrap();
    busy.compare(&target).await;
}
