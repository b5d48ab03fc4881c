//! Computes the expected state from receipts, traces and contract calls, without product code.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{U256, hex, keccak256};
use serde_json::{Value, json};

use super::{
    encoding::{Word, call_data, event, read_address, read_text, read_words},
    scenario::Scenario,
};
use crate::support::{Rpc, api_state::text, expected_state::iso, rpc::quantity};

const CHUNK: usize = 100;

#[derive(Debug)]
pub(super) struct ExpectedState {
    /// As records of the API, without token names. Newest first.
    pub(super) transfers: Vec<Value>,
    /// As records of the API, without token names. Newest first.
    pub(super) trades: Vec<Value>,
    pub(super) tokens: BTreeMap<String, ExpectedToken>,
    /// By address.
    pub(super) contracts: BTreeMap<String, ExpectedContract>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ExpectedToken {
    pub(super) kind: &'static str,
    pub(super) name: String,
    pub(super) symbol: String,
    /// None if the contract has none.
    pub(super) decimals: Option<u64>,
    pub(super) total_supply: U256,
    pub(super) transfer_count: usize,
    /// Balances above zero as the contract returns them.
    pub(super) holders: BTreeMap<String, U256>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ExpectedContract {
    pub(super) creator: String,
    pub(super) creation_tx_hash: String,
    pub(super) code_hash: String,
}

/// Data of the logs so far.
#[derive(Debug, Default)]
struct Logs {
    /// Oldest first.
    transfers: Vec<Transfer>,
    swaps: Vec<Swap>,
    pools: BTreeMap<String, Pool>,
    touched: BTreeMap<String, BTreeSet<String>>,
    ids: BTreeMap<String, BTreeSet<U256>>,
}

#[derive(Debug, Clone)]
struct LogPosition {
    tx_hash: Value,
    log_index: u64,
    block_number: u64,
    timestamp: String,
    sender: String,
}

#[derive(Debug, Clone)]
struct Transfer {
    position: LogPosition,
    token: String,
    from: String,
    to: String,
    value: U256,
    id: Option<U256>,
    batch_index: usize,
    event_kind: TransferEvent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TransferEvent {
    /// ERC-721 if the contract reports that interface, else ERC-20.
    Erc20OrErc721,
    Erc721,
    Erc1155,
}

#[derive(Debug, Clone)]
struct Swap {
    position: LogPosition,
    pool: String,
    v3: bool,
    words: Vec<U256>,
}

#[derive(Debug, Clone)]
struct Pool {
    factory: String,
    v3: bool,
    tokens: [String; 2],
}

impl ExpectedState {
    pub(super) async fn read(scenario: &Scenario) -> Self {
        let rpc = &scenario.anvil.rpc;
        let (head, _) = rpc.head().await;
        let numbers: Vec<Value> = (0..=head).map(|number| format!("{number:#x}").into()).collect();
        let mut logs = Logs::default();
        let blocks = call_in_chunks(rpc, "eth_getBlockByNumber", numbers.iter().map(|n| json!([n, false]))).await;
        let receipts = call_in_chunks(rpc, "eth_getBlockReceipts", numbers.iter().map(|n| json!([n]))).await;
        for (block, receipts) in blocks.iter().zip(&receipts) {
            for receipt in receipts.as_array().unwrap() {
                assert_eq!(receipt["blockHash"], block["hash"]);
                for log in receipt["logs"].as_array().unwrap() {
                    logs.read(scenario, block, receipt, log);
                }
            }
        }
        let tracer = json!({"tracer": "callTracer"});
        let traces = call_in_chunks(rpc, "debug_traceBlockByNumber", numbers.iter().map(|n| json!([n, tracer]))).await;
        let contracts = read_contracts(rpc, &traces).await;

        let pieces = erc721_tokens(rpc, &logs.transfers).await;
        let kind = |transfer: &Transfer| match transfer.event_kind {
            TransferEvent::Erc1155 => "BEP1155",
            TransferEvent::Erc20OrErc721 if !pieces.contains(&transfer.token) => "BEP20",
            TransferEvent::Erc20OrErc721 | TransferEvent::Erc721 => "BEP721",
        };
        let transfers = logs.transfers.iter().rev().map(|transfer| transfer.record(kind(transfer))).collect();
        let trades = logs.swaps.iter().rev().filter_map(|swap| swap.record(logs.pools.get(&swap.pool)?)).collect();
        let mut kinds: BTreeMap<&String, (&'static str, usize)> = BTreeMap::new();
        for transfer in &logs.transfers {
            kinds.entry(&transfer.token).or_insert((kind(transfer), 0)).1 += 1;
        }
        let mut tokens = BTreeMap::new();
        for (address, (kind, transfer_count)) in kinds {
            let ids = logs.ids.get(address).cloned().unwrap_or_default();
            let token = call_token(rpc, address, kind, &logs.touched[address], &ids).await;
            tokens.insert(address.clone(), ExpectedToken { transfer_count, ..token });
        }
        Self { transfers, trades, tokens, contracts }
    }
}

impl Logs {
    fn read(&mut self, scenario: &Scenario, block: &Value, receipt: &Value, log: &Value) {
        let emitter = text(&log["address"]).to_lowercase();
        let topics: Vec<U256> =
            log["topics"].as_array().unwrap().iter().map(|topic| text(topic).parse().unwrap()).collect();
        let (words, rest) = read_words(&log["data"]);
        let Some(name) = log["topics"][0].as_str() else { return };
        if rest > 0 {
            return;
        }
        let position = LogPosition {
            tx_hash: receipt["transactionHash"].clone(),
            log_index: quantity(&log["logIndex"]),
            block_number: quantity(&block["number"]),
            timestamp: iso(quantity(&block["timestamp"])),
            sender: text(&receipt["from"]).to_lowercase(),
        };
        let is = |signature: &str| name == event(signature);
        if is("Transfer(address,address,uint256)") {
            let (parties, amount, event_kind) = match (topics.len(), words.len()) {
                (3, 1) => ([topics[1], topics[2]], words[0], TransferEvent::Erc20OrErc721),
                (1, 3) => ([words[0], words[1]], words[2], TransferEvent::Erc20OrErc721),
                (4, 0) => ([topics[1], topics[2]], topics[3], TransferEvent::Erc721),
                _ => return,
            };
            self.add_transfers(position, emitter, parties, vec![(amount, amount)], event_kind);
        } else if is("TransferSingle(address,address,address,uint256,uint256)") {
            if (topics.len(), words.len()) == (4, 2) {
                self.add_transfers(
                    position,
                    emitter,
                    [topics[2], topics[3]],
                    vec![(words[0], words[1])],
                    TransferEvent::Erc1155,
                );
            }
        } else if is("TransferBatch(address,address,address,uint256[],uint256[])") {
            let Some(moved) = (topics.len() == 4).then(|| read_batch(&words)).flatten() else { return };
            self.add_transfers(position, emitter, [topics[2], topics[3]], moved, TransferEvent::Erc1155);
        } else if is("Deposit(address,uint256)") || is("Withdrawal(address,uint256)") {
            if (topics.len(), words.len()) == (2, 1) {
                self.touched.entry(emitter).or_default().insert(read_address(topics[1]).unwrap());
            }
        } else if is("PairCreated(address,address,address,uint256)") && emitter == scenario.factory_v2 {
            let tokens = [topics[1], topics[2]].map(|token| read_address(token).unwrap());
            self.pools.insert(read_address(words[0]).unwrap(), Pool { factory: emitter, v3: false, tokens });
        } else if is("PoolCreated(address,address,uint24,int24,address)") && scenario.factories_v3.contains(&emitter) {
            let tokens = [topics[1], topics[2]].map(|token| read_address(token).unwrap());
            self.pools.insert(read_address(words[1]).unwrap(), Pool { factory: emitter, v3: true, tokens });
        } else if is("Swap(address,uint256,uint256,uint256,uint256,address)") {
            self.swaps.push(Swap { position, pool: emitter, v3: false, words });
        } else if is("Swap(address,address,int256,int256,uint160,uint128,int24)")
            || is("Swap(address,address,int256,int256,uint160,uint128,int24,uint128,uint128)")
        {
            self.swaps.push(Swap { position, pool: emitter, v3: true, words });
        }
    }

    fn add_transfers(
        &mut self,
        position: LogPosition,
        token: String,
        parties: [U256; 2],
        moved: Vec<(U256, U256)>,
        event_kind: TransferEvent,
    ) {
        let [Some(from), Some(to)] = parties.map(read_address) else { return };
        for (batch_index, (id, value)) in moved.into_iter().enumerate() {
            self.touched.entry(token.clone()).or_default().extend([from.clone(), to.clone()]);
            self.ids.entry(token.clone()).or_default().insert(id);
            let (position, token, from, to) = (position.clone(), token.clone(), from.clone(), to.clone());
            let (id, value) = match event_kind {
                TransferEvent::Erc20OrErc721 => (None, value),
                TransferEvent::Erc721 => (Some(id), U256::ONE),
                TransferEvent::Erc1155 => (Some(id), value),
            };
            self.transfers.push(Transfer { position, token, from, to, value, id, batch_index, event_kind });
        }
    }
}

/// Two consecutive arrays of the same length.
fn read_batch(words: &[U256]) -> Option<Vec<(U256, U256)>> {
    let count = usize::try_from(*words.get(2)?).ok()?;
    let well_formed = words[0] == U256::from(64)
        && words[1] == U256::from(96 + 32 * count)
        && words.len() == 4 + 2 * count
        && words[3 + count] == words[2];
    well_formed.then(|| words[3..3 + count].iter().copied().zip(words[4 + count..].iter().copied()).collect())
}

impl Transfer {
    fn record(&self, kind: &str) -> Value {
        let is_ambiguous_erc721 = self.event_kind == TransferEvent::Erc20OrErc721 && kind == "BEP721";
        let (value, id) = if is_ambiguous_erc721 { (U256::ONE, Some(self.value)) } else { (self.value, self.id) };
        json!({
            "txHash": self.position.tx_hash,
            "logIndex": self.position.log_index,
            "blockNumber": self.position.block_number,
            "timestamp": self.position.timestamp,
            "tokenAddress": self.token,
            "tokenType": kind,
            "fromAddress": self.from,
            "toAddress": self.to,
            "value": value.to_string(),
            "tokenId": id.map(|id| id.to_string()),
            "batchIndex": self.batch_index,
        })
    }
}

impl Swap {
    /// None if the event does not fit the kind of pool.
    fn record(&self, pool: &Pool) -> Option<Value> {
        if self.v3 != pool.v3 {
            return None;
        }
        let gone = |word: U256| word.bit(255);
        let (out, amount_in, amount_out) = if self.v3 {
            let out = usize::from(gone(self.words[1]));
            (out, self.words[1 - out], self.words[out].wrapping_neg())
        } else {
            // The scenario never pays in more of a token than it takes out.
            let (paid, taken) = (&self.words[..2], &self.words[2..]);
            let out = usize::from(!taken[1].is_zero());
            let net = taken[out].checked_sub(paid[out]).filter(|net| !net.is_zero());
            (out, paid[1 - out], net.unwrap_or(taken[out]))
        };
        Some(json!({
            "txHash": self.position.tx_hash,
            "logIndex": self.position.log_index,
            "blockNumber": self.position.block_number,
            "timestamp": self.position.timestamp,
            "dex": format!("{}-{}", if pool.v3 { "v3" } else { "v2" }, pool.factory),
            "pairAddress": self.pool,
            "maker": self.position.sender,
            "tokenIn": pool.tokens[1 - out],
            "tokenOut": pool.tokens[out],
            "amountIn": amount_in.to_string(),
            "amountOut": amount_out.to_string(),
            "factory": pool.factory,
        }))
    }
}

async fn call_in_chunks(rpc: &Rpc, method: &str, params: impl Iterator<Item = Value>) -> Vec<Value> {
    let calls: Vec<(&str, Value)> = params.map(|params| (method, params)).collect();
    let mut answers = Vec::with_capacity(calls.len());
    for chunk in calls.chunks(CHUNK) {
        answers.extend(rpc.calls(chunk.to_vec()).await);
    }
    answers
}

/// Results of contract calls; None if a call reverts or returns nothing.
async fn call_contracts(rpc: &Rpc, calls: Vec<(String, String)>) -> Vec<Option<Value>> {
    let calls: Vec<(&str, Value)> =
        calls.into_iter().map(|(to, data)| ("eth_call", json!([{"to": to, "data": data}, "latest"]))).collect();
    let mut answers = Vec::with_capacity(calls.len());
    for chunk in calls.chunks(CHUNK) {
        answers.extend(rpc.answers(chunk).await.into_iter().map(|answer| answer.ok().filter(|answer| answer != "0x")));
    }
    answers
}

fn number(answer: Option<&Value>) -> U256 {
    answer.map(|answer| read_words(answer).0[0]).unwrap_or_default()
}

/// Tokens that report ERC-721 by ERC-165, with the interface id of the standard or of the draft.
async fn erc721_tokens(rpc: &Rpc, transfers: &[Transfer]) -> BTreeSet<String> {
    let tokens: BTreeSet<String> = transfers.iter().map(|transfer| transfer.token.clone()).collect();
    let mut pieces = BTreeSet::new();
    for interface in [0x80ac_58cd_u64, 0x9a20_483d] {
        let call = call_data("supportsInterface(bytes4)", &[Word::from(U256::from(interface) << 224)]);
        let asked = tokens.iter().map(|token| (token.clone(), call.clone())).collect();
        let answers = call_contracts(rpc, asked).await;
        let yes = tokens.iter().zip(&answers).filter(|(_, answer)| number(answer.as_ref()) == U256::ONE);
        pieces.extend(yes.map(|(token, _)| token.clone()));
    }
    pieces
}

async fn call_token(
    rpc: &Rpc,
    token: &str,
    kind: &'static str,
    touched: &BTreeSet<String>,
    ids: &BTreeSet<U256>,
) -> ExpectedToken {
    let calls = ["name()", "symbol()", "decimals()", "totalSupply()"];
    let calls = calls.map(|call| (token.to_owned(), call_data(call, &[])));
    let results = call_contracts(rpc, calls.into()).await;
    let text_at = |position: usize| results[position].as_ref().map(read_text).unwrap_or_default();
    let mut holders = BTreeMap::new();
    for holder in touched.iter().filter(|holder| !holder.ends_with(&"0".repeat(40))) {
        let calls = match kind {
            "BEP1155" => {
                ids.iter().map(|id| call_data("balanceOf(address,uint256)", &[holder.into(), (*id).into()])).collect()
            }
            _ => vec![call_data("balanceOf(address)", &[holder.into()])],
        };
        let calls = calls.into_iter().map(|call| (token.to_owned(), call)).collect();
        let balances = call_contracts(rpc, calls).await;
        let balance: U256 = balances.iter().map(|balance| number(balance.as_ref())).sum();
        if !balance.is_zero() {
            holders.insert(holder.clone(), balance);
        }
    }
    ExpectedToken {
        kind,
        name: text_at(0),
        symbol: text_at(1),
        decimals: match kind {
            "BEP20" => results[2].as_ref().map(|decimals| number(Some(decimals)).to()),
            _ => Some(0),
        },
        // What holders have, where the contract does not say.
        total_supply: match results[3].as_ref() {
            Some(supply) => number(Some(supply)),
            None => holders.values().copied().sum(),
        },
        transfer_count: 0,
        holders,
    }
}

/// Every contract with code, created by a transaction or by another contract.
async fn read_contracts(rpc: &Rpc, traces: &[Value]) -> BTreeMap<String, ExpectedContract> {
    let mut creations: Vec<(String, String, String)> = Vec::new();
    for trace in traces.iter().flat_map(|block| block.as_array().unwrap()) {
        let mut frames = vec![&trace["result"]];
        while let Some(frame) = frames.pop() {
            // A failed call creates nothing.
            if frame.get("error").is_some() {
                continue;
            }
            if text(&frame["type"]).starts_with("CREATE") {
                let [made, maker] = ["to", "from"].map(|side| text(&frame[side]).to_lowercase());
                creations.push((made, maker, text(&trace["txHash"]).to_owned()));
            }
            frames.extend(frame["calls"].as_array().into_iter().flatten());
        }
    }
    let codes = call_in_chunks(rpc, "eth_getCode", creations.iter().map(|(made, ..)| json!([made, "latest"]))).await;
    let with_code = creations.into_iter().zip(codes).filter(|(_, code)| code != "0x");
    with_code
        .map(|((made, creator, creation_tx_hash), code)| {
            let code_hash = keccak256(hex::decode(text(&code)).unwrap()).to_string();
            (made, ExpectedContract { creator, creation_tx_hash, code_hash })
        })
        .collect()
}
