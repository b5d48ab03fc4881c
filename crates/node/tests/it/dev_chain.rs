//! Whether the node serves a chain for development.

use serde_json::json;

use crate::support::{Chain, FakeNode, Reply};

const VERSION: &str = "web3_clientVersion";

async fn node_on_chain(id: u64) -> FakeNode {
    FakeNode::start(Chain { id, ..Chain::new(10) }).await
}

#[tokio::test]
async fn the_client_version_is_asked_once() {
    for (version, is_dev_chain) in [("anvil/v1.4.0", true), ("Geth/v1.16.7", false)] {
        let node = node_on_chain(5).await;
        node.behave(move |method, _| (method == VERSION).then(|| Reply::Result(json!(version))));
        let client = node.client();
        for _ in 0..3 {
            assert_eq!(client.is_dev_chain().await.unwrap(), is_dev_chain, "{version}");
        }
        assert_eq!(node.request_count(VERSION), 1);
    }
}

#[tokio::test]
async fn nothing_is_known_until_the_node_answers() {
    let node = node_on_chain(5).await;
    node.behave(|method, _| (method == VERSION).then_some(Reply::Status(503)));
    let client = node.client();
    client.is_dev_chain().await.unwrap_err();
    node.behave(|method, _| (method == VERSION).then(|| Reply::Result(json!("anvil/v1.4.0"))));
    assert!(client.is_dev_chain().await.unwrap());
}

#[tokio::test]
async fn a_node_without_a_client_version_is_known_by_its_chain_id() {
    for (id, is_dev_chain) in [(5, false), (1_337, true)] {
        let node = node_on_chain(id).await;
        node.behave(|method, _| (method == VERSION).then_some(Reply::Error(-32601, "the method does not exist")));
        assert_eq!(node.client().is_dev_chain().await.unwrap(), is_dev_chain, "{id}");
    }
}
