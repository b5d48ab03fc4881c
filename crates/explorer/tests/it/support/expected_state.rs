//! Computes the expected API state from the node's JSON-RPC alone, without product code.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{U256, hex, keccak256};
use serde_json::{Value, json};

use super::{
    Rpc,
    api_state::{AddressState, ApiState, text},
    rpc::quantity,
};

/// Calls in one request to the node.
const CHUNK: usize = 100;
/// The average gas price covers this many blocks with transactions.
const GAS_PRICE_BLOCKS: usize = 100;
const RECENT: usize = 25;

/// The expected state of the node's chain from `start_block` on, with all its addresses and those in `also`.
pub(crate) async fn expected_state<'a>(
    rpc: &Rpc,
    start_block: u64,
    also: impl IntoIterator<Item = &'a str>,
) -> ApiState {
    let (head, _) = rpc.head().await;
    let mut chain = Chain::default();
    let blocks: Vec<_> =
        (start_block..=head).map(|number| ("eth_getBlockByNumber", json!([format!("{number:#x}"), true]))).collect();
    for block in call_in_chunks(rpc, blocks).await {
        let hashes = block["transactions"].as_array().unwrap().iter().map(|tx| tx["hash"].clone());
        let receipts =
            call_in_chunks(rpc, hashes.map(|hash| ("eth_getTransactionReceipt", json!([hash]))).collect()).await;
        chain.add(&block, &receipts);
        chain.add_traces(&block, trace(rpc, &block).await);
    }
    chain.add_unseen(also);
    let details = chain.details(rpc, head).await;
    chain.api_state(head, details)
}

/// The call traces of a block; None if the node does not support tracing.
async fn trace(rpc: &Rpc, block: &Value) -> Option<Vec<Value>> {
    let params = json!([block["number"], {"tracer": "callTracer"}]);
    let answer = rpc.answers(&[("debug_traceBlockByNumber", params)]).await.remove(0);
    answer.ok().map(|traces| traces.as_array().unwrap().clone())
}

async fn call_in_chunks(rpc: &Rpc, calls: Vec<(&str, Value)>) -> Vec<Value> {
    let mut answers = Vec::with_capacity(calls.len());
    for chunk in calls.chunks(CHUNK) {
        answers.extend(rpc.calls(chunk.to_vec()).await);
    }
    answers
}

/// Oldest first.
#[derive(Debug, Default)]
struct Chain {
    blocks: Vec<Value>,
    transactions: Vec<Value>,
    /// None for a requested address that is not on the chain.
    seen: BTreeMap<String, Option<Seen>>,
    creations: BTreeMap<String, (Value, Value)>,
    /// Contracts with at least one transfer.
    tokens: BTreeSet<String>,
    /// Blocks that may have executed code and have no trace.
    untraced_blocks: u64,
    /// Whether the newest block may have executed code.
    code_ran: bool,
}

#[derive(Debug, Clone)]
struct Seen {
    first: Value,
    last: Value,
}

impl Chain {
    fn add(&mut self, block: &Value, receipts: &[Value]) {
        let time = iso(quantity(&block["timestamp"]));
        self.see(&block["miner"], &time);
        let transactions = block["transactions"].as_array().unwrap();
        self.code_ran = receipts.iter().any(|receipt| receipt["status"] == "0x1");
        for (tx, receipt) in transactions.iter().zip(receipts) {
            self.add_transaction(block, tx, receipt, &time);
        }
        self.blocks.push(json!({
            "number": quantity(&block["number"]),
            "hash": block["hash"],
            "timestamp": time,
            "miner": lower(&block["miner"]),
            "txCount": transactions.len(),
            "gasUsed": decimal(&block["gasUsed"]),
            "gasLimit": decimal(&block["gasLimit"]),
            "parentHash": block["parentHash"],
            "baseFeePerGas": block.get("baseFeePerGas").map(decimal),
            "size": quantity(&block["size"]),
        }));
    }

