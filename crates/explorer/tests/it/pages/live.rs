//! Pages while blocks arrive, in a real browser.

use alloy_primitives::{TxKind, U256};

use crate::support::{DevNode, TestExplorer, eventually, wallet_clients::run_client};

/// More than can be reverted, so that the first blocks are final.
const BLOCKS: usize = 320;

/// An explorer with final blocks, and its node.
async fn start() -> (DevNode, TestExplorer) {
    let node = DevNode::start().await;
    for _ in 0..BLOCKS {
        node.chain.mine(None);
    }
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    eventually("a final block", async || {
        (!explorer.get("/block/1").await.text.contains("<body data-stream>")).then_some(())
    })
    .await;
    (node, explorer)
}

#[tokio::test]
async fn live_lists_move_nothing_that_the_reader_uses() {
    let (node, explorer) = start().await;
    let pending = node.chain.send(0, TxKind::Call(node.account(1)), U256::from(1), []).unwrap();
    let passed = run_client("live.mjs", &[&explorer.client().url(""), &node.url(), &pending.to_string()]).await;
    assert!(passed.as_array().is_some_and(|scenarios| scenarios.len() >= 8), "{passed}");
}

#[tokio::test]
async fn only_pages_that_can_change_follow_new_blocks() {
    let (_node, explorer) = start().await;
    for (path, follows) in [
        ("/", true),
        ("/blocks", true),
        ("/block/320", true),
        ("/block/1", false),
        ("/blocks?page=2", false),
        ("/blocks?page=99999", false),
        ("/verify", false),
        ("/keys", false),
        ("/nothing", false),
    ] {
        let text = explorer.get(path).await.text;
        assert_eq!(text.contains("<body data-stream>"), follows, "{path}");
    }
}
