//! A node that serves blocks of any chain family, sealed by the test itself: with the roots, blooms and hashes that follow from
//! what the test says, and nothing that an EVM computed.

use std::{
    collections::{HashMap, HashSet},
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex},
};

use alloy_primitives::{B256, Bloom, BloomInput, U256, hex, keccak256};
use alloy_rlp::{Encodable, Header};
use alloy_trie::root::ordered_trie_root_encoded;
use axum::{Json, Router, extract::State, routing::post};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};

use super::{
    replay_ledger::{Beside, balance, traces},
    rpc::quantity,
};

/// The hash of an empty list of uncles.
const NO_UNCLES: &str = "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347";

/// A block before it is sealed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Draft {
    /// Fields of the header that differ from those of an empty block.
    pub(crate) header: Value,
    pub(crate) transactions: Vec<Included>,
    /// Whole headers.
    pub(crate) uncles: Vec<Value>,
}

/// A transaction and its receipt, without what follows from their block. Without a hash, the transaction gets that of its
/// encoding.
#[derive(Debug, Clone)]
pub(crate) struct Included {
    pub(crate) transaction: Value,
    pub(crate) receipt: Value,
}

/// One item of a recursive length prefix.
#[derive(Debug, Clone)]
pub(crate) enum Rlp {
    Bytes(Vec<u8>),
    List(Vec<Rlp>),
}

impl Rlp {
    /// Hexadecimal bytes, as they are.
    pub(crate) fn bytes(value: &Value) -> Self {
        Self::Bytes(value.as_str().map(|text| hex::decode(text).unwrap()).unwrap_or_default())
    }

    /// A hexadecimal number, without leading zeros.
    pub(crate) fn number(value: &Value) -> Self {
        let digits =
            value.as_str().map(|text| text.trim_start_matches("0x").trim_start_matches('0')).unwrap_or_default();
        let even = if digits.len().is_multiple_of(2) { digits.to_owned() } else { format!("0{digits}") };
        Self::Bytes(hex::decode(even).unwrap())
    }

    pub(crate) fn encoded(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Bytes(bytes) => bytes.as_slice().encode(&mut out),
            Self::List(items) => {
                let payload = items.iter().flat_map(Self::encoded).collect::<Vec<u8>>();
                Header { list: true, payload_length: payload.len() }.encode(&mut out);
                out.extend(payload);
            }
        }
        out
    }
}

/// The bytes that the hash and the root of a transaction cover.
pub(crate) fn encoded_transaction(tx: &Value) -> Vec<u8> {
    let (n, b) = (|field: &str| Rlp::number(&tx[field]), |field: &str| Rlp::bytes(&tx[field]));
    let list = |field: &str, item: &dyn Fn(&Value) -> Rlp| {
        Rlp::List(tx[field].as_array().map(|items| items.iter().map(item).collect()).unwrap_or_default())
    };
    let access = || {
        list("accessList", &|entry| {
            let keys = entry["storageKeys"].as_array().unwrap().iter().map(Rlp::bytes).collect();
            Rlp::List(vec![Rlp::bytes(&entry["address"]), Rlp::List(keys)])
        })
    };
    let priced = || vec![n("chainId"), n("nonce"), n("maxPriorityFeePerGas"), n("maxFeePerGas"), n("gas")];
    let called = || vec![b("to"), n("value"), b("input")];
    let signature = || vec![n("yParity"), n("r"), n("s")];
    let fields: Vec<Vec<Rlp>> = match quantity(&tx["type"]) {
        0 => vec![vec![n("nonce"), n("gasPrice"), n("gas")], called(), vec![n("v"), n("r"), n("s")]],
        2 => vec![priced(), called(), vec![access()], signature()],
        3 => vec![
            priced(),
            called(),
            vec![access(), n("maxFeePerBlobGas"), list("blobVersionedHashes", &Rlp::bytes)],
            signature(),
        ],
        4 => {
            let authorization = |entry: &Value| {
                let n = |field: &str| Rlp::number(&entry[field]);
                Rlp::List(vec![n("chainId"), Rlp::bytes(&entry["address"]), n("nonce"), n("yParity"), n("r"), n("s")])
            };
            vec![priced(), called(), vec![access(), list("authorizationList", &authorization)], signature()]
        }
        // Celo: the token in which the fee is paid is part of the transaction.
        0x7b => vec![priced(), called(), vec![access(), b("feeCurrency")], signature()],
        // A deposit of an OP-stack chain.
        0x7e => {
            let is_system = if tx["isSystemTx"] == true { json!("0x1") } else { Value::Null };
            vec![
                vec![b("sourceHash"), b("from"), b("to"), n("mint"), n("value"), n("gas"), Rlp::number(&is_system)],
                vec![b("input")],
            ]
        }
        _ => vec![vec![b("from"), b("to"), n("value"), b("input"), n("nonce")]],
    };
    let body = Rlp::List(fields.concat()).encoded();
    match quantity(&tx["type"]) {
        0 => body,
        tx_type => [vec![u8::try_from(tx_type).unwrap()], body].concat(),
    }
}

