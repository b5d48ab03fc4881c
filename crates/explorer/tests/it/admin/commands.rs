//! Commands of the operator for a running explorer.

use std::{fs, path::Path, process::Command};

use alloy_primitives::Address;

use super::metrics;
use crate::{
    postgres::{self, server::Server},
    support::{
        DevNode, Launch, TestExplorer,
        admin::over_socket,
        eventually,
        fixture::lower_hex,
        key_request::KeyRequest,
        receiver::{Behavior, Receiver},
    },
    webhooks::{self, register},
};

/// Runs a command on a data folder, and returns whether it succeeded and what it printed.
pub(super) async fn operate(folder: &Path, arguments: &[&str]) -> (bool, String) {
    let mut process = Launch::bare(arguments.iter().copied()).on(folder).spawn();
    let status = process.ended().await;
    (status.success(), process.stdout() + &process.stderr())
}

/// The same for a command that must succeed.
pub(super) async fn printed(folder: &Path, arguments: &[&str]) -> String {
    let (is_done, printed) = operate(folder, arguments).await;
    assert!(is_done, "{arguments:?}: {printed}");
    printed
}

async fn stats_status(explorer: &TestExplorer, key: &str) -> (u16, String) {
    let client = explorer.client();
    let answer = client.send(client.request("GET", "/api/v1/stats").header("X-API-Key", key)).await;
    (answer.status, answer.header("x-ratelimit-limit").to_owned())
}

#[tokio::test]
async fn keys_of_a_running_explorer_are_managed_at_once() {
    let node = DevNode::start().await;
    let explorer = TestExplorer::start(&node.url()).await;
    let folder = explorer.data().path();
    let signer = &node.chain.accounts()[0];
    let key = KeyRequest::by(signer).key(explorer.client()).await;
    assert_eq!(stats_status(&explorer, &key).await, (200, "100".to_owned()));
    let table = printed(folder, &["keys", "list"]).await;
    assert!(table.contains(&key[..12]) && !table.contains(&key), "{table}");
    printed(folder, &["keys", "limit", "1", "500"]).await;
    assert_eq!(stats_status(&explorer, &key).await, (200, "500".to_owned()), "without a restart, and at once");
    assert!(printed(folder, &["keys", "limit", "1", "0"]).await.contains("unlimited"));
    assert_eq!(stats_status(&explorer, &key).await, (200, String::new()), "no limit, as with the other limits");
    printed(folder, &["keys", "limit", "1", "500"]).await;
    let owner = lower_hex(signer.address());
    let made = printed(folder, &["keys", "create", "--owner", &owner, "--label", "by hand"]).await;
    let second = made.lines().next().unwrap().to_owned();
    assert_eq!(stats_status(&explorer, &second).await.0, 200);
    printed(folder, &["keys", "revoke", "2"]).await;
    assert_eq!(stats_status(&explorer, &second).await.0, 401);
    assert!(!explorer.log().contains(&second), "a key is not logged");
    let (is_done, message) = operate(folder, &["keys", "revoke", "77"]).await;
    assert!(!is_done && message.contains("no key 77"), "{message}");
    let socket = folder.join("admin.sock");
    assert_eq!(over_socket(&socket, "POST", "/keys").await.0, 415, "not JSON");

    let (_, data) = explorer.stop().await;
    let (is_done, message) = operate(data.path(), &["admin", "reload"]).await;
    assert!(!is_done && message.contains("no explorer listens"), "{message}");
    assert!(printed(data.path(), &["keys", "list"]).await.contains("500"), "the folder itself");
}

#[tokio::test]
async fn webhooks_are_paused_resumed_and_purged() {
    let node = DevNode::start().await;
    let explorer = webhooks::launch(&node.url()).start().await;
    node.wait_for(&explorer).await;
    let (folder, receiver) = (explorer.data().path(), Receiver::start().await);
    let hook = register(&explorer, &receiver.url("/hook"), &lower_hex(node.account(1)), &["tx"]).await;
    let id = hook.id.to_string();
    hook.ping(&explorer).await;
    receiver.wait_for("/hook", 1).await;
    assert!(printed(folder, &["webhooks", "pause", &id]).await.contains("paused"));
    let refused = webhooks::send(explorer.client(), "POST", &hook.path("/ping"), None).await;
    assert_eq!(refused.status, 409, "{}", refused.text);
    assert!(printed(folder, &["webhooks", "resume", &id]).await.contains("active"));
    hook.ping(&explorer).await;
    receiver.wait_for("/hook", 2).await;

    receiver.set_behavior("/hook", Behavior::Status(500));
    hook.ping(&explorer).await;
    receiver.wait_for("/hook", 3).await;
    let before = metrics(&explorer).await;
    assert_eq!(before.get("explorer_webhook_pending_messages"), 1.0);
    assert!(printed(folder, &["webhooks", "purge", &id]).await.contains("1 pending messages dropped"));
    assert_eq!(metrics(&explorer).await.get("explorer_webhook_pending_messages"), 0.0);
    let listed = printed(folder, &["webhooks", "list"]).await;
    assert!(listed.contains(&receiver.url("/hook")), "{listed}");
    let nobody = lower_hex(Address::repeat_byte(9));
    assert!(!printed(folder, &["webhooks", "list", "--owner", &nobody]).await.contains("http"));
    let (is_done, message) = operate(folder, &["webhooks", "pause", "99"]).await;
    assert!(!is_done && message.contains("no webhook 99"), "{message}");

    let (_, data) = explorer.stop().await;
    assert!(printed(data.path(), &["webhooks", "pause", &id]).await.contains("paused"), "the folder itself");
}

