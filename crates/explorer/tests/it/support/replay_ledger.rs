//! The balances on a replayed chain, from what its blocks say: the other side of every sum that an explorer makes.

use std::fs;

use alloy_primitives::{Address, U256};
use alloy_trie::{TrieAccount, root::state_root_unhashed};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    Launch,
    replay_node::{Draft, Sealed},
    rpc::quantity,
};

/// What no block says.
#[derive(Debug, Clone, Default)]
pub(crate) struct Beside {
    /// Coins since the first block.
    pub(crate) genesis: Vec<(String, U256)>,
    /// What the protocol pays at the end of a block.
    pub(crate) rewards: Vec<(u64, String, U256)>,
    /// Calls inside a transaction, by block and position, as a tracer returns them; a text for one that failed, which its receipt does
    /// not tell.
    pub(crate) calls: Vec<((u64, usize), Value)>,
}

impl Beside {
    /// These addresses have coins since the first block.
    pub(crate) fn granted(genesis: &[(&str, U256)]) -> Self {
        let genesis = genesis.iter().map(|(address, amount)| ((*address).to_owned(), *amount)).collect();
        Self { genesis, ..Self::default() }
    }

    /// A first block with the state root of what it grants, and its file.
    pub(crate) fn genesis(&self) -> (Draft, GenesisFile) {
        let balances = self.genesis.iter().map(|(address, balance)| (address.parse().unwrap(), *balance));
        let balances: Vec<(Address, U256)> = balances.collect();
        let account = |(address, balance): &(Address, U256)| {
            (*address, TrieAccount { balance: *balance, ..TrieAccount::default() })
        };
        let header = json!({ "stateRoot": state_root_unhashed(balances.iter().map(account)) });
        (Draft { header, ..Draft::default() }, GenesisFile::of(balances))
    }

    fn calls_of(&self, block: u64, index: usize) -> Option<&Value> {
        self.calls.iter().find(|(at, _)| *at == (block, index)).map(|(_, calls)| calls)
    }
}

fn wide(value: &Value) -> U256 {
    value.as_str().map_or(U256::ZERO, |text| text.parse().unwrap())
}

fn is(value: &Value, address: &str) -> bool {
    value.as_str().is_some_and(|text| text.eq_ignore_ascii_case(address))
}

/// Coins that a deposit brings, by its type.
fn minted(tx: &Value) -> U256 {
    match tx["type"].as_str() {
        Some("0x7e") => wide(&tx["mint"]),
        Some("0x64") => wide(&tx["value"]),
        Some("0x69") => wide(&tx["depositValue"]),
        _ => U256::ZERO,
    }
}

fn is_unpaid(tx: &Value) -> bool {
    ["0x64", "0x6a", "0x7e"].iter().any(|unpaid| tx["type"] == *unpaid)
}

/// What a transaction pays in the chain's coin, without what its producer gets of it, and that.
fn fee(tx: &Value, receipt: &Value, base: U256) -> (U256, U256) {
    if is_unpaid(tx) || tx["feeCurrency"].is_string() {
        return (U256::ZERO, U256::ZERO);
    }
    let (gas, price) = (wide(&receipt["gasUsed"]), wide(&receipt["effectiveGasPrice"]));
    let blobs = wide(&receipt["blobGasUsed"]) * wide(&receipt["blobGasPrice"]);
    let scaled = gas * wide(&receipt["operatorFeeScalar"]) / U256::from(1_000_000);
    let operator = scaled + wide(&receipt["operatorFeeConstant"]);
    let base = base.min(price);
    (gas * base + blobs + wide(&receipt["l1Fee"]) + operator, gas * (price - base))
}

/// What an address gets and pays by calls, and those inside them.
fn moved(calls: &Value, address: &str) -> (U256, U256) {
    let (mut received, mut paid) = (U256::ZERO, U256::ZERO);
    for call in calls.as_array().into_iter().flatten().filter(|call| call["error"].is_null()) {
        if is(&call["to"], address) {
            received += wide(&call["value"]);
        }
        if is(&call["from"], address) {
            paid += wide(&call["value"]);
        }
        let (inner_received, inner_paid) = moved(&call["calls"], address);
        (received, paid) = (received + inner_received, paid + inner_paid);
    }
    (received, paid)
}