fn bloom_of(receipt: &Value) -> Bloom {
    let mut bloom = Bloom::ZERO;
    for log in receipt["logs"].as_array().unwrap() {
        let bytes = |value: &Value| hex::decode(value.as_str().unwrap()).unwrap();
        bloom.accrue(BloomInput::Raw(&bytes(&log["address"])));
        for topic in log["topics"].as_array().unwrap() {
            bloom.accrue(BloomInput::Raw(&bytes(topic)));
        }
    }
    bloom
}

fn encoded_receipt(receipt: &Value) -> Vec<u8> {
    let logs = receipt["logs"].as_array().unwrap().iter().map(|log| {
        let topics = log["topics"].as_array().unwrap().iter().map(Rlp::bytes).collect();
        Rlp::List(vec![Rlp::bytes(&log["address"]), Rlp::List(topics), Rlp::bytes(&log["data"])])
    });
    let outcome = match &receipt["root"] {
        Value::Null => Rlp::number(&receipt["status"]),
        root => Rlp::bytes(root),
    };
    let bloom = Rlp::Bytes(bloom_of(receipt).to_vec());
    let mut fields = vec![outcome, Rlp::number(&receipt["cumulativeGasUsed"]), bloom, Rlp::List(logs.collect())];
    if !receipt["depositReceiptVersion"].is_null() {
        fields.push(Rlp::number(&receipt["depositNonce"]));
        fields.push(Rlp::number(&receipt["depositReceiptVersion"]));
    }
    let body = Rlp::List(fields).encoded();
    match quantity(&receipt["type"]) {
        0 => body,
        tx_type => [vec![u8::try_from(tx_type).unwrap()], body].concat(),
    }
}

/// A block as a node serves it.
#[derive(Debug, Clone)]
pub(crate) struct Sealed {
    pub(crate) block: Value,
    pub(crate) receipts: Vec<Value>,
    pub(crate) uncles: Vec<Value>,
}

fn set(object: &mut Value, fields: Value) {
    let Value::Object(fields) = fields else { return };
    for (name, value) in fields {
        object[name] = value;
    }
}

/// A header as its hash covers it.
fn header_of(block: &Value) -> Rlp {
    let header_bytes =
        ["parentHash", "sha3Uncles", "miner", "stateRoot", "transactionsRoot", "receiptsRoot", "logsBloom"];
    let mut fields: Vec<Rlp> = header_bytes.iter().map(|field| Rlp::bytes(&block[*field])).collect();
    let numbers = ["difficulty", "number", "gasLimit", "gasUsed", "timestamp"];
    fields.extend(numbers.iter().map(|field| Rlp::number(&block[*field])));
    fields.extend(["extraData", "mixHash", "nonce"].iter().map(|field| Rlp::bytes(&block[*field])));
    type Encode = fn(&Value) -> Rlp;
    let later: [(&str, Encode); 8] = [
        ("baseFeePerGas", Rlp::number),
        ("withdrawalsRoot", Rlp::bytes),
        ("blobGasUsed", Rlp::number),
        ("excessBlobGas", Rlp::number),
        ("parentBeaconBlockRoot", Rlp::bytes),
        ("requestsHash", Rlp::bytes),
        ("blockAccessListHash", Rlp::bytes),
        ("slotNumber", Rlp::number),
    ];
    let later = later.iter().filter(|(field, _)| !block[*field].is_null());
    fields.extend(later.map(|(field, encode)| encode(&block[*field])));
    Rlp::List(fields)
}