    fn add_transaction(&mut self, block: &Value, tx: &Value, receipt: &Value, time: &str) {
        assert_eq!(receipt["blockHash"], block["hash"]);
        let succeeded = receipt["status"] == "0x1";
        let is_creation = tx["to"].is_null();
        let created = if is_creation && succeeded { lower(&receipt["contractAddress"]) } else { Value::Null };
        let input = text(&tx["input"]);
        let method = (!is_creation && input.len() >= 10).then(|| &input[..10]);
        let logs = receipt["logs"].as_array().unwrap();
        let emitters = logs.iter().map(|log| &log["address"]);
        for address in [&tx["from"], &tx["to"], &created].into_iter().chain(emitters) {
            self.see(address, time);
        }
        logs.iter().for_each(|log| self.add_token_event(log, time));
        if let Some(created) = created.as_str() {
            self.creations.insert(created.to_owned(), (lower(&tx["from"]), tx["hash"].clone()));
        }
        let gas = |used: &str, price: &str| {
            let number = |field: &str| receipt[field].as_str().map_or(U256::ZERO, |text| text.parse().unwrap());
            number(used) * number(price)
        };
        let fee = gas("gasUsed", "effectiveGasPrice") + gas("blobGasUsed", "blobGasPrice");
        self.transactions.push(json!({
            "hash": tx["hash"],
            "blockNumber": quantity(&block["number"]),
            "fromAddress": lower(&tx["from"]),
            "toAddress": if is_creation { json!("") } else { lower(&tx["to"]) },
            "value": decimal(&tx["value"]),
            "gasPrice": decimal(&receipt["effectiveGasPrice"]),
            "gasUsed": decimal(&receipt["gasUsed"]),
            "fee": fee.to_string(),
            "status": succeeded,
            "statusKnown": true,
            "timestamp": time,
            "blockHash": block["hash"],
            "index": quantity(&tx["transactionIndex"]),
            "nonce": quantity(&tx["nonce"]),
            "method": method,
            "contractAddress": created,
        }));
    }

    /// Adds contracts created by internal calls, except those of failed calls.
    fn add_traces(&mut self, block: &Value, traces: Option<Vec<Value>>) {
        let Some(traces) = traces else {
            self.untraced_blocks += u64::from(self.code_ran);
            return;
        };
        let time = iso(quantity(&block["timestamp"]));
        for trace in &traces {
            let mut calls = vec![(&trace["result"], 0)];
            while let Some((call, depth)) = calls.pop().filter(|(call, _)| !call.is_null()) {
                if call.get("error").is_some() {
                    continue;
                }
                if depth > 0 && text(&call["type"]).starts_with("CREATE") {
                    self.see(&call["from"], &time);
                    self.see(&call["to"], &time);
                    let creation = (lower(&call["from"]), trace["txHash"].clone());
                    self.creations.insert(text(&call["to"]).to_lowercase(), creation);
                }
                calls.extend(call["calls"].as_array().into_iter().flatten().map(|call| (call, depth + 1)));
            }
        }
    }

    /// Transfers define a token and its participants; deposits and withdrawals of a wrapped coin add participants.
    fn add_token_event(&mut self, log: &Value, time: &str) {
        let topics: Vec<&str> = log["topics"].as_array().unwrap().iter().map(text).collect();
        let event =
            |signature: &str| Some(keccak256(signature).to_string()) == topics.first().map(|topic| (*topic).to_owned());
        let moves_one_id = event("TransferSingle(address,address,address,uint256,uint256)");
        let moves_ids = event("TransferBatch(address,address,address,uint256[],uint256[])");
        let parties = if event("Transfer(address,address,uint256)") {
            self.tokens.insert(lower(&log["address"]).to_string());
            &topics[1..3]
        } else if moves_one_id || moves_ids {
            self.tokens.insert(lower(&log["address"]).to_string());
            &topics[2..4]
        } else if event("Deposit(address,uint256)") || event("Withdrawal(address,uint256)") {
            &topics[1..2]
        } else {
            return;
        };
        for party in parties {
            self.see(&format!("0x{}", &party[26..]).into(), time);
        }
    }

    fn see(&mut self, address: &Value, time: &str) {
        if let Some(address) = address.as_str() {
            let seen = self.seen.entry(address.to_lowercase()).or_default();
            seen.get_or_insert_with(|| Seen { first: time.into(), last: time.into() }).last = time.into();
        }
    }

