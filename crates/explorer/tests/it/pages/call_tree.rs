//! The calls of a transaction as a tree.

use crate::{
    internal::send_everything,
    support::{DevNode, TestExplorer, eventually},
};

#[tokio::test]
async fn calls_inside_a_transaction_are_shown_with_their_depth() {
    let node = DevNode::start().await;
    send_everything(&node.chain, 0);
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let internal = eventually("the traces are indexed", async || {
        let list = explorer.json("/api/v1/internal-transactions?limit=100").await;
        list["internalTransactions"].as_array().filter(|internal| !internal.is_empty()).cloned()
    })
    .await;
    let hash = internal[0]["txHash"].as_str().unwrap();
    let page = explorer.get(&format!("/tx/{hash}/calls")).await;
    assert_eq!(page.status, 200);
    assert!(
        page.text.contains("aria-label=\"Depth 0\"") && page.text.contains("aria-label=\"Depth 1\""),
        "{}",
        page.text
    );
    let expected = internal.iter().filter(|found| found["txHash"] == hash).count();
    assert!(page.text.matches("aria-label=\"Depth ").count() > expected, "the transaction itself is a call, too");
    assert!(explorer.get(&format!("/tx/{hash}")).await.text.contains(&format!("href=\"/tx/{hash}/calls\"")));

    assert_eq!(explorer.get("/tx/0x12/calls").await.status, 404);
    assert_eq!(explorer.get(&format!("/tx/0x{}/calls", "7".repeat(64))).await.status, 404);
}