/// Computes all that follows from a draft and its parent.
pub(crate) fn seal(draft: &Draft, parent: Option<&Value>) -> Sealed {
    let number = parent.map_or(0, |parent| quantity(&parent["number"]) + 1);
    let time = parent.map_or(1_700_000_000, |parent| quantity(&parent["timestamp"]) + 12);
    let (mut transactions, mut receipts, mut encoded) = (Vec::new(), Vec::new(), Vec::new());
    let (mut gas, mut log_index) = (0, 0);
    for (index, included) in draft.transactions.iter().enumerate() {
        let mut tx = included.transaction.clone();
        let encoding = encoded_transaction(&tx);
        if tx["hash"].is_null() {
            tx["hash"] = json!(keccak256(&encoding));
        }
        encoded.push(encoding);
        let mut receipt = included.receipt.clone();
        gas += quantity(&receipt["gasUsed"]);
        let place = json!({
            "transactionHash": tx["hash"],
            "transactionIndex": format!("{index:#x}"),
            "blockNumber": format!("{number:#x}"),
        });
        if receipt["logs"].is_null() {
            receipt["logs"] = json!([]);
        }
        for log in receipt["logs"].as_array_mut().unwrap() {
            set(log, place.clone());
            log["logIndex"] = json!(format!("{log_index:#x}"));
            log_index += 1;
        }
        set(&mut receipt, place);
        set(
            &mut receipt,
            json!({
                "type": tx["type"], "from": tx["from"], "to": tx["to"], "cumulativeGasUsed": format!("{gas:#x}"),
            }),
        );
        receipt["logsBloom"] = json!(bloom_of(&receipt));
        set(&mut tx, json!({"blockNumber": format!("{number:#x}"), "transactionIndex": format!("{index:#x}")}));
        transactions.push(tx);
        receipts.push(receipt);
    }
    let mut bloom = Bloom::ZERO;
    receipts.iter().for_each(|receipt| bloom.accrue_bloom(&bloom_of(receipt)));
    let mut block = json!({
        "number": format!("{number:#x}"),
        "parentHash": parent.map_or(json!(B256::ZERO), |parent| parent["hash"].clone()),
        "sha3Uncles": NO_UNCLES,
        "miner": "0x00000000000000000000000000000000000000c0",
        "stateRoot": B256::repeat_byte(0x57),
        "transactionsRoot": ordered_trie_root_encoded(&encoded),
        "receiptsRoot": ordered_trie_root_encoded(&receipts.iter().map(encoded_receipt).collect::<Vec<_>>()),
        "logsBloom": bloom,
        "difficulty": "0x0",
        "gasLimit": "0x1c9c380",
        "gasUsed": format!("{gas:#x}"),
        "timestamp": format!("{time:#x}"),
        "extraData": "0x",
        "mixHash": B256::ZERO,
        "nonce": "0x0000000000000000",
        "size": "0x400",
        "uncles": [],
    });
    set(&mut block, draft.header.clone());
    if let Some(withdrawals) = block["withdrawals"].as_array()
        && block["withdrawalsRoot"].is_null()
    {
        let encoded = |paid: &Value| {
            let n = |field: &str| Rlp::number(&paid[field]);
            Rlp::List(vec![n("index"), n("validatorIndex"), Rlp::bytes(&paid["address"]), n("amount")]).encoded()
        };
        let encoded: Vec<Vec<u8>> = withdrawals.iter().map(encoded).collect();
        block["withdrawalsRoot"] = json!(ordered_trie_root_encoded(&encoded));
    }
    if let Some(uncles) = draft.uncles.first().map(|_| &draft.uncles) {
        let headers: Vec<Rlp> = uncles.iter().map(header_of).collect();
        block["uncles"] = headers.iter().map(|header| json!(keccak256(header.encoded()))).collect();
        block["sha3Uncles"] = json!(keccak256(Rlp::List(headers).encoded()));
    }
    let hash = json!(keccak256(header_of(&block).encoded()));
    block["hash"] = hash.clone();
    for item in transactions.iter_mut().chain(&mut receipts) {
        item["blockHash"] = hash.clone();
    }
    for receipt in &mut receipts {
        for log in receipt["logs"].as_array_mut().unwrap() {
            log["blockHash"] = hash.clone();
        }
    }
    block["transactions"] = json!(transactions);
    Sealed { block, receipts, uncles: draft.uncles.clone() }
}

/// What the node has beside blocks.
#[derive(Debug, Clone, Default)]
struct Script {
    /// The answer to a method with these parameters, as they are in the request, or with any.
    answers: HashMap<(String, String), Value>,
    /// With it, the node has the state and the traces of all blocks.
    beside: Option<Beside>,
    /// Methods that fail.
    failing: HashSet<String>,
    /// How often each method was called.
    calls: HashMap<String, usize>,
}

const ANY: &str = "*";

#[derive(Debug)]
struct Inner {
    chain_id: u64,
    blocks: Mutex<Vec<Sealed>>,
    state: Mutex<Script>,
}

#[derive(Debug)]
pub(crate) struct ReplayNode {
    address: SocketAddr,
    inner: Arc<Inner>,
    server: JoinHandle<()>,
}

