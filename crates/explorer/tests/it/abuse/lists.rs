//! Queries of logs with alternatives, which the index answers.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Scene, cost, rows};

#[tokio::test]
async fn alternatives_of_topics_are_answered_without_the_node() {
    let scene = Scene::with(400).await;
    let logs = scene.explorer.json("/api/v1/logs?limit=100").await;
    let topics: BTreeSet<String> = logs["logs"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|log| log["topics"][0].as_str().map(str::to_owned))
        .collect();
    let second = logs["logs"].as_array().unwrap().iter().find_map(|log| log["topics"][1].as_str()).unwrap();
    let first = topics.iter().next().unwrap();
    let before = scene.calls(&["eth_getLogs"]);
    let list = async |client: u16, query: &str| {
        let answer = scene.client(client).get(&format!("/api?module=logs&action=getLogs&{query}")).await;
        assert!(cost(&answer) <= 5, "{}", answer.text);
        rows(&answer).to_vec()
    };
    let key = |log: &Value| {
        (log["blockNumber"].as_str().unwrap().len(), log["blockNumber"].to_string(), log["logIndex"].to_string())
    };
    let either = list(1, &format!("topic0={first}&topic1={second}&topic0_1_opr=or")).await;
    let mut expected: Vec<Value> = list(2, &format!("topic0={first}")).await;
    expected.extend(list(3, &format!("topic1={second}")).await);
    let expected: BTreeSet<_> = expected.iter().map(key).collect();
    let found: BTreeSet<_> = either.iter().map(key).collect();
    assert!(!either.is_empty());
    // A page has a thousand.
    assert!(expected.len() <= 1_000 && found.len() == either.len(), "each once: {}", either.len());
    assert_eq!(found, expected);
    let second_page = list(4, &format!("topic0={first}&topic1={second}&topic0_1_opr=or&page=2&offset=5")).await;
    assert_eq!(second_page, either[5..10.min(either.len())]);
    assert_eq!(scene.calls(&["eth_getLogs"]), before);
}
