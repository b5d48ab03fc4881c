//! Transfers, trades, calls and state changes of one transaction.

use std::collections::BTreeMap;

use alloy_primitives::U256;
use serde_json::{Value, json};

use crate::{
    internal::send_everything,
    support::{Anvil, DevNode, Launch, TestExplorer, anvil_history::every_kind_of_transaction, rpc::Rpc},
};

/// Without names and decimals of tokens, which are read behind the index.
fn without_names(mut entry: Value) -> Value {
    entry
        .as_object_mut()
        .unwrap()
        .retain(|name, _| !["Name", "Symbol", "Decimals"].iter().any(|end| name.ends_with(end)));
    entry
}

fn entries(list: &Value) -> Vec<Value> {
    list.as_array().unwrap().iter().cloned().map(without_names).collect()
}

#[tokio::test]
async fn transfers_and_trades_of_a_transaction_are_those_of_the_query_endpoint() {
    let (node, _) = DevNode::with_traffic(300).await;
    let explorer = Launch::run(&node.url()).argument("--anonymous-requests-per-minute", 0).start().await;
    node.wait_for(&explorer).await;
    for (entity, part, name) in [("token_transfers", "transfers", "transfers"), ("dex_trades", "trades", "trades")] {
        let mut by_transaction: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        let found = explorer.client().query(json!({ "entity": entity, "limit": 100, "orderBy": "asc" })).await;
        for entry in entries(&found["data"]) {
            by_transaction.entry(entry["txHash"].as_str().unwrap().to_owned()).or_default().push(entry);
        }
        // The last one may have more entries than the query returned.
        let last = found["data"].as_array().unwrap().last().expect("entries")["txHash"].as_str().unwrap();
        by_transaction.remove(last);
        assert!(!by_transaction.is_empty(), "transactions with all entries");
        for (hash, expected) in &by_transaction {
            let path = format!("/api/v1/transactions/{hash}/{part}");
            let list = explorer.json(&path).await;
            assert_eq!((&list["total"], &entries(&list[name])), (&json!(expected.len()), expected), "{path}");
            for (index, entry) in expected.iter().enumerate() {
                let one = explorer.json(&format!("{path}?limit=1&page={}", index + 1)).await;
                assert_eq!(entries(&one[name]), std::slice::from_ref(entry), "{path}");
            }
            let past = explorer.json(&format!("{path}?limit=1&page={}", expected.len() + 1)).await;
            assert_eq!((&past["total"], &past[name]), (&json!(expected.len()), &json!([])), "{path}");
        }
    }
    for part in ["transfers", "trades", "calls", "state-changes"] {
        let unknown = explorer.get(&format!("/api/v1/transactions/0x{}/{part}", "7".repeat(64))).await;
        assert_eq!((unknown.status, &unknown.json["code"]), (404, &json!("transaction_not_found")));
        assert_eq!(explorer.get(&format!("/api/v1/transactions/0x12/{part}")).await.status, 400);
    }
}

fn number(value: &Value) -> U256 {
    value.as_str().map_or(U256::ZERO, |text| text.parse().unwrap())
}

/// Compares the shown changes with what the node says about the states before and after a block with one transaction.
async fn assert_changes(explorer: &TestExplorer, rpc: &Rpc, hash: &str, block: u64) -> Value {
    let shown = explorer.json(&format!("/api/v1/transactions/{hash}/state-changes")).await;
    let accounts = shown["accounts"].as_array().unwrap();
    assert!(!accounts.is_empty(), "{shown}");
    let [before, after] = [block - 1, block].map(|number| format!("{number:#x}"));
    for account in accounts {
        let address = &account["address"];
        for (method, name) in [("eth_getBalance", "balance"), ("eth_getTransactionCount", "nonce")] {
            let was = number(&rpc.call(method, json!([address, before])).await).to_string();
            let is = number(&rpc.call(method, json!([address, after])).await).to_string();
            let change = if was == is { Value::Null } else { json!({ "before": was, "after": is }) };
            assert_eq!(account[name], change, "{name} of {address} in {shown}");
        }
        for slot in account["storage"].as_array().unwrap() {
            for (block, side) in [(&before, "before"), (&after, "after")] {
                let value = rpc.call("eth_getStorageAt", json!([address, slot["slot"], block])).await;
                assert_eq!(slot[side], value, "{slot} of {address}");
            }
        }
    }
    shown
}

#[tokio::test]
async fn state_changes_are_the_difference_between_two_blocks() {
    let node = DevNode::start().await;
    send_everything(&node.chain, 0);
    let explorer = Launch::run(&node.url()).argument("--anonymous-requests-per-minute", 0).start().await;
    node.wait_for(&explorer).await;
    let rpc = Rpc::new(node.url());
    for transaction in explorer.json("/api/v1/transactions").await["transactions"].as_array().unwrap() {
        let (hash, block) = (transaction["hash"].as_str().unwrap(), transaction["blockNumber"].as_u64().unwrap());
        let shown = assert_changes(&explorer, &rpc, hash, block).await;
        let page = explorer.get(&format!("/tx/{hash}/state")).await;
        assert_eq!(page.status, 200);
        assert!(page.text.contains("aria-label=\"less\""), "the sender pays: {}", page.text);
        assert_eq!(
            page.text.matches("<td data-label=\"Account\">").count(),
            shown["accounts"].as_array().unwrap().len()
        );

        let calls = explorer.json(&format!("/api/v1/transactions/{hash}/calls")).await;
        assert_eq!((&calls["calls"][0]["depth"], &calls["leftOut"]), (&json!(0), &json!(0)));
        assert_eq!(calls["calls"][0]["fromAddress"], transaction["fromAddress"]);
    }
    assert_eq!(explorer.get("/tx/0x12/state").await.status, 404);
}

#[tokio::test]
async fn state_changes_of_another_node_are_read_as_well() {
    let anvil = Anvil::start().await;
    every_kind_of_transaction(&anvil).await;
    let explorer = Launch::run(anvil.url()).argument("--anonymous-requests-per-minute", 0).start().await;
    anvil.wait_for(&explorer).await;
    let mut compared = 0;
    for block in explorer.json("/api/v1/blocks?limit=100").await["blocks"].as_array().unwrap() {
        let number = block["number"].as_u64().unwrap();
        if block["txCount"] != 1 {
            continue;
        }
        let body = json!({ "entity": "transactions", "filter": { "blockNumber": number } });
        let found = explorer.client().query(body).await;
        assert_changes(&explorer, &anvil.rpc, found["data"][0]["hash"].as_str().unwrap(), number).await;
        compared += 1;
    }
    assert!(compared > 0, "blocks with one transaction");
}

#[tokio::test]
async fn a_node_without_traces_is_told() {
    let (node, _) = DevNode::with_traffic_without_traces(20).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let list = explorer.json("/api/v1/transactions").await;
    let hash = list["transactions"][0]["hash"].as_str().unwrap();
    for part in ["calls", "state-changes"] {
        let answer = explorer.get(&format!("/api/v1/transactions/{hash}/{part}")).await;
        assert_eq!((answer.status, &answer.json["code"]), (404, &json!("not_traced")), "{part}");
    }
    for part in ["calls", "state"] {
        let page = explorer.get(&format!("/tx/{hash}/{part}")).await.text;
        assert!(page.contains("The node does not trace transactions, or does not have this one."), "{part}: {page}");
    }
}
