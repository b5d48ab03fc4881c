//! The prefix of token types: BEP in the API, that of the chain on pages, unless the operator gives one for both.

use serde_json::json;

use crate::support::{DevNode, Launch, TestExplorer, eventually};

/// What the API and a query call the types of tokens, and what the page does: `BEP` or `ERC`.
async fn shown_prefixes(explorer: &TestExplorer) -> [String; 2] {
    let tokens = explorer.json("/api/v1/tokens?limit=100").await;
    let types: Vec<&str> =
        tokens["tokens"].as_array().unwrap().iter().map(|token| token["type"].as_str().unwrap()).collect();
    assert!(types.len() >= 3, "{types:?}");
    let prefix = &types[0][..3];
    assert!(types.iter().all(|name| name.starts_with(prefix)), "{types:?}");

    let client = explorer.client();
    let transfers = client.query(json!({ "entity": "token_transfers", "limit": 1 })).await;
    assert!(transfers["data"][0]["tokenType"].as_str().unwrap().starts_with(prefix), "{transfers}");

    let page = explorer.get("/tokens").await.text;
    let on_page = ["BEP", "ERC"].map(|prefix| page.contains(&format!(">{prefix}20<")));
    let of_page = match on_page {
        [true, false] => "BEP",
        [false, true] => "ERC",
        _ => panic!("{page}"),
    };
    [prefix.to_owned(), of_page.to_owned()]
}

#[tokio::test]
async fn the_api_says_bep_on_every_chain_and_pages_follow_the_chain() {
    for (chain_id, on_pages, other) in
        [(56, "BEP", "ERC"), (97, "BEP", "ERC"), (1_337, "ERC", "BEP"), (1, "ERC", "ERC")]
    {
        let (node, _) = DevNode::with_traffic_on_chain(chain_id, 60).await;
        let explorer = Launch::run(&node.url()).start().await;
        node.wait_for(&explorer).await;
        assert_eq!(shown_prefixes(&explorer).await, ["BEP", on_pages], "chain {chain_id}");

        let explorer = Launch::run(&node.url()).argument("--token-prefix", other).start().await;
        node.wait_for(&explorer).await;
        assert_eq!(shown_prefixes(&explorer).await, [other; 2], "chain {chain_id} with an option");
    }
}

#[tokio::test]
async fn the_prefix_of_pages_is_known_when_the_node_is_and_stays_known_without_it() {
    let (mut node, _) = DevNode::with_traffic_on_chain(56, 60).await;
    node.stop_serving().await;
    let explorer = Launch::run(&node.url()).start().await;
    assert_eq!(explorer.json("/api/v1/tokens").await["tokens"], json!([]));
    node.resume_serving().await;
    node.wait_for(&explorer).await;
    assert_eq!(shown_prefixes(&explorer).await, ["BEP"; 2]);

    let (_, data) = explorer.stop().await;
    node.stop_serving().await;
    let explorer = Launch::run(&node.url()).on(&data).start().await;
    eventually("the index is served", async || (explorer.json("/api/v1/tokens").await["total"] != 0).then_some(()))
        .await;
    assert_eq!(shown_prefixes(&explorer).await, ["BEP"; 2]);
}
