//! The coins of an address are what it received less what it spent: transactions, payments inside them, and fees account for
//! every one.

use std::collections::BTreeMap;

use alloy_primitives::I256;
use devchain::DevChainConfig;
use serde_json::Value;

use crate::{
    internal::{send_everything, wait_for_traces},
    support::{DevNode, TestExplorer, fixture::lower_hex, read_list},
};

const ADDRESSES: usize = 200;

fn amount(value: &Value) -> I256 {
    value.as_str().unwrap().parse().unwrap()
}

/// Moves coins from an address to another one.
fn pay(balances: &mut BTreeMap<String, I256>, from: &Value, to: &Value, value: I256) {
    *balances.entry(from.as_str().unwrap().to_owned()).or_default() -= value;
    *balances.entry(to.as_str().unwrap().to_owned()).or_default() += value;
}

#[tokio::test]
async fn balances_are_the_sum_of_all_payments_and_fees() {
    // Fewer blocks than the node has states to trace.
    let (node, _) = DevNode::with_traffic(300).await;
    for round in 0..30 {
        send_everything(&node.chain, round);
    }
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    wait_for_traces(&explorer, 0, node.chain.head().number).await;

    let mut balances: BTreeMap<String, I256> = BTreeMap::new();
    for account in node.chain.accounts() {
        let funds = I256::try_from(DevChainConfig::default().account_balance).unwrap();
        balances.insert(lower_hex(account.address()), funds);
    }
    // Their producers earn what is above the base fee.
    let blocks = read_list(explorer.client(), "/api/v1/blocks?", "blocks").await;
    let blocks: BTreeMap<u64, Value> =
        blocks.into_iter().map(|block| (block["number"].as_u64().unwrap(), block)).collect();
    for tx in read_list(explorer.client(), "/api/v1/transactions?", "transactions").await {
        let fee = amount(&tx["fee"]);
        let block = &blocks[&tx["blockNumber"].as_u64().unwrap()];
        let tip = (amount(&tx["gasPrice"]) - amount(&block["baseFeePerGas"])) * amount(&tx["gasUsed"]);
        *balances.entry(block["miner"].as_str().unwrap().to_owned()).or_default() += tip;
        *balances.entry(tx["fromAddress"].as_str().unwrap().to_owned()).or_default() -= fee;
        if tx["status"] == true {
            let to = if tx["contractAddress"].is_string() { &tx["contractAddress"] } else { &tx["toAddress"] };
            pay(&mut balances, &tx["fromAddress"], to, amount(&tx["value"]));
        }
    }
    let path = "/api/v1/internal-transactions?";
    for inner in read_list(explorer.client(), path, "internalTransactions").await {
        if inner["error"].is_null() {
            pay(&mut balances, &inner["fromAddress"], &inner["toAddress"], amount(&inner["value"]));
        }
    }

    let checked: Vec<_> = balances.iter().collect();
    // Every n-th address, as many as are wanted.
    let step = (checked.len() / ADDRESSES).max(1);
    let mut count = 0;
    for (address, expected) in checked.into_iter().step_by(step).take(ADDRESSES) {
        let detail = explorer.json(&format!("/api/v1/addresses/{address}")).await;
        assert_eq!(detail["balance"], expected.to_string(), "{detail}");
        count += 1;
    }
    assert!(count >= ADDRESSES, "{count} addresses");
}
