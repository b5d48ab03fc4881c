//! A new index is filled beside the one that is served, and takes its place.

use std::{path::Path, time::Duration};

use alloy_primitives::{TxKind, U256};
use devchain::DevChainConfig;
use serde_json::json;
use store_embedded::testing::age_index;

use crate::{
    contracts::verifier_fixture::{VerifierFixture, read_contracts},
    postgres::KEY,
    support::{
        DevNode, Launch, TestExplorer, expected_state,
        fixture::lower_hex,
        key_request::KeyRequest,
        process::{Process, Signal},
        read_api,
        receiver::Receiver,
    },
    webhooks::{self, register},
};

fn serving(node: &DevNode, data: &Path) -> Launch {
    webhooks::launch(&node.url()).variable("EXPLORER_WEBHOOK_ENCRYPTION_KEY", KEY).on(data)
}

fn filling(rpc: &str, data: &Path) -> Launch {
    Launch::bare(["reindex", "--rpc", rpc]).on(data)
}

async fn fill(rpc: &str, data: &Path, options: &[&str]) -> (bool, String) {
    let launch = options.iter().fold(filling(rpc, data), |launch, option| launch.flag(option));
    let mut process = launch.flag("--until-ready").spawn();
    let succeeded = process.ended().await.success();
    (succeeded, process.stdout() + &process.stderr())
}

/// Kills processes at moments that differ. Some of them must have been at work, and not done with it.
async fn kill_some(launch: impl Fn() -> Launch, is_at_work: impl Fn(&Process) -> bool) {
    let mut kills = 0;
    for millis in [20, 40, 60, 80, 120, 160, 240, 320, 480] {
        let mut process: Process = launch().spawn();
        tokio::time::sleep(Duration::from_millis(millis)).await;
        kills += usize::from(process.is_running() && is_at_work(&process));
        process.kill();
    }
    assert!(kills >= 1, "no process was killed at work");
}

async fn tip(explorer: &TestExplorer) -> u64 {
    explorer.json("/api/v1/blocks?limit=1").await["blocks"][0]["number"].as_u64().unwrap()
}

