//! Tokens, holders, transfers and trades, compared with receipts and contract calls.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{U256, keccak256};
use devchain::ReorgedTransactions::{Drop, Replay};
use serde_json::{Value, json};

use crate::support::{DevNode, TestExplorer, eventually, read_list, try_read_list};

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

/// None while the list changes.
async fn served_holders(explorer: &TestExplorer, token: &str) -> Option<BTreeMap<String, U256>> {
    let path = format!("/api/v1/tokens/{token}/holders?");
    let holders = try_read_list(explorer.client(), &path, "holders").await.ok()?;
    let balance = |holder: &Value| holder["balance"].as_str().unwrap().parse::<U256>().unwrap();
    assert!(holders.iter().map(balance).is_sorted_by(|a, b| a >= b), "the largest balance comes first");
    Some(holders.iter().map(|holder| (holder["address"].as_str().unwrap().to_owned(), balance(holder))).collect())
}

/// Waits until token data has caught up with the tip, and compares it with the contracts.
async fn assert_tokens_agree(explorer: &TestExplorer, node: &DevNode) {
    node.wait_for(explorer).await;
    let (_, touched) = read_logs(node).await;
    let tokens = read_list(explorer.client(), "/api/v1/tokens?", "tokens").await;
    let counts: Vec<u64> = tokens.iter().map(|token| token["holderCount"].as_u64().unwrap()).collect();
    assert!(counts.is_sorted_by(|a, b| a >= b), "the most held token comes first: {counts:?}");
    let listed: BTreeSet<&str> = tokens.iter().map(|token| token["address"].as_str().unwrap()).collect();
    let emitters: BTreeSet<&str> = touched.keys().map(String::as_str).collect();
    assert_eq!(listed, emitters, "every contract with token events is a token");
    for token in &tokens {
        let address = token["address"].as_str().unwrap();
        if token["type"] == "BEP1155" {
            continue;
        }
        let expected = expected_holders(node, address, &touched[address]).await;
        eventually(&format!("the truth about the holders of {}", token["name"]), async || {
            let token = explorer.json(&format!("/api/v1/tokens/{address}")).await;
            let holders = served_holders(explorer, address).await?;
            (token["holderCount"] == expected.len() && holders == expected).then_some(())
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
    let of = |event: &str| {
        let topic = keccak256(event).to_string();
        logs.iter().filter(move |log| log["topics"][0] == topic).collect::<Vec<_>>()
    };
    // The pools that factories have created: another contract emits the same event.
    let word = |log: &Value, place: usize| log["data"].as_str().unwrap()[2 + 64 * place..][..64].to_owned();
    let address = |word: String| format!("0x{}", &word[24..]);
    let pairs = of("PairCreated(address,address,address,uint256)").into_iter().map(|log| address(word(log, 0)));
    let pools = of("PoolCreated(address,address,uint24,int24,address)").into_iter().map(|log| address(word(log, 1)));
    let pools: BTreeSet<String> = pairs.chain(pools).collect();
    let mut expected = BTreeMap::<String, usize>::new();
    for event in [
        "Swap(address,uint256,uint256,uint256,uint256,address)",
        "Swap(address,address,int256,int256,uint160,uint128,int24)",
    ] {
        let emitters = of(event).into_iter().map(|log| log["address"].as_str().unwrap().to_lowercase());
        let traded: Vec<String> = emitters.filter(|emitter| pools.contains(emitter)).collect();
        assert!(traded.len() > 5, "{event}: {traded:?}");
        for pool in traded {
            *expected.entry(pool).or_default() += 1;
        }
    }
    let mut traded = BTreeMap::<String, usize>::new();
    for page in 0.. {
        let body = json!({ "entity": "dex_trades", "limit": 100, "offset": 100 * page });
        let trades = explorer.client().query(body).await;
        let trades = trades["data"].as_array().unwrap();
        for trade in trades {
            *traded.entry(trade["pairAddress"].as_str().unwrap().to_owned()).or_default() += 1;
        }
        if trades.is_empty() {
            break;
        }
    }
    assert_eq!(traded, expected, "every swap of a pool is a trade, and nothing else is");

    // A batch gives a record for each id.
    let transfers =
        explorer.client().query(json!({ "entity": "token_transfers", "limit": 1 })).await["total"].as_u64().unwrap();
    let single = of("Transfer(address,address,uint256)").len()
        + of("TransferSingle(address,address,address,uint256,uint256)").len();
    let ids_of = |log: &Value| {
        let offset = usize::from_str_radix(&word(log, 0), 16).unwrap();
        u64::from_str_radix(&word(log, offset / 32), 16).unwrap()
    };
    let batches = of("TransferBatch(address,address,address,uint256[],uint256[])");
    assert!(!batches.is_empty());
    let in_batches: u64 = batches.into_iter().map(ids_of).sum();
    assert_eq!(transfers, u64::try_from(single).unwrap() + in_batches);
    let tokens = read_list(explorer.client(), "/api/v1/tokens?", "tokens").await;
    let by_token: u64 = tokens.iter().map(|token| token["transferCount"].as_u64().unwrap()).sum();
    assert_eq!(transfers, by_token);
}
