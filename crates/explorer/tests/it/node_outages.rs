//! Node outages, recovery, failover and other transports.

use serde_json::{Value, json};

use crate::support::{Anvil, DevNode, Launch, TestExplorer, eventually, expected_state, fixture::lower_hex, read_api};

#[tokio::test]
async fn the_first_start_waits_for_a_node_that_is_down() {
    let mut node = DevNode::start().await;
    node.chain.mine(None);
    node.stop_serving().await;
    let explorer = TestExplorer::start(&node.url()).await;
    let empty = json!({"blocks": [], "total": 0, "page": 1, "limit": 25, "firstIndexedBlock": null, "complete": false});
    assert_eq!(explorer.json("/api/v1/blocks").await, empty);
    let health = explorer.json("/health").await;
    assert_eq!(
        (&health["status"], &health["nodeReachable"], &health["tip"]),
        (&json!("degraded"), &json!(false), &Value::Null)
    );
    assert_eq!(explorer.get("/health/ready").await.status, 503);
    explorer.wait_for_log("waiting for the node").await;

    node.resume_serving().await;
    node.wait_for(&explorer).await;
}

#[tokio::test]
async fn indexed_data_is_served_while_the_node_is_down() {
    let (mut node, mut traffic) = DevNode::with_traffic_without_traces(60).await;
    let (queried, not_queried) = (lower_hex(node.account(1)), lower_hex(node.account(2)));
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let known = explorer.json(&format!("/api/v1/addresses/{queried}")).await;
    let blocks = explorer.json("/api/v1/blocks").await;

    // After one more block, the stored balance is older than the tip.
    node.chain.mine(None);
    node.wait_for(&explorer).await;
    node.stop_serving().await;
    eventually("the loss of the node noticed", async || {
        (explorer.json("/health").await["nodeReachable"] == false).then_some(())
    })
    .await;
    assert_eq!(
        explorer.json(&format!("/api/v1/addresses/{queried}")).await,
        known,
        "the stored balance and its balanceBlock"
    );
    assert_unknown(&explorer, &not_queried).await;

    // The balance is stored on disk, so it survives a restart.
    let (_, data) = explorer.stop().await;
    let explorer = TestExplorer::start_on(&node.url(), &data).await;
    assert_eq!(explorer.json(&format!("/api/v1/addresses/{queried}")).await, known);
    assert_unknown(&explorer, &not_queried).await;
    let total = blocks["total"].as_u64().unwrap() + 1;
    assert_eq!(explorer.json("/api/v1/blocks").await["total"], total);
    assert_eq!(explorer.json("/api/v1/stats").await["latestBlock"], total - 1);

    traffic.step().unwrap();
    node.chain.mine(None);
    node.resume_serving().await;
    node.wait_for(&explorer).await;
    let expected = expected_state(&node.rpc, 0, []).await;
    read_api(&explorer, expected.address_names()).await.assert_equals(&expected, "explorer and node");
}

/// An indexed address whose balance nobody knows is refused by the API, and its page has the rest.
async fn assert_unknown(explorer: &TestExplorer, address: &str) {
    let answer = explorer.get(&format!("/api/v1/addresses/{address}")).await;
    assert_eq!((answer.status, &answer.json["code"]), (503, &json!("node_unavailable")), "{}", answer.text);
    assert_eq!(answer.header("retry-after"), "5");
    let list = explorer.json(&format!("/api/v1/transactions?address={address}")).await;
    assert!(list["total"].as_u64().is_some_and(|total| total > 0), "{list}");
    let page = explorer.get(&format!("/address/{address}")).await;
    assert_eq!(page.status, 200);
    let hash = list["transactions"][0]["hash"].as_str().unwrap();
    for text in ["<dt>Balance</dt><dd class=\"muted\">Unknown: there is no answer from the node.</dd>", hash] {
        assert!(page.text.contains(text), "{text}: {}", page.text);
    }
}

#[tokio::test]
async fn a_failed_node_is_replaced_by_the_next_one() {
    let mut first = DevNode::start().await;
    let mut second = DevNode::serve(first.chain.clone()).await;
    let explorer = Launch::run(&first.url()).argument("--rpc", second.url()).start().await;
    first.wait_for(&explorer).await;
    first.stop_serving().await;
    first.chain.mine(None);
    first.wait_for(&explorer).await;
    let miner = lower_hex(first.chain.block(1).unwrap().header.beneficiary);
    assert_eq!(explorer.json(&format!("/api/v1/addresses/{miner}")).await["balanceBlock"], 1);

    first.resume_serving().await;
    second.stop_serving().await;
    first.chain.mine(None);
    first.wait_for(&explorer).await;
}

#[tokio::test]
async fn anvil_is_followed_over_websocket_and_over_ipc() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("anvil.ipc");
    let anvil = Anvil::with(&["--ipc", socket.to_str().unwrap()]).await;
    let accounts = anvil.accounts().await;
    let over_websocket = TestExplorer::start(&anvil.ws_url()).await;
    let over_file = TestExplorer::start(socket.to_str().unwrap()).await;
    for number in 1..=5 {
        anvil.send(json!({"from": accounts[0], "to": accounts[1], "value": format!("{number:#x}")})).await;
    }
    let expected = expected_state(&anvil.rpc, 0, []).await;
    for explorer in [over_websocket, over_file] {
        anvil.wait_for(&explorer).await;
        read_api(&explorer, expected.address_names()).await.assert_equals(&expected, "explorer and node");
    }
}

#[tokio::test]
async fn a_dev_chain_is_followed_over_websocket_across_a_broken_connection() {
    let mut node = DevNode::start().await;
    let explorer = TestExplorer::start(&node.ws_url()).await;
    node.chain.mine(None);
    node.wait_for(&explorer).await;
    node.stop_serving().await;
    node.chain.mine(None);
    node.resume_serving().await;
    node.wait_for(&explorer).await;
    node.chain.mine(None);
    node.wait_for(&explorer).await;
}
