//! Tokens, holders, transfers and trades, compared with receipts and contract calls.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{U256, keccak256};
use devchain::ReorgedTransactions::{Drop, Replay};
use serde_json::{Value, json};

use crate::support::{DevNode, TestExplorer, eventually, read_list};

/// Participants of token events by token, in lower case.
type Touched = BTreeMap<String, BTreeSet<String>>;

/// The logs of the chain and their participants.
async fn read_logs(node: &DevNode) -> (Vec<Value>, Touched) {
    let logs = node.rpc.call("eth_getLogs", json!([{ "fromBlock": "0x0", "toBlock": "latest" }])).await;
    let Value::Array(logs) = logs else { panic!("no logs") };
    let mut touched = Touched::new();
    let is = |log: &Value, event: &str| log["topics"][0] == keccak256(event).to_string();
    for log in &logs {
        let parties = match log {
            log if is(log, "Transfer(address,address,uint256)") => 1..3,
            log if is(log, "TransferSingle(address,address,address,uint256,uint256)") => 2..4,
            log if is(log, "TransferBatch(address,address,address,uint256[],uint256[])") => 2..4,
            log if is(log, "Deposit(address,uint256)") || is(log, "Withdrawal(address,uint256)") => 1..2,
            _ => continue,
        };
        let token = touched.entry(log["address"].as_str().unwrap().to_lowercase()).or_default();
        for place in parties {
            token.insert(format!("0x{}", &log["topics"][place].as_str().unwrap()[26..]));
        }
    }
    (logs, touched)
}

/// `balanceOf` of every participant of a token's events, except the zero address.
async fn expected_holders(node: &DevNode, token: &str, touched: &BTreeSet<String>) -> BTreeMap<String, U256> {
    let mut holders = BTreeMap::new();
    for holder in touched.iter().filter(|holder| !holder.ends_with(&"0".repeat(40))) {
        let data = format!("0x70a08231{:0>64}", &holder[2..]);
        let answer = node.rpc.call("eth_call", json!([{ "to": token, "data": data }, "latest"])).await;
        let balance: U256 = answer.as_str().unwrap().parse().unwrap();
        if !balance.is_zero() {
            holders.insert(holder.clone(), balance);
        }
    }
    holders
}

async fn served_holders(explorer: &TestExplorer, token: &str) -> BTreeMap<String, U256> {
    let holders = read_list(explorer.client(), &format!("/api/v1/tokens/{token}/holders?"), "holders").await;
    let balance = |holder: &Value| holder["balance"].as_str().unwrap().parse::<U256>().unwrap();
    assert!(holders.iter().map(balance).is_sorted_by(|a, b| a >= b), "the largest balance comes first");
    holders.iter().map(|holder| (holder["address"].as_str().unwrap().to_owned(), balance(holder))).collect()
}

/// Waits until token data has caught up with the tip, and compares it with the contracts.
async fn assert_tokens_agree(explorer: &TestExplorer, node: &DevNode) {
    node.wait_for(explorer).await;
    let (_, touched) = read_logs(node).await;
    let tokens = read_list(explorer.client(), "/api/v1/tokens?", "tokens").await;
    let counts: Vec<u64> = tokens.iter().map(|token| token["holderCount"].as_u64().unwrap()).collect();
    assert!(counts.is_sorted_by(|a, b| a >= b), "the most held token comes first: {counts:?}");
    for token in &tokens {
        let address = token["address"].as_str().unwrap();
        if token["type"] == "BEP1155" {
            continue;
        }
        let expected = expected_holders(node, address, &touched[address]).await;
        eventually(&format!("the truth about the holders of {}", token["name"]), async || {
            let token = explorer.json(&format!("/api/v1/tokens/{address}")).await;
            let agrees = token["holderCount"] == expected.len() && served_holders(explorer, address).await == expected;
            agrees.then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn holders_agree_with_balance_of() {
    let (node, _) = DevNode::with_traffic(500).await;
    let explorer = TestExplorer::start(&node.url()).await;
    assert_tokens_agree(&explorer, &node).await;
    let tokens = read_list(explorer.client(), "/api/v1/tokens?", "tokens").await;
    let by_calls: BTreeSet<&str> = tokens
        .iter()
        .filter(|token| token["balanceSource"] == "calls")
        .map(|token| token["symbol"].as_str().unwrap())
        .collect();
    assert_eq!(by_calls, BTreeSet::from(["HUSH", "WCOIN"]), "tokens whose events do not tell their balances");
}

#[tokio::test]
async fn holders_agree_with_balance_of_after_every_reorg() {
    let (node, mut traffic) = DevNode::with_traffic(200).await;
    let explorer = TestExplorer::start(&node.url()).await;
    assert_tokens_agree(&explorer, &node).await;
    for (depth, keep) in [(1, Replay), (3, Drop), (10, Replay)] {
        traffic.step().unwrap();
        node.chain.mine(None);
        node.chain.reorg(depth, depth + 1, keep).unwrap();
        assert_tokens_agree(&explorer, &node).await;
    }
}

#[tokio::test]
async fn every_transfer_and_trade_is_listed_once() {
    let (node, _) = DevNode::with_traffic(400).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let (logs, _) = read_logs(&node).await;
    let count = |event: &str| logs.iter().filter(|log| log["topics"][0] == keccak256(event).to_string()).count();
    let query = async |body: Value| {
        let request = explorer.client().request("POST", "/api/v1/query").header("Content-Type", "application/json");
        explorer.client().send(request.body(body.to_string())).await.ok()
    };
    let swaps_v3 = count("Swap(address,address,int256,int256,uint160,uint128,int24)");
    let swaps_v2 = count("Swap(address,uint256,uint256,uint256,uint256,address)");
    let trades = query(json!({ "entity": "dex_trades", "limit": 100 })).await;
    let pools: BTreeSet<&str> =
        trades["data"].as_array().unwrap().iter().map(|trade| trade["pairAddress"].as_str().unwrap()).collect();
    let look_alikes = logs.iter().filter(|log| {
        log["topics"][0] == keccak256("Swap(address,uint256,uint256,uint256,uint256,address)").to_string()
            && !pools.contains(log["address"].as_str().unwrap().to_lowercase().as_str())
    });
    assert_eq!(trades["total"], swaps_v2 + swaps_v3 - look_alikes.count(), "every swap of a pool is a trade");

    let transfers = query(json!({ "entity": "token_transfers", "limit": 1 })).await["total"].as_u64().unwrap();
    let single =
        count("Transfer(address,address,uint256)") + count("TransferSingle(address,address,address,uint256,uint256)");
    let batches = count("TransferBatch(address,address,address,uint256[],uint256[])");
    assert!(transfers >= u64::try_from(single + batches).unwrap(), "a batch gives a record for each id");
    let tokens = read_list(explorer.client(), "/api/v1/tokens?", "tokens").await;
    let by_token: u64 = tokens.iter().map(|token| token["transferCount"].as_u64().unwrap()).sum();
    assert_eq!(transfers, by_token);
}