/// Whether a transaction succeeded. Before Byzantium nothing but its trace tells.
fn succeeded(beside: &Beside, at: (u64, usize), receipt: &Value) -> bool {
    receipt["status"] != "0x0" && !beside.calls_of(at.0, at.1).is_some_and(Value::is_string)
}

/// The balance of an address at the end of the last of these blocks.
pub(crate) fn balance(beside: &Beside, blocks: &[Sealed], address: &str) -> U256 {
    let granted = |list: &[(String, U256)]| {
        list.iter().filter(|(to, _)| to.eq_ignore_ascii_case(address)).map(|(_, amount)| *amount).sum::<U256>()
    };
    let (mut received, mut paid) = (granted(&beside.genesis), U256::ZERO);
    for Sealed { block, receipts, .. } in blocks.iter().skip(1) {
        let number = quantity(&block["number"]);
        for (index, (tx, receipt)) in block["transactions"].as_array().unwrap().iter().zip(receipts).enumerate() {
            let (fee, tip) = fee(tx, receipt, wide(&block["baseFeePerGas"]));
            if is(&tx["from"], address) {
                received += minted(tx);
                paid += fee + tip;
            }
            if is(&block["miner"], address) {
                received += tip;
            }
            if !succeeded(beside, (number, index), receipt) {
                continue;
            }
            if is(&tx["to"], address) || is(&receipt["contractAddress"], address) {
                received += wide(&tx["value"]);
            }
            if is(&tx["from"], address) {
                paid += wide(&tx["value"]);
            }
            let (inner_received, inner_paid) = moved(beside.calls_of(number, index).unwrap_or(&Value::Null), address);
            (received, paid) = (received + inner_received, paid + inner_paid);
        }
        for withdrawal in block["withdrawals"].as_array().into_iter().flatten() {
            if is(&withdrawal["address"], address) {
                received += wide(&withdrawal["amount"]) * U256::from(1_000_000_000);
            }
        }
        for (_, _, amount) in
            beside.rewards.iter().filter(|(at, to, _)| *at == number && to.eq_ignore_ascii_case(address))
        {
            received += *amount;
        }
    }
    // Tests that do not care about coins grant none.
    received.saturating_sub(paid)
}

/// The calls of all transactions of a block.
pub(crate) fn traces(beside: &Beside, Sealed { block, receipts, .. }: &Sealed) -> Value {
    let number = quantity(&block["number"]);
    let transactions = block["transactions"].as_array().unwrap().iter().zip(receipts).enumerate();
    let frame = |(index, (tx, receipt)): (usize, (&Value, &Value))| {
        let mut frame = json!({
            "type": if tx["to"].is_null() { "CREATE" } else { "CALL" },
            "from": tx["from"],
            "to": if tx["to"].is_null() { &receipt["contractAddress"] } else { &tx["to"] },
            "value": tx["value"], "gas": tx["gas"], "gasUsed": receipt["gasUsed"], "input": tx["input"], "output": "0x",
        });
        if succeeded(beside, (number, index), receipt) {
            frame["calls"] = beside.calls_of(number, index).cloned().unwrap_or(json!([]));
        } else {
            frame["error"] = json!("execution reverted");
        }
        json!({ "txHash": tx["hash"], "result": frame })
    };
    transactions.map(frame).collect()
}

/// A genesis file, and a configuration that names it.
#[derive(Debug)]
pub(crate) struct GenesisFile(TempDir);

impl GenesisFile {
    pub(crate) fn new(genesis: &Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("genesis.json");
        fs::write(&path, genesis.to_string()).unwrap();
        fs::write(folder.path().join("explorer.toml"), format!("genesis = '{}'", path.display())).unwrap();
        Self(folder)
    }

    /// Of accounts with coins alone.
    pub(crate) fn of(balances: impl IntoIterator<Item = (Address, U256)>) -> Self {
        let account =
            |(address, balance): (Address, U256)| (address.to_string(), json!({"balance": balance.to_string()}));
        Self::new(&json!({ "alloc": balances.into_iter().map(account).collect::<Value>() }))
    }

    pub(crate) fn given_to(&self, launch: Launch) -> Launch {
        launch.argument("--config", self.0.path().join("explorer.toml").display())
    }
}
