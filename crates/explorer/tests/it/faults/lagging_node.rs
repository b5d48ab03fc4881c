//! Lagging nodes: a shorter chain of the same branch reverts nothing.

use std::time::Duration;

use devchain::ReorgedTransactions;

use super::{assert_tip_never_falls, chain_of, index};
use crate::support::{ANY, Fault, FaultyNode, HEADER, Launch, Script, TestExplorer, eventually};

fn failing() -> Script {
    Script { faults: vec![(ANY, Fault::Status(500), 1.0)], ..Script::default() }
}

fn ending_at(newest: u64) -> Script {
    Script { newest: Some(newest), ..Script::default() }
}

#[tokio::test]
async fn a_lagging_node_does_not_revert_blocks_while_the_first_node_fails() {
    let chain = chain_of(120);
    let first = FaultyNode::start(&chain, 1, Script::default()).await;
    let second = FaultyNode::start(&chain, 2, ending_at(85)).await;
    let explorer = Launch::run(&first.url()).argument("--rpc", second.url()).start().await;
    first.wait_for(&explorer).await;

    first.set_behavior(failing());
    assert_tip_never_falls(&explorer, 120, Duration::from_secs(10)).await;
    eventually("use of the second node", async || {
        let health = explorer.json("/health").await;
        (health["status"] == "degraded" && health["nodeHead"] == 85).then_some(())
    })
    .await;
    assert!(second.request_counts().served > 0);
    assert_tip_never_falls(&explorer, 120, Duration::from_secs(1)).await;

    first.set_behavior(Script::default());
    chain.mine(None);
    first.wait_for(&explorer).await;
    assert_eq!(explorer.json("/health").await["status"], "ok");
    assert!(!explorer.log().contains("chain reorg"), "{}", explorer.log());
}

#[tokio::test]
async fn a_stuck_preferred_node_is_skipped() {
    let chain = chain_of(150);
    let stuck = FaultyNode::start(&chain, 1, ending_at(100)).await;
    let healthy = FaultyNode::start(&chain, 2, Script::default()).await;
    let explorer = Launch::run(&stuck.url()).argument("--rpc", healthy.url()).start().await;
    healthy.wait_for(&explorer).await;
    chain.mine(None);
    healthy.wait_for(&explorer).await;

    // It has caught up and is preferred again.
    stuck.set_behavior(Script::default());
    healthy.set_behavior(failing());
    chain.mine(None);
    healthy.wait_for(&explorer).await;
    assert!(!explorer.log().contains("chain reorg"), "{}", explorer.log());
}

#[tokio::test]
async fn a_lower_head_reverts_nothing_and_is_reported() {
    let chain = chain_of(320);
    let node = FaultyNode::start(&chain, 1, Script::default()).await;
    let explorer = Launch::run(&node.url()).start().await;
    node.wait_for(&explorer).await;
    node.set_behavior(ending_at(70));
    explorer.wait_for_log("the node is behind the index").await;
    // On the dev chain, the finalized block is 64 below the head.
    explorer.wait_for_log("below the finalized block").await;
    assert_tip_never_falls(&explorer, 320, Duration::from_secs(6)).await;
    let health = explorer.json("/health").await;
    assert_eq!((&health["status"], &health["nodeHead"]), (&"degraded".into(), &70.into()), "{health}");

    node.set_behavior(Script::default());
    eventually("ok again", async || (explorer.json("/health").await["status"] == "ok").then_some(())).await;
}

#[tokio::test]
async fn missing_blocks_do_not_confuse_the_search_for_a_fork() {
    let chain = chain_of(120);
    // A load balancer in front of nodes with different heads.
    let faults = vec![(HEADER, Fault::Null, 0.6)];
    let node = FaultyNode::start(&chain, 1, Script { faults, ..Script::default() }).await;
    let explorer = Launch::run(&node.url()).start().await;
    node.wait_for(&explorer).await;
    chain.reorg(2, 3, ReorgedTransactions::Drop).unwrap();
    node.wait_for(&explorer).await;
    let log = explorer.log();
    let depth = log.split("depth=").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap().to_owned();
    assert_eq!(depth, "2", "{log}");
}

#[tokio::test]
async fn failed_requests_for_the_finalized_block_drop_no_undo_data() {
    let chain = chain_of(400);
    let far_final = Script { finalized_block: Some(10), ..Script::default() };
    let node = FaultyNode::start(&chain, 1, far_final.clone()).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;

    for fault in [Fault::Status(500), Fault::Error(-32000, "no such thing now"), Fault::Drop] {
        node.set_behavior(Script { finalized: Some(fault), ..far_final.clone() });
        for _ in 0..3 {
            chain.mine(None);
            node.wait_for(&explorer).await;
        }
    }
    node.set_behavior(far_final);
    chain.reorg(300, 302, ReorgedTransactions::Drop).unwrap();
    node.wait_for(&explorer).await;
}

#[tokio::test]
async fn a_block_with_a_wrong_parent_does_not_stop_a_backfill() {
    let chain = chain_of(10);
    let node = FaultyNode::start(&chain, 1, Script::default()).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let (_, data) = explorer.stop().await;

    for _ in 10..600 {
        chain.mine(None);
    }
    node.set_behavior(Script { wrong_parent_at: Some(500), ..Script::default() });
    let explorer = TestExplorer::start_on(&node.url(), &data).await;
    eventually("the blocks below the horizon", async || {
        let health = explorer.json("/health").await;
        assert_ne!(health["status"], "halted", "{health}");
        health["tip"]["number"].as_u64().filter(|tip| *tip > 300)
    })
    .await;
    for _ in 0..20 {
        assert_ne!(explorer.json("/health").await["status"], "halted");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    node.set_behavior(Script::default());
    node.wait_for(&explorer).await;
}

/// While finality lags, blocks deeper below the tip than usual can still be reverted.
#[tokio::test]
async fn only_blocks_that_cannot_be_reverted_are_cacheable_for_long() {
    let chain = chain_of(600);
    let node = FaultyNode::start(&chain, 1, Script { finalized_block: Some(100), ..Script::default() }).await;
    let (explorer, _) = index(&node).await;
    let cached_for = async |number: u64| {
        let answer = explorer.get(&format!("/api/v1/blocks/{number}")).await;
        answer.header("cache-control").to_owned()
    };
    assert_eq!(cached_for(100).await, "public, max-age=3600");
    // 256 or more blocks below the tip, and not finalized.
    for number in [101, 300] {
        assert_eq!(cached_for(number).await, cached_for(600).await, "block {number}");
    }
}
