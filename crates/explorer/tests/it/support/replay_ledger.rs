//! The balances on a replayed chain, from what its blocks say: the other side of every sum that an explorer makes.

use alloy_primitives::U256;
use serde_json::{Value, json};

use super::{replay_node::Sealed, rpc::quantity};

/// Coins that no block says anything about.
#[derive(Debug, Clone, Default)]
pub(crate) struct Beside {
    /// Since the first block.
    pub(crate) genesis: Vec<(String, U256)>,
    /// What the protocol pays at the end of a block.
    pub(crate) rewards: Vec<(u64, String, U256)>,
}

fn wide(value: &Value) -> U256 {
    value.as_str().map_or(U256::ZERO, |text| text.parse().unwrap())
}

fn is(value: &Value, address: &str) -> bool {
    value.as_str().is_some_and(|text| text.eq_ignore_ascii_case(address))
}

/// The balance of an address at the end of the last of these blocks.
pub(crate) fn balance(beside: &Beside, blocks: &[Sealed], address: &str) -> U256 {
    let granted = |list: &[(String, U256)]| {
        list.iter().filter(|(to, _)| to.eq_ignore_ascii_case(address)).map(|(_, amount)| *amount).sum::<U256>()
    };
    let mut balance = granted(&beside.genesis);
    for Sealed { block, receipts, .. } in blocks.iter().skip(1) {
        for (tx, receipt) in block["transactions"].as_array().unwrap().iter().zip(receipts) {
            let gas = wide(&receipt["gasUsed"]);
            let (price, base) = (wide(&receipt["effectiveGasPrice"]), wide(&block["baseFeePerGas"]));
            let is_deposit = tx["type"] == "0x7e";
            let value = if receipt["status"] == "0x0" { U256::ZERO } else { wide(&tx["value"]) };
            if is_deposit && is(&tx["from"], address) {
                balance += wide(&tx["mint"]);
            }
            let blobs = wide(&receipt["blobGasUsed"]) * wide(&receipt["blobGasPrice"]);
            if !is_deposit && is(&block["miner"], address) {
                balance += gas * price.saturating_sub(base);
            }
            if is(&tx["to"], address) || is(&receipt["contractAddress"], address) {
                balance += value;
            }
            if is(&tx["from"], address) {
                let fee = if is_deposit { U256::ZERO } else { gas * price + blobs + wide(&receipt["l1Fee"]) };
                balance = balance.saturating_sub(value + fee);
            }
        }
        for withdrawal in block["withdrawals"].as_array().into_iter().flatten() {
            if is(&withdrawal["address"], address) {
                balance += wide(&withdrawal["amount"]) * U256::from(1_000_000_000);
            }
        }
        let number = quantity(&block["number"]);
        for (_, _, amount) in
            beside.rewards.iter().filter(|(at, to, _)| *at == number && to.eq_ignore_ascii_case(address))
        {
            balance += *amount;
        }
    }
    balance
}

/// The calls of all transactions of a block, none of which calls another contract.
pub(crate) fn traces(Sealed { block, receipts, .. }: &Sealed) -> Value {
    let transactions = block["transactions"].as_array().unwrap().iter().zip(receipts);
    let frame = |(tx, receipt): (&Value, &Value)| {
        let mut frame = json!({
            "type": if tx["to"].is_null() { "CREATE" } else { "CALL" },
            "from": tx["from"],
            "to": if tx["to"].is_null() { &receipt["contractAddress"] } else { &tx["to"] },
            "value": tx["value"], "gas": tx["gas"], "gasUsed": receipt["gasUsed"], "input": tx["input"], "output": "0x",
        });
        if receipt["status"] == "0x0" {
            frame["error"] = json!("execution reverted");
        }
        json!({ "txHash": tx["hash"], "result": frame })
    };
    transactions.map(frame).collect()
}
