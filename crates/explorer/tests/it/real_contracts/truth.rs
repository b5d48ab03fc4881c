//! What the chain holds, worked out from the node's receipts, traces and contracts without any code of the service.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{U256, hex, keccak256};
use serde_json::{Value, json};

use super::encoding::{Word, call_data, event, read_address, read_text, read_words};
use super::scene::Scene;
use crate::support::{Rpc, oracle::iso, picture::text, rpc::quantity};

const CHUNK: usize = 100;

#[derive(Debug)]
pub(super) struct Truth {
    /// As records of the API, without what tokens say of themselves. Newest first.
    pub(super) transfers: Vec<Value>,
    /// The same of trades.
    pub(super) trades: Vec<Value>,
    pub(super) tokens: BTreeMap<String, TokenTruth>,
    /// By address.
    pub(super) contracts: BTreeMap<String, ContractTruth>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct TokenTruth {
    pub(super) kind: &'static str,
    pub(super) name: String,
    pub(super) symbol: String,
    pub(super) decimals: u64,
    pub(super) total_supply: U256,
    pub(super) transfer_count: usize,
    /// Who has anything, by the contract's own word.
    pub(super) holders: BTreeMap<String, U256>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ContractTruth {
    pub(super) creator: String,
    pub(super) creation_tx_hash: String,
    pub(super) code_hash: String,
}

/// What was read off the logs so far.
#[derive(Debug, Default)]
struct Logs {
    /// Oldest first; those in doubt stand as amounts.
    transfers: Vec<Transfer>,
    swaps: Vec<Swap>,
    pools: BTreeMap<String, Pool>,
    touched: BTreeMap<String, BTreeSet<String>>,
    ids: BTreeMap<String, BTreeSet<U256>>,
}

#[derive(Debug, Clone)]
struct Place {
    tx_hash: Value,
    log_index: u64,
    block_number: u64,
    timestamp: String,
    sender: String,
}

#[derive(Debug, Clone)]
struct Transfer {
    place: Place,
    token: String,
    from: String,
    to: String,
    value: U256,
    id: Option<U256>,
    batch_index: usize,
    form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// An amount, or a piece where the contract says that it is about pieces.
    InDoubt,
    Piece,
    Many,
}

#[derive(Debug, Clone)]
struct Swap {
    place: Place,
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

impl Truth {
    pub(super) async fn read(scene: &Scene) -> Self {
        let rpc = &scene.anvil.rpc;
        let (head, _) = rpc.head().await;
        let numbers: Vec<Value> = (0..=head).map(|number| format!("{number:#x}").into()).collect();
        let mut logs = Logs::default();
        let blocks = ask(rpc, "eth_getBlockByNumber", numbers.iter().map(|n| json!([n, false]))).await;
        let receipts = ask(rpc, "eth_getBlockReceipts", numbers.iter().map(|n| json!([n]))).await;
        for (block, receipts) in blocks.iter().zip(&receipts) {
            for receipt in receipts.as_array().unwrap() {
                assert_eq!(receipt["blockHash"], block["hash"]);
                for log in receipt["logs"].as_array().unwrap() {
                    logs.read(scene, block, receipt, log);
                }
            }
        }
        let tracer = json!({"tracer": "callTracer"});
        let traces = ask(rpc, "debug_traceBlockByNumber", numbers.iter().map(|n| json!([n, tracer]))).await;
        let contracts = read_contracts(rpc, &traces).await;

        let pieces = tokens_of_pieces(rpc, &logs.transfers).await;
        let kind = |transfer: &Transfer| match transfer.form {
            Form::Many => "BEP1155",
            Form::InDoubt if !pieces.contains(&transfer.token) => "BEP20",
            Form::InDoubt | Form::Piece => "BEP721",
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
            let told = ask_token(rpc, address, kind, &logs.touched[address], &ids).await;
            tokens.insert(address.clone(), TokenTruth { transfer_count, ..told });
        }
        Self { transfers, trades, tokens, contracts }
    }
}

impl Logs {
    fn read(&mut self, scene: &Scene, block: &Value, receipt: &Value, log: &Value) {
        let emitter = text(&log["address"]).to_lowercase();
        let topics: Vec<U256> =
            log["topics"].as_array().unwrap().iter().map(|topic| text(topic).parse().unwrap()).collect();
        let (words, rest) = read_words(&log["data"]);
        let Some(name) = log["topics"][0].as_str() else { return };
        if rest > 0 {
            return;
        }
        let place = Place {
            tx_hash: receipt["transactionHash"].clone(),
            log_index: quantity(&log["logIndex"]),
            block_number: quantity(&block["number"]),
            timestamp: iso(quantity(&block["timestamp"])),
            sender: text(&receipt["from"]).to_lowercase(),
        };
        let is = |signature: &str| name == event(signature);
        if is("Transfer(address,address,uint256)") {
            let (parties, amount, form) = match (topics.len(), words.len()) {
                (3, 1) => ([topics[1], topics[2]], words[0], Form::InDoubt),
                (1, 3) => ([words[0], words[1]], words[2], Form::InDoubt),
                (4, 0) => ([topics[1], topics[2]], topics[3], Form::Piece),
                _ => return,
            };
            self.move_token(place, emitter, parties, vec![(amount, amount)], form);
        } else if is("TransferSingle(address,address,address,uint256,uint256)") {
            if (topics.len(), words.len()) == (4, 2) {
                self.move_token(place, emitter, [topics[2], topics[3]], vec![(words[0], words[1])], Form::Many);
            }
        } else if is("TransferBatch(address,address,address,uint256[],uint256[])") {
            let Some(moved) = (topics.len() == 4).then(|| read_batch(&words)).flatten() else { return };
            self.move_token(place, emitter, [topics[2], topics[3]], moved, Form::Many);
        } else if is("Deposit(address,uint256)") || is("Withdrawal(address,uint256)") {
            if (topics.len(), words.len()) == (2, 1) {
                self.touched.entry(emitter).or_default().insert(read_address(topics[1]).unwrap());
            }
        } else if is("PairCreated(address,address,address,uint256)") && emitter == scene.factory_v2 {
            let tokens = [topics[1], topics[2]].map(|token| read_address(token).unwrap());
            self.pools.insert(read_address(words[0]).unwrap(), Pool { factory: emitter, v3: false, tokens });
        } else if is("PoolCreated(address,address,uint24,int24,address)") && scene.factories_v3.contains(&emitter) {
            let tokens = [topics[1], topics[2]].map(|token| read_address(token).unwrap());
            self.pools.insert(read_address(words[1]).unwrap(), Pool { factory: emitter, v3: true, tokens });
        } else if is("Swap(address,uint256,uint256,uint256,uint256,address)") {
            self.swaps.push(Swap { place, pool: emitter, v3: false, words });
        } else if is("Swap(address,address,int256,int256,uint160,uint128,int24)")
            || is("Swap(address,address,int256,int256,uint160,uint128,int24,uint128,uint128)")
        {
            self.swaps.push(Swap { place, pool: emitter, v3: true, words });
        }
    }

    fn move_token(&mut self, place: Place, token: String, parties: [U256; 2], moved: Vec<(U256, U256)>, form: Form) {
        let [Some(from), Some(to)] = parties.map(read_address) else { return };
        for (batch_index, (id, value)) in moved.into_iter().enumerate() {
            self.touched.entry(token.clone()).or_default().extend([from.clone(), to.clone()]);
            self.ids.entry(token.clone()).or_default().insert(id);
            let (place, token, from, to) = (place.clone(), token.clone(), from.clone(), to.clone());
            let (id, value) = match form {
                Form::InDoubt => (None, value),
                Form::Piece => (Some(id), U256::ONE),
                Form::Many => (Some(id), value),
            };
            self.transfers.push(Transfer { place, token, from, to, value, id, batch_index, form });
        }
    }
}

/// Two arrays of the same length, one behind the other.
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
        let in_doubt_but_piece = self.form == Form::InDoubt && kind == "BEP721";
        let (value, id) = if in_doubt_but_piece { (U256::ONE, Some(self.value)) } else { (self.value, self.id) };
        json!({
            "txHash": self.place.tx_hash,
            "logIndex": self.place.log_index,
            "blockNumber": self.place.block_number,
            "timestamp": self.place.timestamp,
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
    /// None where the pool is of another kind than its event.
    fn record(&self, pool: &Pool) -> Option<Value> {
        if self.v3 != pool.v3 {
            return None;
        }
        let gone = |word: U256| word.bit(255);
        let (out, amount_in, amount_out) = if self.v3 {
            let out = usize::from(gone(self.words[1]));
            (out, self.words[1 - out], self.words[out].wrapping_neg())
        } else {
            // Of the tokens that the scene takes out it never puts more in.
            let (paid, taken) = (&self.words[..2], &self.words[2..]);
            let out = usize::from(!taken[1].is_zero());
            let net = taken[out].checked_sub(paid[out]).filter(|net| !net.is_zero());
            (out, paid[1 - out], net.unwrap_or(taken[out]))
        };
        Some(json!({
            "txHash": self.place.tx_hash,
            "logIndex": self.place.log_index,
            "blockNumber": self.place.block_number,
            "timestamp": self.place.timestamp,
            "dex": format!("{}-{}", if pool.v3 { "v3" } else { "v2" }, pool.factory),
            "pairAddress": self.pool,
            "maker": self.place.sender,
            "tokenIn": pool.tokens[1 - out],
            "tokenOut": pool.tokens[out],
            "amountIn": amount_in.to_string(),
            "amountOut": amount_out.to_string(),
            "factory": pool.factory,
        }))
    }
}

async fn ask(rpc: &Rpc, method: &str, params: impl Iterator<Item = Value>) -> Vec<Value> {
    let calls: Vec<(&str, Value)> = params.map(|params| (method, params)).collect();
    let mut answers = Vec::with_capacity(calls.len());
    for chunk in calls.chunks(CHUNK) {
        answers.extend(rpc.calls(chunk.to_vec()).await);
    }
    answers
}

/// What contracts answer; None where they revert or say nothing.
async fn ask_contracts(rpc: &Rpc, calls: Vec<(String, String)>) -> Vec<Option<Value>> {
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

/// Tokens that say by ERC-165 that they are about pieces, in the standard's words or in the draft's.
async fn tokens_of_pieces(rpc: &Rpc, transfers: &[Transfer]) -> BTreeSet<String> {
    let tokens: BTreeSet<String> = transfers.iter().map(|transfer| transfer.token.clone()).collect();
    let mut pieces = BTreeSet::new();
    for interface in [0x80ac_58cd_u64, 0x9a20_483d] {
        let question = call_data("supportsInterface(bytes4)", &[Word::from(U256::from(interface) << 224)]);
        let asked = tokens.iter().map(|token| (token.clone(), question.clone())).collect();
        let answers = ask_contracts(rpc, asked).await;
        let yes = tokens.iter().zip(&answers).filter(|(_, answer)| number(answer.as_ref()) == U256::ONE);
        pieces.extend(yes.map(|(token, _)| token.clone()));
    }
    pieces
}

async fn ask_token(
    rpc: &Rpc,
    token: &str,
    kind: &'static str,
    touched: &BTreeSet<String>,
    ids: &BTreeSet<U256>,
) -> TokenTruth {
    let questions = ["name()", "symbol()", "decimals()", "totalSupply()"];
    let questions = questions.map(|question| (token.to_owned(), call_data(question, &[])));
    let facts = ask_contracts(rpc, questions.into()).await;
    let told = |place: usize| facts[place].as_ref().map(read_text).unwrap_or_default();
    let mut holders = BTreeMap::new();
    for holder in touched.iter().filter(|holder| !holder.ends_with(&"0".repeat(40))) {
        let questions = match kind {
            "BEP1155" => {
                ids.iter().map(|id| call_data("balanceOf(address,uint256)", &[holder.into(), (*id).into()])).collect()
            }
            _ => vec![call_data("balanceOf(address)", &[holder.into()])],
        };
        let questions = questions.into_iter().map(|question| (token.to_owned(), question)).collect();
        let balances = ask_contracts(rpc, questions).await;
        let balance: U256 = balances.iter().map(|balance| number(balance.as_ref())).sum();
        if !balance.is_zero() {
            holders.insert(holder.clone(), balance);
        }
    }
    TokenTruth {
        kind,
        name: told(0),
        symbol: told(1),
        decimals: if kind == "BEP20" { number(facts[2].as_ref()).to() } else { 0 },
        total_supply: number(facts[3].as_ref()),
        transfer_count: 0,
        holders,
    }
}

/// Every contract that a transaction or another contract made, and that has code.
async fn read_contracts(rpc: &Rpc, traces: &[Value]) -> BTreeMap<String, ContractTruth> {
    let mut creations: Vec<(String, String, String)> = Vec::new();
    for trace in traces.iter().flat_map(|block| block.as_array().unwrap()) {
        let mut frames = vec![&trace["result"]];
        while let Some(frame) = frames.pop() {
            // What a failed call made is not there.
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
    let codes = ask(rpc, "eth_getCode", creations.iter().map(|(made, ..)| json!([made, "latest"]))).await;
    let with_code = creations.into_iter().zip(codes).filter(|(_, code)| code != "0x");
    with_code
        .map(|((made, creator, creation_tx_hash), code)| {
            let code_hash = keccak256(hex::decode(text(&code)).unwrap()).to_string();
            (made, ContractTruth { creator, creation_tx_hash, code_hash })
        })
        .collect()
}
