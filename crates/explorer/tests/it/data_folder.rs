//! A data folder belongs to one chain, one start block and one process.

use std::time::Duration;

use devchain::DevChainConfig;
use serde_json::json;

use crate::support::{DevNode, Launch, TestExplorer, expected_state, read_api};

#[tokio::test]
async fn data_of_another_chain_is_rejected_with_what_to_do() {
    let node = DevNode::start().await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let (_, data) = explorer.stop().await;
    for other in [
        DevChainConfig { chain_id: 99, ..DevChainConfig::default() },
        // The same chain id, but another genesis.
        DevChainConfig { seed: 2, ..DevChainConfig::default() },
    ] {
        let other = DevNode::with(other).await;
        let launch = Launch::run(&other.url()).argument("--on-new-chain", "halt").on(&data);
        let (status, message) = launch.fails_to_start().await;
        assert_eq!(status.code(), Some(1), "{message}");
        let [indexed, found] = [&node.chain, &other.chain].map(|chain| chain.head().hash.to_string());
        for words in ["another chain", "--rpc", "--data", "--on-new-chain reset", &indexed, &found] {
            assert!(message.contains(words), "{words}: {message}");
        }
    }
    node.chain.mine(None);
    let explorer = TestExplorer::start_on(&node.url(), &data).await;
    node.wait_for(&explorer).await;
}

#[tokio::test]
async fn a_second_process_on_the_same_data_folder_fails_without_harm() {
    let node = DevNode::start().await;
    let explorer = TestExplorer::start(&node.url()).await;
    let (status, message) = Launch::run(&node.url()).on(explorer.data()).fails_to_start().await;
    assert_eq!(status.code(), Some(1), "{message}");
    assert!(message.contains("another explorer has") && message.contains("--data"), "{message}");
    node.chain.mine(None);
    node.wait_for(&explorer).await;
}

#[tokio::test]
async fn the_index_begins_at_the_start_block_and_keeps_it() {
    let (node, _) = DevNode::with_traffic(60).await;
    let start = |block: u64| Launch::run(&node.url()).argument("--start-block", block);
    let explorer = start(5).start().await;
    node.wait_for(&explorer).await;
    let expected = expected_state(&node.rpc, 5, []).await;
    read_api(&explorer, expected.address_names()).await.assert_equals(&expected, "from block 5 on");
    assert_eq!(explorer.get("/api/v1/blocks/4").await.status, 404);
    assert_eq!(explorer.json("/api/v1/blocks").await["total"], json!(node.chain.head().number - 4));

    let (_, data) = explorer.stop().await;
    let (status, message) = start(6).on(&data).fails_to_start().await;
    assert_eq!(status.code(), Some(1), "{message}");
    assert!(message.contains("begins at block 5") && message.contains("--start-block"), "{message}");
    for launch in [start(5), Launch::run(&node.url())] {
        node.chain.mine(None);
        let explorer = launch.on(&data).start().await;
        node.wait_for(&explorer).await;
        explorer.stop().await;
    }
}

#[tokio::test]
async fn indexing_waits_for_a_start_block_in_the_future() {
    let node = DevNode::start().await;
    let explorer = Launch::run(&node.url()).argument("--start-block", 3).start().await;
    node.chain.mine(None);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(explorer.json("/api/v1/blocks").await["total"], 0);
    for _ in 0..4 {
        node.chain.mine(None);
    }
    node.wait_for(&explorer).await;
    assert_eq!(explorer.json("/api/v1/blocks").await["total"], 3);
}
