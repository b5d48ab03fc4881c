use devchain::ReorgedTransactions::{self, Drop, Replay};

use super::assert_equals_node;
use crate::support::{DevNode, TestExplorer, expected_state};

#[tokio::test]
async fn reorgs_of_any_depth_leave_no_orphaned_data() {
    let (node, mut traffic) = DevNode::with_traffic(150).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let mut api_state = expected_state(&node.rpc, 0, []).await;
    let cases: [(u64, u64, ReorgedTransactions); 6] = [
        (1, 1, Replay),
        (1, 2, Drop),
        (3, 4, Replay),
        (10, 11, Replay),
        // A shorter branch, then a truncated chain.
        (10, 4, Drop),
        (3, 0, Replay),
    ];
    for (depth, new_blocks, transactions) in cases {
        let what = format!("{depth} blocks replaced by {new_blocks}, {transactions:?}");
        node.chain.reorg(depth, new_blocks, transactions).unwrap();
        node.wait_for(&explorer).await;
        api_state = assert_equals_node(&explorer, &node.rpc, &api_state, &what).await;
        assert_eq!(explorer.json("/health").await["status"], "ok", "{what}");
        for _ in 0..3 {
            traffic.step().unwrap();
            node.chain.mine(None);
        }
        node.wait_for(&explorer).await;
    }
    explorer.wait_for_log("chain reorg").await;
}

#[tokio::test]
async fn a_reorg_during_downtime_is_detected_at_the_start() {
    let (node, mut traffic) = DevNode::with_traffic(80).await;
    let mut explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let mut api_state = expected_state(&node.rpc, 0, []).await;
    for (depth, new_blocks) in [(5, 8), (6, 2)] {
        let (_, data) = explorer.stop().await;
        node.chain.reorg(depth, new_blocks, Drop).unwrap();
        explorer = TestExplorer::start_on(&node.url(), &data).await;
        node.wait_for(&explorer).await;
        api_state = assert_equals_node(&explorer, &node.rpc, &api_state, "after the start").await;
        for _ in 0..8 {
            traffic.step().unwrap();
            node.chain.mine(None);
        }
        node.wait_for(&explorer).await;
    }
}

#[tokio::test]
async fn many_reorgs_in_a_row_end_at_the_tip_of_the_node() {
    let (node, mut traffic) = DevNode::with_traffic_without_traces(80).await;
    // Subscribed heads arrive faster than polled ones, so they interrupt the follower more often.
    let explorer = TestExplorer::start(&node.ws_url()).await;
    node.wait_for(&explorer).await;
    let before = expected_state(&node.rpc, 0, []).await;
    for round in 0..40_u64 {
        traffic.step().unwrap();
        node.chain.mine(None);
        node.chain.reorg(1 + round % 7, round % 9, if round % 2 == 0 { Replay } else { Drop }).unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(round % 5 * 10)).await;
    }
    node.chain.mine(None);
    node.wait_for(&explorer).await;
    assert_equals_node(&explorer, &node.rpc, &before, "after many").await;
}
