//! An indexer that stands still (SIGSTOP) while it holds the lock, and goes on later: another one takes over, and what the first
//! one does afterwards changes nothing.

use super::{role, server::Server, wait_for_log};
use crate::support::{DevNode, expected_state, read_api};

#[tokio::test]
async fn an_indexer_that_stands_still_is_replaced_and_cannot_write_when_it_continues() {
    let server = Server::shared();
    let url = server.database().await;
    let (node, mut traffic) = DevNode::with_traffic(40).await;
    let first = role(&node.url(), &url, "index").spawn();
    let serving = role(&node.url(), &url, "serve").start().await;
    node.wait_for(&serving).await;
    let second = role(&node.url(), &url, "index").spawn();
    wait_for_log(&second, "another process writes the index, standing by").await;
    first.pause();
    traffic.step().unwrap();
    node.chain.mine(None);
    node.wait_for(&serving).await;
    wait_for_log(&second, "this process writes the index now").await;

    first.resume();
    wait_for_log(&first, "another process writes the index, standing by").await;
    assert!(!first.stderr().contains("indexing stops"), "it goes on when the other one ends");
    node.chain.reorg(3, 5, devchain::ReorgedTransactions::Replay).unwrap();
    traffic.step().unwrap();
    node.chain.mine(None);
    node.wait_for(&serving).await;
    let expected = expected_state(&node.rpc, 0, []).await;
    read_api(&serving, expected.address_names()).await.assert_equals(&expected, "after the pause");
}
