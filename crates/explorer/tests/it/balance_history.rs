//! Balances over time: every point equals what the node says about its block.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{Address, U256};
use devchain::{
    DevChain, DevChainConfig,
    ReorgedTransactions::{Drop, Replay},
};
use serde_json::{Value, json};

use crate::{
    internal::{send_everything, wait_for_traces},
    support::{DevNode, Launch, Rpc, TestExplorer, eventually, fixture::lower_hex, read_list},
};

async fn start(node: &DevNode) -> TestExplorer {
    let unlimited = Launch::run(&node.url()).argument("--anonymous-requests-per-minute", 0);
    unlimited.argument("--pages-per-minute", 0).start().await
}

/// A balance at the end of a block, from the node.
async fn coins(rpc: &Rpc, address: &str, block: u64) -> U256 {
    let balance = rpc.call("eth_getBalance", json!([address, format!("{block:#x}")])).await;
    balance.as_str().unwrap().parse().unwrap()
}

async fn tokens(rpc: &Rpc, token: &str, address: &str, block: u64) -> U256 {
    let data = format!("0x70a08231{:0>64}", &address[2..]);
    let answer = rpc.call("eth_call", json!([{ "to": token, "data": data }, format!("{block:#x}")])).await;
    // Before its creation, the contract returns nothing.
    answer.as_str().filter(|answer| *answer != "0x").map_or(U256::ZERO, |answer| answer.parse().unwrap())
}

fn points(history: &Value) -> Vec<(u64, U256)> {
    let point = |point: &Value| {
        (point["blockNumber"].as_u64().unwrap(), point["balance"].as_str().unwrap().parse::<U256>().unwrap())
    };
    history["points"].as_array().unwrap().iter().map(point).collect()
}

/// Compares all points. If none is left out, nothing changes in between: the block before a point still has the balance of the
/// one before.
async fn assert_equals_node(history: &Value, at: impl AsyncFn(u64) -> U256) {
    let points = points(history);
    assert!(!points.is_empty() && points.len() <= 100, "{history}");
    assert!(points.is_sorted_by(|one, other| one.0 < other.0), "{history}");
    for (block, balance) in &points {
        assert_eq!(at(*block).await, *balance, "block {block} of {history}");
    }
    if points.len() == 100 {
        return;
    }
    for pair in points.windows(2) {
        assert_eq!(at(pair[1].0 - 1).await, pair[0].1, "before block {} of {history}", pair[1].0);
    }
}

async fn coin_history(explorer: &TestExplorer, address: &str) -> Value {
    explorer.json(&format!("/api/v1/addresses/{address}/balance-history")).await
}

/// Addresses of all transactions and payments inside them; the most frequent ones first.
async fn known_addresses(explorer: &TestExplorer) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let lists = [("transactions", "transactions"), ("internal-transactions", "internalTransactions")];
    for (path, name) in lists {
        for entry in read_list(explorer.client(), &format!("/api/v1/{path}?"), name).await {
            for field in ["fromAddress", "toAddress", "contractAddress"] {
                if let Some(address) = entry[field].as_str().filter(|address| !address.is_empty()) {
                    *counts.entry(address.to_owned()).or_default() += 1;
                }
            }
        }
    }
    let mut addresses: Vec<(String, usize)> = counts.into_iter().collect();
    addresses.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    addresses.into_iter().map(|(address, _)| address).collect()
}

async fn assert_coins_agree(explorer: &TestExplorer, node: &DevNode) {
    let head = node.chain.head().number;
    node.wait_for(explorer).await;
    wait_for_traces(explorer, 0, head).await;
    let blocks = read_list(explorer.client(), "/api/v1/blocks?", "blocks").await;
    let miners: BTreeSet<&str> = blocks.iter().map(|block| block["miner"].as_str().unwrap()).collect();
    let addresses = known_addresses(explorer).await;
    let (busy, rest) = addresses.split_at(addresses.len().min(8));
    let some = rest.iter().step_by((rest.len() / 20).max(1)).map(String::as_str);
    let (mut changes, mut checked) = (0, 0);
    // Producers of blocks earn fees.
    for address in busy.iter().map(String::as_str).chain(some).chain(miners) {
        let history = coin_history(explorer, address).await;
        assert_eq!(history["inexactReasons"], json!([]), "{history}");
        assert_eq!((&history["exact"], &history["complete"]), (&json!(true), &json!(true)), "{history}");
        assert_eq!((&history["completeFrom"], &history["token"]), (&json!(0), &Value::Null), "{history}");
        assert_eq!(points(&history).last().unwrap().0, head, "{history}");
        assert_equals_node(&history, async |block| coins(&node.rpc, address, block).await).await;
        changes += history["points"].as_array().unwrap().len();
        checked += 1;
    }
    assert!(checked >= 20 && changes > 3 * checked, "{changes} points of {checked} addresses");
}

