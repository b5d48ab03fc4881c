//! A node that spoils requests in all ways at once: nothing waits longer than its own request, and all is right in the end.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::traded_chain;
use crate::support::{
    FaultyNode, Launch, Script, Stopwatch, TestExplorer, eventually, expected_state, fixture::lower_hex, permits,
    read_api,
};

fn spoiling(share: f64) -> Script {
    Script { mixed: share, ..Script::default() }
}

async fn untraced_blocks(explorer: &TestExplorer) -> u64 {
    explorer.json("/api/v1/stats").await["untracedBlocks"].as_u64().unwrap()
}

#[tokio::test]
async fn a_chain_with_traces_is_synced_through_spoiled_requests_and_complete() {
    permits::timely().await;
    let chain = traded_chain(400, true).await;
    let healthy = FaultyNode::start(&chain, 1, Script::default()).await;
    let node = FaultyNode::start(&chain, 5, spoiling(0.2)).await;
    let watch = Stopwatch::start();
    let explorer = Launch::run(&node.url()).start().await;
    node.wait_for(&explorer).await;
    // One stall alone takes up to fifteen seconds.
    watch.assert_within(15);
    assert_eq!(untraced_blocks(&explorer).await, 0, "a failed trace is requested again");

    node.set_behavior(Script::default());
    let expected = expected_state(&healthy.rpc, 0, []).await;
    read_api(&explorer, expected.address_names()).await.assert_equals(&expected, "after the faults");
}

#[tokio::test]
async fn blocks_and_balances_are_right_within_two_seconds_of_a_healthy_node() {
    permits::timely().await;
    let chain = traded_chain(400, true).await;
    let node = FaultyNode::start(&chain, 1, Script::default()).await;
    let explorer = Launch::run(&node.url()).start().await;
    node.wait_for(&explorer).await;

    node.set_behavior(spoiling(0.6));
    let addresses: Vec<String> = chain.accounts().iter().map(|account| lower_hex(account.address())).collect();
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(4) {
        chain.mine(None);
        for address in &addresses {
            let status = explorer.get(&format!("/api/v1/addresses/{address}")).await.status;
            assert!(matches!(status, 200 | 503), "{status}");
        }
    }

    node.set_behavior(Script::default());
    chain.mine(None);
    let watch = Stopwatch::start();
    node.wait_for(&explorer).await;
    let head = Value::from(chain.head().number);
    for address in &addresses {
        eventually("the balance at the head", async || {
            let answer = explorer.get(&format!("/api/v1/addresses/{address}")).await;
            (answer.json["balanceBlock"] == head).then_some(())
        })
        .await;
    }
    watch.assert_within(2);
}

#[tokio::test]
async fn traces_and_users_are_served_at_a_low_rate_during_a_backfill() {
    let chain = traded_chain(400, true).await;
    let node = FaultyNode::start(&chain, 1, Script::default()).await;
    let explorer = Launch::run(&node.url()).argument("--rpc-calls-per-second", 40).start().await;
    let tip = async || explorer.json("/health").await["tip"]["number"].as_u64().filter(|number| *number > 10);
    eventually("the first blocks", tip).await;
    let address = lower_hex(chain.accounts()[1].address());
    let account = explorer.json(&format!("/api/v1/addresses/{address}")).await;
    assert!(account["balanceBlock"].is_u64(), "the node was called: {account}");
    assert!(tip().await.unwrap() < chain.head().number, "the backfill goes on");
    node.wait_for(&explorer).await;
    assert_eq!(untraced_blocks(&explorer).await, 0);
}
