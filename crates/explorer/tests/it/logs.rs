//! Logs: every one equals the node's, by emitter and topics, page by page, after reorgs and kills.

use std::collections::BTreeSet;

use alloy_primitives::{TxKind, hex};
use devchain::{
    DevChain, DevChainConfig,
    ReorgedTransactions::{Drop, Replay},
};
use serde_json::{Value, json};

use crate::support::{DevNode, Rpc, TestExplorer, read_list};

/// All logs of a node's chain, newest first.
async fn node_logs(rpc: &Rpc) -> Vec<Value> {
    let logs = rpc.call("eth_getLogs", json!([{ "fromBlock": "0x0", "toBlock": "latest" }])).await;
    let number = |value: &Value| u64::from_str_radix(&value.as_str().unwrap()[2..], 16).unwrap();
    let short = |log: &Value| {
        json!({
            "address": log["address"].as_str().unwrap().to_lowercase(), "topics": log["topics"], "data": log["data"],
            "block": number(&log["blockNumber"]), "index": number(&log["logIndex"]), "tx": log["transactionHash"],
        })
    };
    logs.as_array().unwrap().iter().rev().map(short).collect()
}

fn shortened(log: &Value) -> Value {
    assert_eq!(log["dataSize"], (log["data"].as_str().unwrap().len() - 2) / 2, "{log}");
    json!({
        "address": log["address"], "topics": log["topics"], "data": log["data"], "block": log["blockNumber"],
        "index": log["logIndex"], "tx": log["txHash"],
    })
}

async fn listed(explorer: &TestExplorer, filter: &str) -> Vec<Value> {
    let logs = read_list(explorer.client(), &format!("/api/v1/logs?{filter}&"), "logs").await;
    logs.iter().map(shortened).collect()
}

/// The first page of a query, and its total.
async fn queried(explorer: &TestExplorer, filter: &Value) -> (Vec<Value>, u64) {
    let answer = explorer.client().query(json!({ "entity": "logs", "filter": filter })).await;
    let logs = answer["data"].as_array().unwrap().iter().map(shortened).collect();
    (logs, answer["total"].as_u64().unwrap())
}

/// Compares the whole list, and those of emitters, topics, both, and of blocks.
async fn assert_equals_node(explorer: &TestExplorer, node: &DevNode) {
    node.wait_for(explorer).await;
    let expected = node_logs(&node.rpc).await;
    assert!(expected.len() > 100, "{}", expected.len());
    assert_eq!(listed(explorer, "").await, expected);
    let matching =
        |holds: &dyn Fn(&Value) -> bool| -> Vec<Value> { expected.iter().filter(|log| holds(log)).cloned().collect() };
    let topic = |log: &Value, position: usize| log["topics"][position].as_str().map(str::to_owned);
    let emitters: BTreeSet<&str> = expected.iter().map(|log| log["address"].as_str().unwrap()).collect();
    for emitter in emitters {
        let emitted = matching(&|log| log["address"] == emitter);
        assert_eq!(listed(explorer, &format!("address={emitter}")).await, emitted);
        let detail = explorer.json(&format!("/api/v1/addresses/{emitter}")).await;
        assert_eq!(detail["logCount"], emitted.len(), "{detail}");
        let events: BTreeSet<Option<String>> = emitted.iter().map(|log| topic(log, 0)).collect();
        for event in events.into_iter().flatten() {
            let both = matching(&|log| log["address"] == emitter && log["topics"][0] == event);
            assert_eq!(listed(explorer, &format!("address={emitter}&topic0={event}")).await, both);
        }
    }
    let events: BTreeSet<Option<String>> = expected.iter().map(|log| topic(log, 0)).collect();
    for event in events.into_iter().flatten() {
        let of_event = matching(&|log| log["topics"][0] == event);
        assert_eq!(listed(explorer, &format!("topic0={event}")).await, of_event);
        let first: Vec<Value> = of_event.iter().take(25).cloned().collect();
        assert_eq!(queried(explorer, &json!({ "topic0": event })).await, (first, of_event.len() as u64));
    }
    // Every fifth log: by each of its later topics, alone and with everything else that it has.
    for log in expected.iter().step_by(5).take(12) {
        let (emitter, block) = (log["address"].as_str().unwrap(), &log["block"]);
        let mut all = format!("address={emitter}&blockFrom={block}");
        let mut filter = json!({ "address": emitter, "blockFrom": block });
        for (position, value) in log["topics"].as_array().unwrap().iter().enumerate() {
            let value = value.as_str().unwrap();
            let with_topic = matching(&|other| other["topics"][position] == value);
            assert_eq!(listed(explorer, &format!("topic{position}={value}")).await, with_topic);
            all.push_str(&format!("&topic{position}={value}"));
            filter[format!("topic{position}")] = value.into();
        }
        let alike = matching(&|other| {
            other["address"] == emitter && other["topics"] == log["topics"] && other["block"].as_u64() >= block.as_u64()
        });
        assert_eq!(listed(explorer, &all).await, alike, "{all}");
        let first: Vec<Value> = alike.iter().take(25).cloned().collect();
        assert_eq!(queried(explorer, &filter).await, (first, alike.len() as u64));
        let range = format!("blockFrom={block}&blockTo={block}");
        assert_eq!(listed(explorer, &range).await, matching(&|other| other["block"] == *block));
    }
}