#[tokio::test]
async fn coins_of_the_past_equal_those_of_the_node_also_after_reorgs() {
    // Fewer blocks than the node has states of.
    let (node, mut traffic) = DevNode::with_traffic(200).await;
    for round in 0..4 {
        send_everything(&node.chain, round);
    }
    let explorer = start(&node).await;
    assert_coins_agree(&explorer, &node).await;
    for (depth, keep) in [(3, Replay), (7, Drop)] {
        traffic.step().unwrap();
        node.chain.mine(None);
        node.chain.reorg(depth, depth + 1, keep).unwrap();
        assert_coins_agree(&explorer, &node).await;
    }
}

#[tokio::test]
async fn tokens_of_the_past_equal_those_of_the_contracts() {
    let (node, mut traffic) = DevNode::with_traffic(300).await;
    let explorer = start(&node).await;
    for round in 0..2 {
        node.wait_for(&explorer).await;
        let expected = BTreeSet::from(["HUSH".to_owned(), "WCOIN".to_owned()]);
        // Names and audits lag behind the tip.
        let listed = eventually("audits", async || {
            let listed = read_list(explorer.client(), "/api/v1/tokens?", "tokens").await;
            let by_calls = listed.iter().filter(|token| token["balanceSource"] == "calls");
            let by_calls: BTreeSet<String> =
                by_calls.map(|token| token["symbol"].as_str().unwrap().to_owned()).collect();
            (by_calls == expected).then_some(listed)
        })
        .await;
        let (mut exact, mut inexact) = (0, BTreeSet::new());
        for token in listed {
            let address = token["address"].as_str().unwrap();
            let holders = format!("/api/v1/tokens/{address}/holders");
            let holders = eventually("holders", async || {
                let holders = explorer.json(&holders).await["holders"].as_array().unwrap().clone();
                (!holders.is_empty() || token["holderCount"] == 0).then_some(holders)
            })
            .await;
            for holder in holders.iter().take(6).map(|holder| holder["address"].as_str().unwrap()) {
                let path = format!("/api/v1/addresses/{holder}/balance-history?token={address}");
                let history = explorer.json(&path).await;
                assert_eq!(history["token"]["address"], token["address"], "{history}");
                if history["exact"] == false {
                    assert_eq!(history["inexactReasons"][0], "balances_from_contract", "{history}");
                    inexact.insert(token["symbol"].as_str().unwrap().to_owned());
                    continue;
                }
                assert_eq!((&history["complete"], &history["completeFrom"]), (&json!(true), &json!(0)), "{history}");
                // Balances of this standard are by id.
                if token["type"] != "BEP1155" {
                    assert_equals_node(&history, async |block| tokens(&node.rpc, address, holder, block).await).await;
                    exact += 1;
                }
            }
        }
        assert!(exact > 20, "{exact}");
        assert_eq!(inexact, expected, "tokens whose transfers do not tell their balances");
        if round == 0 {
            traffic.step().unwrap();
            node.chain.mine(None);
            node.chain.reorg(4, 5, Replay).unwrap();
        }
    }
}

/// A chain on which one account makes many payments, five in each block.
fn chain_with_payments(count: u64) -> DevChain {
    let chain = DevChain::new(DevChainConfig::default());
    for number in 1..=count {
        let to = Address::repeat_byte(u8::try_from(number % 3).unwrap() + 0x51);
        chain.draft(0).unwrap().to(to).value(U256::from(number)).gas_limit(21_000).submit().unwrap();
        if number % 5 == 0 {
            chain.mine(None);
        }
    }
    chain.mine(None);
    chain
}

#[tokio::test]
async fn the_history_of_a_busy_address_is_bounded_and_says_how_far_back_it_reaches() {
    let made = tokio::task::spawn_blocking(|| chain_with_payments(503));
    let node = DevNode::serve(made.await.unwrap()).await;
    let explorer = start(&node).await;
    let head = node.chain.head().number;
    node.wait_for(&explorer).await;
    wait_for_traces(&explorer, 0, head).await;

    let busy = lower_hex(node.account(0));
    let history = coin_history(&explorer, &busy).await;
    // The newest 300 are those of 61 blocks; not all payments of the first of them are read.
    assert_eq!((&history["completeFrom"], &history["complete"]), (&json!(head - 60), &json!(false)), "{history}");
    assert_eq!(history["exact"], true, "{history}");
    let sampled = points(&history);
    assert!((50..=100).contains(&sampled.len()) && sampled.last().unwrap().0 == head, "{history}");
    for (block, balance) in sampled {
        assert_eq!(coins(&node.rpc, &busy, block).await, balance, "block {block}");
    }

    // The same for one that has few.
    let paid = lower_hex(Address::repeat_byte(0x52));
    let history = coin_history(&explorer, &paid).await;
    assert_eq!((&history["complete"], &history["exact"]), (&json!(true), &json!(true)), "{history}");
}

