//! Figures by day, compared with the list of blocks.

use std::collections::BTreeMap;

use devchain::{
    DevChain, DevChainConfig,
    traffic::{HistoryPlan, Traffic},
};
use serde_json::{Value, json};

use crate::support::{DevNode, Launch, read_list};

/// A chain whose blocks are some hours apart.
async fn slow_chain() -> DevNode {
    let made = tokio::task::spawn_blocking(|| {
        let plan = HistoryPlan { transactions: 200, end: 1_800_000_000, block_seconds: 20_000, days: 0 };
        let genesis_timestamp = plan.genesis_timestamp();
        let chain = DevChain::new(DevChainConfig { genesis_timestamp, accounts: 12, ..DevChainConfig::default() });
        let mut traffic = Traffic::new(chain.clone(), 7);
        traffic.deploy().unwrap();
        traffic.history(&plan).unwrap();
        chain
    });
    DevNode::serve(made.await.unwrap()).await
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

#[tokio::test]
async fn days_add_up_to_the_blocks_and_totals_of_the_chain() {
    let node = slow_chain().await;
    let explorer = Launch::run(&node.url()).argument("--anonymous-requests-per-minute", 0).start().await;
    node.wait_for(&explorer).await;
    let mut expected: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for block in read_list(explorer.client(), "/api/v1/blocks?", "blocks").await {
        let day = expected.entry(block["timestamp"].as_str().unwrap()[..10].to_owned()).or_default();
        *day = (day.0 + 1, day.1 + number(&block["txCount"]));
    }
    assert!(expected.len() > 3, "{expected:?}");
    let list = explorer.json("/api/v1/stats/days?days=366").await;
    let days = list["days"].as_array().unwrap();
    let busy: BTreeMap<String, (u64, u64)> = days
        .iter()
        .map(|day| {
            let counts = (number(&day["blocks"]), number(&day["transactions"]));
            (day["start"].as_str().unwrap()[..10].to_owned(), counts)
        })
        .filter(|(_, counts)| *counts != (0, 0))
        .collect();
    assert_eq!(busy, expected);
    let stats = explorer.json("/api/v1/stats").await;
    for (total, name) in [("totalTransactions", "transactions"), ("totalTokens", "newTokens")] {
        let sum: u64 = days.iter().map(|day| number(&day[name])).sum();
        assert_eq!(sum, number(&stats[total]), "{name}");
    }
    assert_eq!((&list["firstIndexedBlock"], &list["complete"]), (&json!(0), &json!(true)));

    let last = explorer.json("/api/v1/stats/days?days=2").await;
    assert_eq!(last["days"].as_array().unwrap(), &days[days.len() - 2..]);
    for invalid in ["0", "-1", "x", "1.5"] {
        let answer = explorer.get(&format!("/api/v1/stats/days?days={invalid}")).await;
        assert_eq!((answer.status, &answer.json["field"]), (400, &json!("days")), "{invalid}");
    }
    let page = explorer.get("/charts?days=365").await.text;
    for day in expected.keys() {
        assert!(page.contains(&format!("aria-label=\"{day}: ")), "{day} has a bar");
    }
}
