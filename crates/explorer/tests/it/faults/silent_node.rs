//! A node that accepts connections and never responds, and a chain without new blocks.

use std::time::Duration;

use serde_json::{Value, json};

use super::busy_chain;
use crate::support::{
    ANY, Fault, FaultyNode, Launch, Script, Stopwatch, TestExplorer, eventually, fixture::lower_hex, permits,
};

fn silent() -> Script {
    Script { faults: vec![(ANY, Fault::Hang, 1.0)], ..Script::default() }
}

async fn wait_for_status(explorer: &TestExplorer, status: &str) -> Value {
    eventually(status, async || {
        let health = explorer.json("/health").await;
        (health["status"] == status).then_some(health)
    })
    .await
}

#[tokio::test]
async fn a_silent_node_and_its_recovery_are_detected_within_fifteen_seconds() {
    permits::timely().await;
    let chain = busy_chain(60).await;
    let node = FaultyNode::start(&chain, 1, Script::default()).await;
    let explorer = Launch::run(&node.url()).start().await;
    node.wait_for(&explorer).await;

    node.set_behavior(silent());
    let watch = Stopwatch::start();
    let health = wait_for_status(&explorer, "degraded").await;
    assert_eq!(health["nodeReachable"], false, "{health}");
    watch.assert_within(15);

    node.set_behavior(Script::default());
    let watch = Stopwatch::start();
    chain.mine(None);
    node.wait_for(&explorer).await;
    wait_for_status(&explorer, "ok").await;
    watch.assert_within(30);
}

#[tokio::test]
async fn a_backfill_switches_away_from_a_node_that_falls_silent() {
    permits::timely().await;
    let chain = busy_chain(1_000).await;
    for _ in 0..1_000 {
        chain.mine(None);
    }
    let first = FaultyNode::start(&chain, 1, Script { delay: Duration::from_millis(100), ..Script::default() }).await;
    let second = FaultyNode::start(&chain, 2, Script::default()).await;
    let explorer = Launch::run(&first.url()).argument("--rpc", second.url()).start().await;
    let blocks_of =
        |node: &FaultyNode| node.request_counts().methods.get("eth_getBlockByNumber").copied().unwrap_or_default();
    eventually("the first blocks", async || (blocks_of(&first) > 200).then_some(())).await;
    first.set_behavior(silent());
    let watch = Stopwatch::start();
    eventually("many blocks from the second node", async || (blocks_of(&second) > 200).then_some(())).await;
    watch.assert_within(15);
    first.wait_for(&explorer).await;
    watch.assert_within(40);
}

#[tokio::test]
async fn a_balance_that_is_not_known_is_refused_while_the_node_is_silent() {
    permits::timely().await;
    let chain = busy_chain(60).await;
    let node = FaultyNode::start(&chain, 1, Script::default()).await;
    let explorer = Launch::run(&node.url()).start().await;
    node.wait_for(&explorer).await;
    let [queried, not_queried] = [1, 2].map(|index: usize| lower_hex(chain.accounts()[index].address()));
    let known = explorer.json(&format!("/api/v1/addresses/{queried}")).await;
    chain.mine(None);
    node.wait_for(&explorer).await;
    node.set_behavior(silent());

    let watch = Stopwatch::start();
    assert_eq!(
        explorer.json(&format!("/api/v1/addresses/{queried}")).await,
        known,
        "the stored balance and its balanceBlock"
    );
    let unknown = explorer.get(&format!("/api/v1/addresses/{not_queried}")).await;
    // Two bounded waits.
    watch.assert_within(8);
    assert_eq!((unknown.status, &unknown.json["code"]), (503, &json!("node_unavailable")), "{}", unknown.text);
    assert_eq!(unknown.header("retry-after"), "5");

    // The index alone knows that it is a contract.
    let tokens = explorer.json("/api/v1/tokens").await;
    let token = tokens["tokens"][0]["address"].as_str().unwrap();
    let page = explorer.get(&format!("/address/{token}")).await.text;
    assert!(page.contains("<h1>Contract") && page.contains("Unknown: there is no answer from the node."), "{page}");

    node.set_behavior(Script::default());
    eventually("the balance itself", async || {
        let answer = explorer.get(&format!("/api/v1/addresses/{not_queried}")).await;
        (answer.json["balanceBlock"] == chain.head().number).then_some(())
    })
    .await;
}

#[tokio::test]
async fn health_degrades_after_a_multiple_of_the_usual_block_time_without_blocks() {
    let chain = busy_chain(60).await;
    let node = FaultyNode::start(&chain, 1, Script::default()).await;
    let explorer = Launch::run(&node.url()).start().await;
    node.wait_for(&explorer).await;
    for _ in 0..25 {
        chain.mine(None);
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    node.wait_for(&explorer).await;
    let health = explorer.json("/health").await;
    assert_eq!((&health["status"], &health["chainQuiet"]), (&json!("ok"), &json!(false)), "{health}");
    assert!(health["tipAge"].is_u64(), "{health}");

    let health = wait_for_status(&explorer, "degraded").await;
    assert_eq!(
        (&health["chainQuiet"], &health["ready"], &health["nodeReachable"]),
        (&json!(true), &json!(true), &json!(true))
    );
    chain.mine(None);
    wait_for_status(&explorer, "ok").await;
}