#[tokio::test]
async fn a_history_without_traces_or_from_the_middle_of_the_chain_is_not_exact() {
    let (node, _) = DevNode::with_traffic_without_traces(120).await;
    let first = node.chain.head().number / 2;
    let explorer = Launch::run(&node.url()).argument("--start-block", first).start().await;
    node.wait_for(&explorer).await;
    let sender = explorer.json("/api/v1/transactions").await["transactions"][0]["fromAddress"].clone();
    let history = coin_history(&explorer, sender.as_str().unwrap()).await;
    assert_eq!((&history["exact"], &history["complete"]), (&json!(false), &json!(false)), "{history}");
    assert_eq!(history["inexactReasons"], json!(["no_internal_transactions", "does_not_add_up"]), "{history}");
    assert_eq!((&history["completeFrom"], &history["firstIndexedBlock"]), (&json!(first), &json!(first)), "{history}");

    let token = explorer.json("/api/v1/tokens").await["tokens"][0]["address"].clone();
    let path = format!("/api/v1/addresses/{}/balance-history?token=", sender.as_str().unwrap());
    let history = explorer.json(&format!("{path}{}", token.as_str().unwrap())).await;
    let reasons = history["inexactReasons"].as_array().unwrap();
    assert!(history["exact"] == false && reasons.contains(&json!("partial_index")), "{history}");

    let unknown = "0x00000000000000000000000000000000000012ab";
    for (path, status, code) in [
        (format!("{path}{unknown}"), 404, "token_not_found"),
        (format!("/api/v1/addresses/{unknown}/balance-history"), 404, "address_not_found"),
        (format!("{path}0x12"), 400, "invalid_parameter"),
        (format!("{path}{unknown}&token={unknown}"), 400, "repeated_parameter"),
    ] {
        let answer = explorer.get(&path).await;
        assert_eq!((answer.status, &answer.json["code"]), (status, &json!(code)), "{path}");
    }
}

#[tokio::test]
async fn the_page_shows_the_history_with_a_choice_of_tokens() {
    let (node, _) = DevNode::with_traffic(200).await;
    let explorer = start(&node).await;
    node.wait_for(&explorer).await;
    wait_for_traces(&explorer, 0, node.chain.head().number).await;
    let tokens = read_list(explorer.client(), "/api/v1/tokens?", "tokens").await;
    let named = |symbol: &str| {
        let found = tokens.iter().find(|token| token["symbol"] == symbol);
        found.unwrap_or_else(|| panic!("no {symbol}"))["address"].as_str().unwrap().to_owned()
    };
    let hush = named("HUSH");
    let plain = tokens.iter().find(|token| token["balanceSource"] == "events").unwrap()["address"].as_str().unwrap();
    let holder = eventually("a holder", async || {
        let holders = explorer.json(&format!("/api/v1/tokens/{hush}/holders")).await;
        holders["holders"][0]["address"].as_str().map(str::to_owned)
    })
    .await;

    let page = explorer.get(&format!("/address/{holder}?tab=balance")).await.text;
    let history = coin_history(&explorer, &holder).await;
    let rows = page.matches("<td data-label=\"Balance\"").count();
    assert_eq!(rows, history["points"].as_array().unwrap().len(), "{page}");
    assert!(page.contains("<rect") && page.contains("tabindex=\"0\" role=\"img\""), "{page}");
    assert!(page.contains(&format!("href=\"/api/v1/addresses/{holder}/balance-history\"")), "{page}");
    assert!(!page.contains("may be wrong"), "{page}");
    assert!(page.to_lowercase().contains(&format!("<option value=\"{hush}\"")), "{page}");

    let page = explorer.get(&format!("/address/{holder}?tab=balance&token={hush}")).await.text;
    assert!(page.contains("may be wrong") && page.contains("takes fees"), "{page}");
    assert!(page.to_lowercase().contains(&format!("<option value=\"{hush}\" selected")), "{page}");
    let page = explorer.get(&format!("/address/{holder}?tab=balance&token={plain}")).await.text;
    assert!(page.contains("<rect") && !page.contains("may be wrong"), "{page}");

    let page = explorer.get(&format!("/address/{holder}?tab=balance&token=0x12")).await;
    assert!(page.status == 200 && page.text.contains("40 hexadecimal digits"), "{}", page.text);
    let page =
        explorer.get(&format!("/address/{holder}?tab=balance&token={}", "0x".to_owned() + &"12".repeat(20))).await;
    assert!(page.status == 200 && page.text.contains("No transfer of such a token"), "{}", page.text);
}