    fn add_unseen<'a>(&mut self, also: impl IntoIterator<Item = &'a str>) {
        for address in also {
            self.seen.entry(address.to_lowercase()).or_default();
        }
    }

    async fn details(&self, rpc: &Rpc, head: u64) -> BTreeMap<String, AddressState> {
        let at = format!("{head:#x}");
        let known: BTreeSet<&String> =
            self.seen.iter().filter_map(|(name, seen)| seen.as_ref().map(|_| name)).collect();
        let methods = ["eth_getBalance", "eth_getTransactionCount", "eth_getCode"];
        let calls = known.iter().flat_map(|address| methods.map(|method| (method, json!([address, at]))));
        let answers = call_in_chunks(rpc, calls.collect()).await;
        let mut accounts: BTreeMap<&String, &[Value]> = known.into_iter().zip(answers.chunks(3)).collect();
        let api_state = |(address, seen): (&String, &Option<Seen>)| {
            let detail = seen.as_ref().zip(accounts.remove(address));
            let transactions = self.touching(address);
            let detail = detail.map(|(seen, account)| self.detail(address, seen, account, &transactions, head));
            (address.clone(), AddressState { detail, transactions })
        };
        self.seen.iter().map(api_state).collect()
    }

    fn detail(&self, address: &str, seen: &Seen, account: &[Value], transactions: &[Value], head: u64) -> Value {
        let code = hex::decode(text(&account[2])).unwrap();
        // EIP-7702: a delegated account is not a contract.
        let is_delegation = code.len() == 23 && code.starts_with(&[0xef, 0x01, 0x00]);
        let is_contract = !code.is_empty() && !is_delegation;
        let (creator, creation) = self.creations.get(address).cloned().unwrap_or_default();
        let contract = json!({
            "creator": creator,
            "creationTxHash": creation,
            "twinOf": null,
            "verified": false,
            "name": null,
            "codeHash": keccak256(&code),
        });
        json!({
            "address": address,
            "balance": decimal(&account[0]),
            "txCount": transactions.len(),
            "isContract": is_contract,
            "firstSeen": seen.first,
            "lastSeen": seen.last,
            "recentTxs": transactions.iter().take(RECENT).collect::<Vec<_>>(),
            "nonce": quantity(&account[1]),
            "balanceBlock": head,
            "contract": is_contract.then_some(contract),
            "delegatesTo": is_delegation.then(|| hex::encode_prefixed(&code[3..])),
        })
    }

    /// Newest first.
    fn touching(&self, address: &str) -> Vec<Value> {
        let touches = |tx: &&Value| tx["fromAddress"] == address || tx["toAddress"] == address;
        self.transactions.iter().rev().filter(touches).cloned().collect()
    }

    fn api_state(self, head: u64, addresses: BTreeMap<String, AddressState>) -> ApiState {
        let (mut blocks, mut transactions) = (self.blocks, self.transactions);
        blocks.reverse();
        transactions.reverse();
        let first = blocks.last().map(|block| block["number"].clone()).unwrap_or_default();
        let stats = json!({
            "latestBlock": head,
            "totalTransactions": transactions.len(),
            "totalTokens": self.tokens.len(),
            "untracedBlocks": self.untraced_blocks,
            "avgGasPrice": average_gas_price(&blocks, &transactions),
            "unknownFields": if transactions.is_empty() { json!(["avgGasPrice"]) } else { json!([]) },
            "complete": first == 0,
            "firstIndexedBlock": first,
        });
        ApiState { stats, blocks, transactions, addresses }
    }
}

/// Both newest first.
fn average_gas_price(blocks: &[Value], transactions: &[Value]) -> String {
    let filled = blocks.iter().filter(|block| block["txCount"] != 0).take(GAS_PRICE_BLOCKS);
    let Some(oldest) = filled.last().map(|block| block["number"].as_u64()) else { return "0".to_owned() };
    let prices = transactions.iter().take_while(|tx| tx["blockNumber"].as_u64() >= oldest);
    let prices: Vec<U256> = prices.map(|tx| text(&tx["gasPrice"]).parse().unwrap()).collect();
    (prices.iter().sum::<U256>() / U256::from(prices.len())).to_string()
}

fn lower(value: &Value) -> Value {
    text(value).to_lowercase().into()
}

#[track_caller]
fn decimal(value: &Value) -> String {
    text(value).parse::<U256>().unwrap().to_string()
}

/// Unix seconds as `2026-11-15T00:00:00.000Z`.
pub(crate) fn iso(seconds: u64) -> String {
    domain::UtcTime::from_unix_seconds(seconds).to_string()
}