fn folders(data: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(data).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    entries.filter(|name| name.starts_with("index.") || name == "reindex").collect()
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Version {
    This,
    Earlier,
}

/// An explorer serves and sends webhooks while the new index is filled; then the new one takes over, with all records.
async fn take_over_from(version: Version) {
    let (node, _) = DevNode::with_traffic(300).await;
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    let before = serving(&node, data).start().await;
    node.wait_for(&before).await;
    let key = KeyRequest::by(&node.chain.accounts()[0]).key(before.client()).await;
    let receiver = Receiver::start().await;
    register(&before, &receiver.url("/paid"), &lower_hex(node.account(1)), &["tx", "removed"]).await;
    let pay = |amount: u64| {
        node.chain.send(0, TxKind::Call(node.account(1)), U256::from(amount), []).unwrap();
        node.chain.mine(None);
    };

    // Killed at any moment, it goes on; the explorer notices nothing, also if it is started again.
    let new_index = data.join("reindex");
    let fills = |_: &Process| new_index.exists() && !new_index.join("ready").exists();
    kill_some(|| filling(&node.url(), data), fills).await;
    // On a fast machine, the last one may have been ready before it was killed.
    let is_ready = new_index.join("ready").exists();
    pay(1);
    receiver.wait_for("/paid", 1).await;
    before.stop().await;
    let before = serving(&node, data).start().await;
    node.wait_for(&before).await;
    let left: &[&str] = if is_ready { &[] } else { &["reindex"] };
    assert_eq!(folders(data), left, "an index that is not ready is left for the one that fills it");
    let (succeeded, message) = fill(&node.url(), data, &[]).await;
    assert!(succeeded && message.contains("Ready: the new index is at block"), "{message}");

    // It follows the head, once only.
    let mut filler = filling(&node.url(), data).spawn();
    filler.printed("Ready").await;
    let (succeeded, message) = fill(&node.url(), data, &[]).await;
    assert!(!succeeded && message.contains("another `explorer reindex` fills"), "{message}");
    let (succeeded, message) = fill(&node.url(), data, &["--from-scratch"]).await;
    assert!(!succeeded && message.contains("stop it first"), "{message}");
    pay(2);
    receiver.wait_for("/paid", 2).await;
    node.wait_for(&before).await;
    before.stop().await;
    if version == Version::Earlier {
        age_index(data).unwrap();
        let (status, message) = serving(&node, data).fails_to_start().await;
        assert!(!status.success() && message.contains("still fills it"), "{message}");
    }
    assert!(filler.stop(Signal::Terminate).await.status.success());
    let (succeeded, message) = fill(&node.url(), data, &[]).await;
    assert!(succeeded, "{message}");
    let filled = node.chain.head().number;

    // Nothing runs.
    pay(3);
    kill_some(|| serving(&node, data), |process| !process.stdout().contains("Listening on ")).await;
    let after = serving(&node, data).start().await;
    assert!(tip(&after).await >= filled, "the new index is served at once");
    let answer = after.client().send(after.client().request("GET", "/api/v1/stats").header("X-API-Key", &key)).await;
    assert_eq!(answer.status, 200);
    assert_eq!(folders(data), [""; 0], "nothing is left");
    node.wait_for(&after).await;
    let expected = expected_state(&node.rpc, 0, []).await;
    read_api(&after, expected.address_names()).await.assert_equals(&expected, "the chain is complete");
    pay(4);
    let received = receiver.wait_for("/paid", 4).await;
    receiver.expect_silence(&after, "/paid", 4).await;
    let amounts: Vec<_> = received.iter().map(|message| message.json()["data"]["value"].clone()).collect();
    assert_eq!(amounts, [json!("1"), json!("2"), json!("3"), json!("4")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_index_takes_over_from_one_of_the_same_version() {
    take_over_from(Version::This).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_index_takes_over_from_one_of_an_earlier_version() {
    take_over_from(Version::Earlier).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verified_contract_is_listed_as_soon_as_a_new_index_is_in_place() {
    let fixture = VerifierFixture::start().await;
    let address = fixture.verified_coin().await;
    let before = read_contracts(&fixture.explorer, &address).await;
    let (succeeded, message) = fill(fixture.anvil.url(), fixture.explorer.data().path(), &[]).await;
    assert!(succeeded, "{message}");
    let (_, data) = fixture.explorer.stop().await;
    let after = Launch::run(fixture.anvil.url()).on(data).start().await;
    assert_eq!(read_contracts(&after, &address).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_index_can_begin_at_another_block() {
    let (node, _) = DevNode::with_traffic(60).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let data = explorer.data().clone();
    let (succeeded, message) = fill(&node.url(), data.path(), &["--start-block=5"]).await;
    assert!(succeeded, "{message}");
    let (succeeded, message) = fill(&node.url(), data.path(), &["--start-block=6"]).await;
    assert!(!succeeded && message.contains("begins at block 5") && message.contains("--from-scratch"), "{message}");
    let (succeeded, message) = fill(&node.url(), data.path(), &["--start-block=7", "--from-scratch"]).await;
    assert!(succeeded, "{message}");
    explorer.stop().await;
    let explorer = TestExplorer::start_on(&node.url(), data).await;
    node.wait_for(&explorer).await;
    assert_eq!(explorer.get("/api/v1/blocks/6").await.status, 404);
    assert_eq!(explorer.get("/api/v1/blocks/7").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_index_of_another_chain_is_refused() {
    let (node, _) = DevNode::with_traffic(20).await;
    let other = DevNode::with(DevChainConfig { chain_id: 4_711, ..DevChainConfig::default() }).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let data = explorer.data().clone();
    let (succeeded, message) = fill(&other.url(), data.path(), &[]).await;
    assert!(succeeded, "{message}");
    let (succeeded, message) = fill(&node.url(), data.path(), &[]).await;
    assert!(!succeeded && message.contains("filled from another chain"), "{message}");
    explorer.stop().await;

    // The index that there is goes on; one that cannot be read is not thrown away.
    let explorer = TestExplorer::start_on(&node.url(), data.clone()).await;
    explorer.wait_for_log("the new index is not used").await;
    node.wait_for(&explorer).await;
    explorer.stop().await;
    age_index(data.path()).unwrap();
    let (status, message) = Launch::run(&node.url()).on(data.clone()).fails_to_start().await;
    assert!(!status.success() && message.contains("another chain, with id 4711"), "{message}");
    let (succeeded, message) = fill(&node.url(), data.path(), &["--from-scratch"]).await;
    assert!(succeeded, "{message}");
    let explorer = TestExplorer::start_on(&node.url(), data).await;
    node.wait_for(&explorer).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reindex_names_what_it_cannot_do() {
    let folder = tempfile::tempdir().unwrap();
    let (succeeded, message) = fill("http://127.0.0.1:1", &folder.path().join("absent"), &[]).await;
    assert!(!succeeded && message.contains("there is no data folder"), "{message}");
    let file = folder.path().join("config.toml");
    std::fs::write(&file, "database = 'postgres://a:b@127.0.0.1:1/c'\n").unwrap();
    let config = format!("--config={}", file.display());
    let (succeeded, message) = fill("http://127.0.0.1:1", folder.path(), &[&config]).await;
    assert!(!succeeded && message.contains("explorer records export"), "{message}");
}
