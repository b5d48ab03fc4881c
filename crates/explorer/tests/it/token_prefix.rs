//! The prefix of token types: that of the chain, unless the operator gives one.

use serde_json::json;

use crate::support::{DevNode, Launch, TestExplorer, eventually};

/// What the API, a query and the page call the types of tokens: `BEP` or `ERC`, the same everywhere.
async fn shown_prefix(explorer: &TestExplorer) -> String {
    let tokens = explorer.json("/api/v1/tokens?limit=100").await;
    let types: Vec<&str> =
        tokens["tokens"].as_array().unwrap().iter().map(|token| token["type"].as_str().unwrap()).collect();
    assert!(types.len() >= 3, "{types:?}");
    let prefix = &types[0][..3];
    assert!(types.iter().all(|name| name.starts_with(prefix)), "{types:?}");

    let client = explorer.client();
    let transfers = client.query(json!({ "entity": "token_transfers", "limit": 1 })).await;
    assert!(transfers["data"][0]["tokenType"].as_str().unwrap().starts_with(prefix), "{transfers}");

    let other = if prefix == "BEP" { "ERC20" } else { "BEP20" };
    let page = explorer.get("/tokens").await.text;
    assert!(page.contains(&format!(">{prefix}20<")) && !page.contains(other), "{page}");
    prefix.to_owned()
}

#[tokio::test]
async fn only_tokens_of_bnb_smart_chain_are_called_bep_by_default() {
    for (chain_id, prefix, other) in [(56, "BEP", "ERC"), (97, "BEP", "ERC"), (1_337, "ERC", "BEP")] {
        let (node, _) = DevNode::with_traffic_on_chain(chain_id, 60).await;
        let explorer = Launch::run(&node.url()).with_token_prefix_of_chain().start().await;
        node.wait_for(&explorer).await;
        assert_eq!(shown_prefix(&explorer).await, prefix, "chain {chain_id}");

        let launch = Launch::run(&node.url()).with_token_prefix_of_chain().argument("--token-prefix", other);
        let explorer = launch.start().await;
        node.wait_for(&explorer).await;
        assert_eq!(shown_prefix(&explorer).await, other, "chain {chain_id} with an option");
    }
}

#[tokio::test]
async fn the_prefix_is_known_when_the_node_is_and_stays_known_without_it() {
    let (mut node, _) = DevNode::with_traffic_on_chain(56, 60).await;
    node.stop_serving().await;
    let explorer = Launch::run(&node.url()).with_token_prefix_of_chain().start().await;
    assert_eq!(explorer.json("/api/v1/tokens").await["tokens"], json!([]));
    node.resume_serving().await;
    node.wait_for(&explorer).await;
    assert_eq!(shown_prefix(&explorer).await, "BEP");

    let (_, data) = explorer.stop().await;
    node.stop_serving().await;
    let explorer = Launch::run(&node.url()).with_token_prefix_of_chain().on(&data).start().await;
    eventually("the index is served", async || (explorer.json("/api/v1/tokens").await["total"] != 0).then_some(()))
        .await;
    assert_eq!(shown_prefix(&explorer).await, "BEP");
}