#[tokio::test]
async fn every_log_equals_the_node_before_and_after_reorgs_and_a_kill() {
    let (node, mut traffic) = DevNode::with_traffic(150).await;
    let explorer = TestExplorer::start(&node.url()).await;
    assert_equals_node(&explorer, &node).await;
    let list = explorer.json("/api/v1/logs?limit=1").await;
    assert_eq!(list["completeFrom"], 0);
    let token = explorer.json("/api/v1/tokens").await["tokens"][0]["address"].as_str().unwrap().to_owned();
    let page = explorer.get(&format!("/address/{token}?tab=logs")).await.text;
    assert!(page.contains("Transfer</span>") && page.contains("Raw log"), "{page}");
    let count = explorer.json(&format!("/api/v1/addresses/{token}")).await["logCount"].to_string();
    assert!(page.contains(&format!(">Logs <span class=\"muted num\">{count}</span>")), "{count}: {page}");

    node.chain.reorg(3, 4, Replay).unwrap();
    traffic.step().unwrap();
    node.chain.mine(None);
    assert_equals_node(&explorer, &node).await;

    let data = explorer.kill();
    node.chain.reorg(6, 7, Drop).unwrap();
    traffic.step().unwrap();
    node.chain.mine(None);
    let explorer = TestExplorer::start_on(&node.url(), &data).await;
    assert_equals_node(&explorer, &node).await;
}

#[tokio::test]
async fn logs_are_served_without_the_node_and_bad_topics_are_rejected() {
    let (mut node, _) = DevNode::with_traffic(20).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let expected = node_logs(&node.rpc).await;
    node.stop_serving().await;
    assert_eq!(listed(&explorer, "").await, expected);

    let topic = format!("0x{}", "ab".repeat(32));
    assert_eq!(explorer.json(&format!("/api/v1/logs?topic0={topic}")).await["total"], 0);
    for (field, value) in [
        ("topic0", "0x1"),
        ("topic1", "Transfer(address,address,uint256)"),
        ("topic2", &topic[2..]),
        ("topic3", ""),
        ("address", "0x1"),
        ("blockFrom", "-1"),
        ("blockTo", "9223372036854775808"),
    ] {
        let answer = explorer.get(&format!("/api/v1/logs?{field}={value}")).await;
        assert_eq!((answer.status, &answer.json["field"]), (400, &json!(field)), "{}", answer.text);
    }
    let client = explorer.client();
    for filter in
        [json!({ "topic0": "0x1" }), json!({ "topic3": 5 }), json!({ "topic4": topic }), json!({ "from": topic })]
    {
        let answer = client.try_query(json!({ "entity": "logs", "filter": filter }).to_string()).await;
        assert_eq!(answer.status, 400, "{filter}: {}", answer.text);
    }
}

#[tokio::test]
async fn twenty_thousand_logs_in_a_transaction_do_not_delay_the_index() {
    let chain = DevChain::new(DevChainConfig { block_gas_limit: 200_000_000, ..DevChainConfig::default() });
    chain.mine(None);
    // Emits logs whose topics count down from 20,000, then one with 9,000 bytes of data.
    let code = hex!("614e205b805f5fa160019003806003576123285fa000");
    let draft = chain.draft(0).unwrap().kind(TxKind::Create).data(code.to_vec());
    let hash = draft.gas_limit(100_000_000).submit().unwrap();
    chain.mine(None);
    chain.mine(None);
    let node = DevNode::serve(chain).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let created = explorer.json(&format!("/api/v1/transactions/{hash}")).await["contractAddress"].clone();
    let path = format!("/api/v1/logs?address={}&limit=100", created.as_str().unwrap());
    let first = explorer.json(&path).await;
    assert_eq!((&first["total"], first["logs"].as_array().unwrap().len()), (&json!(20_001), 100));
    let long = &first["logs"][0];
    assert_eq!((&long["data"], &long["dataSize"], &long["topics"]), (&Value::Null, &json!(9_000), &json!([])));
    assert_eq!(first["logs"][1]["topics"], json!([format!("{:#066x}", 1)]));
    let last = explorer.json(&format!("{path}&page=201")).await;
    assert_eq!(last["logs"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&last["logs"][0]["topics"], &last["logs"][0]["logIndex"]),
        (&json!([format!("{:#066x}", 20_000)]), &json!(0))
    );
    let one = explorer.json(&format!("{path}&topic0={:#066x}", 777)).await;
    assert_eq!((&one["total"], &one["logs"][0]["logIndex"]), (&json!(1), &json!(20_000 - 777)));
    let page = explorer.get(&format!("/address/{}?tab=logs", created.as_str().unwrap())).await.text;
    assert!(page.contains("9,000 bytes: see the transaction"), "{page}");

    node.chain.reorg(2, 3, Drop).unwrap();
    node.wait_for(&explorer).await;
    assert_eq!(explorer.json(&path).await["total"], 0, "a revert removes them all");
    assert_eq!(explorer.json(&format!("/api/v1/logs?topic0={:#066x}", 777)).await["total"], 0);
}