#[tokio::test]
async fn webhooks_in_a_database_are_paused_beside_the_processes() {
    let server = Server::shared();
    let url = server.database().await;
    let node = DevNode::start().await;
    let explorer = postgres::on_database(webhooks::launch(&node.url()), &url).start().await;
    node.wait_for(&explorer).await;
    let receiver = Receiver::start().await;
    let hook = register(&explorer, &receiver.url("/hook"), &lower_hex(node.account(1)), &["tx"]).await;
    let folder = explorer.data().path();
    let id = hook.id.to_string();
    assert!(printed(folder, &["webhooks", "pause", &id, "--database", &url]).await.contains("paused"));
    let refused = webhooks::send(explorer.client(), "POST", &hook.path("/ping"), None).await;
    assert_eq!(refused.status, 409, "{}", refused.text);
    assert!(printed(folder, &["webhooks", "resume", &id, "--database", &url]).await.contains("active"));
    hook.ping(&explorer).await;
    receiver.wait_for("/hook", 1).await;
}

#[tokio::test]
async fn names_are_reloaded_by_a_command_and_by_a_signal() {
    let (node, _) = DevNode::with_traffic(20).await;
    let address = lower_hex(node.account(1));
    let folder = tempfile::tempdir().unwrap();
    let labels = folder.path().join("labels");
    fs::write(&labels, format!("{address},first\n")).unwrap();
    let explorer = Launch::run(&node.url()).argument("--labels", labels.display()).start().await;
    node.wait_for(&explorer).await;
    let path = format!("/api/v1/addresses/{address}");
    let label = async || explorer.json(&path).await["label"].as_str().unwrap_or_default().to_owned();
    assert_eq!(label().await, "first");

    fs::write(&labels, format!("{address},second\n")).unwrap();
    assert_eq!(label().await, "first");
    let data = explorer.data().path();
    assert!(printed(data, &["admin", "reload"]).await.contains("1 names of addresses"));
    assert_eq!(label().await, "second", "not from the response cache");
    let page = explorer.get(&format!("/address/{address}")).await.text;
    assert!(page.contains("second") && !page.contains("first"), "{page}");

    fs::write(&labels, "nonsense\n").unwrap();
    let (is_done, message) = operate(data, &["admin", "reload"]).await;
    assert!(!is_done && message.contains("line 1"), "{message}");
    assert_eq!(label().await, "second", "the old names stay");

    fs::write(&labels, format!("{address},third\n")).unwrap();
    let hangup = Command::new("kill").args(["-HUP", &explorer.process_id().to_string()]).status().unwrap();
    assert!(hangup.success());
    eventually("the third name", async || (label().await == "third").then_some(())).await;

    let without_names = TestExplorer::start(&node.url()).await;
    let (is_done, message) = operate(without_names.data().path(), &["admin", "reload"]).await;
    assert!(!is_done && message.contains("nothing to reload"), "{message}");
}

#[tokio::test]
async fn the_log_is_changed_and_the_index_compacted_while_the_explorer_serves() {
    let (node, _) = DevNode::with_traffic(60).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let folder = explorer.data().path();
    explorer.get("/api/v1/stats").await;
    assert!(!explorer.log().contains("response sent"));
    printed(folder, &["admin", "log", "api=debug,info"]).await;
    explorer.get("/api/v1/stats").await;
    explorer.wait_for_log("response sent").await;
    let (is_done, message) = operate(folder, &["admin", "log", "no=such=filter"]).await;
    assert!(!is_done && message.contains("log filter"), "{message}");

    let before = explorer.json("/api/v1/transactions?limit=100").await;
    assert!(printed(folder, &["admin", "compact"]).await.contains("MB"));
    assert_eq!(explorer.json("/api/v1/transactions?limit=100").await, before);
    node.chain.mine(None);
    node.wait_for(&explorer).await;
    assert!(printed(folder, &["admin", "metrics"]).await.contains("explorer_index_tip_block"));
}
