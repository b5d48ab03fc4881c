//! Nodes without one working method are followed without it.

use std::time::Duration;

use serde_json::json;

use super::{busy_chain, chain_of, index};
use crate::support::{Fault, FaultyNode, Script, Stopwatch, expected_state, read_api};

const EVERY_FAULT: [Fault; 4] = [Fault::Status(500), Fault::Error(-32603, "internal error"), Fault::Drop, Fault::Hang];

/// Far less than one timeout per block.
const GRACE_SECONDS: u64 = 12;
const GRACE: Duration = Duration::from_secs(GRACE_SECONDS);

#[tokio::test]
async fn failing_traces_do_not_slow_down_the_sync() {
    let chain = busy_chain(600).await;
    let healthy = FaultyNode::start(&chain, 1, Script::default()).await;
    let (_, without) = index(&healthy).await;
    for fault in EVERY_FAULT {
        let faults = vec![("debug_traceBlockByNumber", fault, 1.0)];
        let node = FaultyNode::start(&chain, 2, Script { faults, ..Script::default() }).await;
        let (explorer, took) = index(&node).await;
        println!("{fault:?}: {took:?} beside {without:?}");
        assert!(took < without * 2 + GRACE, "{fault:?}: {took:?} beside {without:?}");
        assert_eq!(explorer.json("/health").await["status"], "ok");
        // Six blocks are traced at once, each with five attempts, until two have failed; then few probe whether it works again.
        let (calls, blocks) = (node.request_counts().methods["debug_traceBlockByNumber"], chain.head().number);
        assert!((calls as u64) < blocks, "{fault:?}: {calls} calls for {blocks} blocks");
    }
}

#[tokio::test]
async fn transaction_receipts_are_used_when_block_receipts_fail() {
    let chain = busy_chain(300).await;
    let healthy = FaultyNode::start(&chain, 1, Script::default()).await;
    let (_, without) = index(&healthy).await;
    let refusals = [
        Fault::Status(403),
        Fault::Error(-32000, "method not allowed"),
        Fault::Error(-32600, "eth_getBlockReceipts is disabled"),
    ];
    for fault in refusals.into_iter().chain(EVERY_FAULT) {
        let faults = vec![("eth_getBlockReceipts", fault, 1.0)];
        let node = FaultyNode::start(&chain, 2, Script { faults, ..Script::default() }).await;
        let (explorer, took) = index(&node).await;
        println!("{fault:?}: {took:?} beside {without:?}");
        assert!(took < without * 3 + GRACE, "{fault:?}: {took:?} beside {without:?}");
        let expected = expected_state(&healthy.rpc, 0, []).await;
        read_api(&explorer, expected.address_names()).await.assert_equals(&expected, &format!("{fault:?}"));
    }
}

#[tokio::test]
async fn a_missing_finalized_block_does_not_slow_down_the_sync() {
    let chain = chain_of(60);
    for fault in EVERY_FAULT {
        let node = FaultyNode::start(&chain, 2, Script { finalized: Some(fault), ..Script::default() }).await;
        let (explorer, _) = index(&node).await;
        for _ in 0..20 {
            chain.mine(None);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let watch = Stopwatch::start();
        node.wait_for(&explorer).await;
        watch.assert_within(GRACE_SECONDS);
    }
}

#[tokio::test]
async fn failing_token_metadata_calls_do_not_delay_blocks() {
    let chain = busy_chain(300).await;
    let node = FaultyNode::start(&chain, 1, Script::default()).await;
    let (explorer, _) = index(&node).await;
    let faults = ["eth_call", "eth_getCode"].map(|method| (method, Fault::Hang, 1.0)).to_vec();
    node.set_behavior(Script { faults, ..Script::default() });
    for _ in 0..60 {
        chain.mine(None);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let watch = Stopwatch::start();
    node.wait_for(&explorer).await;
    watch.assert_within(GRACE_SECONDS);
    let health = explorer.json("/health").await;
    assert_eq!((&health["status"], &health["nodeReachable"]), (&json!("ok"), &json!(true)));
}