impl ReplayNode {
    /// Serves a genesis block and these blocks on it.
    pub(crate) async fn start(chain_id: u64, drafts: &[Draft]) -> Self {
        Self::start_from(chain_id, &Draft::default(), drafts).await
    }

    /// The same with a genesis block of its own.
    pub(crate) async fn start_from(chain_id: u64, genesis: &Draft, drafts: &[Draft]) -> Self {
        let inner = Arc::new(Inner { chain_id, blocks: Mutex::default(), state: Mutex::default() });
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(post(serve)).with_state(Arc::clone(&inner));
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let node = Self { address, inner, server };
        node.add(genesis);
        drafts.iter().for_each(|draft| node.add(draft));
        node
    }

    /// From now on, the node has the state and the traces of all blocks.
    pub(crate) fn with_state(self, beside: Beside) -> Self {
        self.inner.state.lock().unwrap().beside = Some(beside);
        self
    }

    /// What an address has at the end of a block.
    pub(crate) fn balance(&self, address: &str, number: usize) -> U256 {
        let beside = self.inner.state.lock().unwrap().beside.clone().unwrap_or_default();
        balance(&beside, &self.inner.blocks.lock().unwrap()[..=number], address)
    }

    /// The number of the newest block.
    pub(crate) fn head(&self) -> usize {
        self.inner.blocks.lock().unwrap().len() - 1
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn add(&self, draft: &Draft) {
        let mut blocks = self.inner.blocks.lock().unwrap();
        let sealed = seal(draft, blocks.last().map(|parent| &parent.block));
        blocks.push(sealed);
    }

    pub(crate) fn block(&self, number: usize) -> Value {
        self.inner.blocks.lock().unwrap()[number].block.clone()
    }

    /// The hash that a block gets when it is added.
    pub(crate) fn next_hash(&self, draft: &Draft) -> Value {
        let blocks = self.inner.blocks.lock().unwrap();
        seal(draft, blocks.last().map(|parent| &parent.block)).block["hash"].clone()
    }

    /// How often a method was called.
    pub(crate) fn calls(&self, method: &str) -> usize {
        self.inner.state.lock().unwrap().calls.get(method).copied().unwrap_or_default()
    }

    /// The hash of a transaction.
    pub(crate) fn hash(&self, block: usize, index: usize) -> String {
        self.block(block)["transactions"][index]["hash"].as_str().unwrap().to_owned()
    }

    /// Answers a method with these parameters from now on.
    pub(crate) fn answer(&self, method: &str, params: &Value, answer: Value) {
        self.inner.state.lock().unwrap().answers.insert((method.to_owned(), params.to_string()), answer);
    }

    /// Answers a method with any other parameters from now on.
    pub(crate) fn answer_all(&self, method: &str, answer: Value) {
        self.inner.state.lock().unwrap().answers.insert((method.to_owned(), ANY.to_owned()), answer);
    }

    /// Answers a method with an error from now on.
    pub(crate) fn fail(&self, method: &str) {
        self.inner.state.lock().unwrap().failing.insert(method.to_owned());
    }

    pub(crate) fn heal(&self, method: &str) {
        self.inner.state.lock().unwrap().failing.remove(method);
    }

    /// Changes fields of a receipt as it is served, and not what the hash of its block covers.
    pub(crate) fn serve_receipt(&self, block: usize, index: usize, fields: Value) {
        set(&mut self.inner.blocks.lock().unwrap()[block].receipts[index], fields);
    }

    /// Serves the logs of a block with these indexes.
    pub(crate) fn number_logs(&self, block: usize, index: impl Fn(usize) -> u64) {
        let mut blocks = self.inner.blocks.lock().unwrap();
        let receipts = blocks[block].receipts.iter_mut();
        let logs = receipts.flat_map(|receipt| receipt["logs"].as_array_mut().unwrap());
        logs.enumerate().for_each(|(position, log)| log["logIndex"] = json!(format!("{:#x}", index(position))));
    }

    /// Waits until all blocks are indexed.
    pub(crate) async fn wait_for(&self, explorer: &super::TestExplorer) {
        let tip = self.inner.blocks.lock().unwrap().len() - 1;
        super::eventually("all blocks indexed", async || {
            let health = explorer.json("/health").await;
            (health["tip"]["number"] == tip).then_some(())
        })
        .await;
    }
}

impl Drop for ReplayNode {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn serve(State(inner): State<Arc<Inner>>, Json(request): Json<Value>) -> Json<Value> {
    Json(match request {
        Value::Array(calls) => calls.iter().map(|call| inner.respond(call)).collect(),
        call => inner.respond(&call),
    })
}

impl Inner {
    fn respond(&self, call: &Value) -> Value {
        let (method, params) = (call["method"].as_str().unwrap(), &call["params"]);
        let mut state = self.state.lock().unwrap();
        *state.calls.entry(method.to_owned()).or_default() += 1;
        if state.failing.contains(method) {
            let error = json!({"code": -32_603, "message": "out of memory"});
            return json!({"jsonrpc": "2.0", "id": call["id"], "error": error});
        }
        let found = |params: String| state.answers.get(&(method.to_owned(), params)).cloned();
        let scripted = found(params.to_string()).or_else(|| found(ANY.to_owned()));
        drop(state);
        match scripted.or_else(|| self.result(method, params)) {
            Some(result) => json!({"jsonrpc": "2.0", "id": call["id"], "result": result}),
            None => json!({
                "jsonrpc": "2.0", "id": call["id"],
                "error": {"code": -32_601, "message": format!("the method {method} does not exist")},
            }),
        }
    }

    fn result(&self, method: &str, params: &Value) -> Option<Value> {
        let blocks = self.blocks.lock().unwrap();
        let by_hash = |hash: &Value| blocks.iter().find(|sealed| sealed.block["hash"] == *hash);
        let by_id = |id: &Value| match id.as_str()? {
            "latest" | "pending" => blocks.last(),
            "earliest" | "finalized" | "safe" => blocks.first(),
            text if text.len() == 66 => by_hash(id),
            _ => blocks.get(usize::try_from(quantity(id)).unwrap()),
        };
        let found = |of: &dyn Fn(&Sealed) -> Option<Value>| Some(blocks.iter().find_map(of).unwrap_or(Value::Null));
        let with_hash = |list: &[Value], field: &str| list.iter().find(|item| item[field] == params[0]).cloned();
        match method {
            "eth_chainId" => Some(json!(format!("{:#x}", self.chain_id))),
            "net_version" => Some(json!(self.chain_id.to_string())),
            "web3_clientVersion" => Some(json!("Replay/v1.0.0")),
            "eth_syncing" => Some(json!(false)),
            "eth_blockNumber" => Some(json!(format!("{:#x}", blocks.len() - 1))),
            "eth_getBlockByNumber" | "eth_getBlockByHash" => {
                let mut block = by_id(&params[0]).map_or(Value::Null, |sealed| sealed.block.clone());
                if params[1] != true && !block.is_null() {
                    let hashes = block["transactions"].as_array().unwrap().iter().map(|tx| tx["hash"].clone());
                    block["transactions"] = hashes.collect();
                }
                Some(block)
            }
            "eth_getUncleByBlockHashAndIndex" => {
                let index = usize::try_from(quantity(&params[1])).unwrap();
                Some(by_hash(&params[0]).and_then(|sealed| sealed.uncles.get(index).cloned()).unwrap_or(Value::Null))
            }
            "eth_getBlockReceipts" => Some(by_id(&params[0]).map_or(Value::Null, |sealed| json!(sealed.receipts))),
            "eth_getTransactionByHash" => {
                found(&|sealed| with_hash(sealed.block["transactions"].as_array().unwrap(), "hash"))
            }
            "eth_getTransactionReceipt" => found(&|sealed| with_hash(&sealed.receipts, "transactionHash")),
            "eth_getBalance" => {
                let id = params[1]["blockHash"].as_str().map_or_else(|| params[1].clone(), |hash| json!(hash));
                let number = by_id(&id).map(|sealed| quantity(&sealed.block["number"]))?;
                let upto = blocks.get(..=usize::try_from(number).unwrap())?;
                let beside = self.state.lock().unwrap().beside.clone();
                let amount = beside.map_or(U256::ZERO, |beside| balance(&beside, upto, params[0].as_str().unwrap()));
                Some(json!(format!("{amount:#x}")))
            }
            "eth_getTransactionCount" => Some(json!("0x0")),
            "debug_traceBlockByNumber" if self.state.lock().unwrap().beside.is_some() => {
                let beside = self.state.lock().unwrap().beside.clone().unwrap_or_default();
                Some(by_id(&params[0]).map_or(Value::Null, |sealed| traces(&beside, sealed)))
            }
            "eth_getCode" | "eth_call" => Some(json!("0x")),
            "eth_getStorageAt" => Some(json!(B256::ZERO)),
            "eth_getLogs" => Some(json!([])),
            _ => None,
        }
    }
}
