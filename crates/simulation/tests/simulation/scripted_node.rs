//! Nodes that misbehave as planned. Requests use no sockets and take only simulated time.

use std::{
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use alloy_primitives::bytes::Bytes;
use futures::future::BoxFuture;
use node::{Exchange, TransportError};
use rand::{Rng, rngs::StdRng};
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

use crate::{
    plan::NodeMode,
    world::{OrphanedBranch, World, lock},
};

const GETH: &str = "Geth/v1.16.7-stable/linux-amd64/go1.25.1";
const HEAD_NUMBER: &str = "eth_blockNumber";
const BLOCK: &str = "eth_getBlockByNumber";
const RECEIPTS: &str = "eth_getBlockReceipts";

pub(crate) struct ScriptedNode {
    world: Arc<World>,
    index: usize,
    /// Ignores the plan and never misbehaves.
    is_honest: bool,
    /// The current second and the number of requests in it.
    in_this_second: Mutex<(u64, u32)>,
}

impl fmt::Debug for ScriptedNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ScriptedNode({})", self.index)
    }
}

impl Exchange for ScriptedNode {
    fn exchange(&self, request: String) -> BoxFuture<'_, Result<Bytes, TransportError>> {
        Box::pin(self.answer(request))
    }
}

impl ScriptedNode {
    pub(crate) fn new(world: &Arc<World>, index: usize) -> Self {
        Self { world: Arc::clone(world), index, is_honest: false, in_this_second: Mutex::default() }
    }

    pub(crate) fn honest(world: &Arc<World>) -> Self {
        Self { is_honest: true, ..Self::new(world, 0) }
    }

    fn mode(&self) -> NodeMode {
        if self.is_honest {
            return NodeMode::Honest;
        }
        self.world.plan.endpoints[self.index].at(self.world.now()).unwrap_or(NodeMode::Honest)
    }

    async fn answer(&self, request: String) -> Result<Bytes, TransportError> {
        let request: Value = serde_json::from_str(&request).unwrap();
        let calls: Vec<Value> = request.as_array().cloned().unwrap_or_else(|| vec![request.clone()]);
        let key = calls.iter().map(|call| format!("{}{}", call["method"], call["params"])).collect::<String>();
        let count = self.world.count_request(self.index, xxh3_64(key.as_bytes()));
        let endpoint = self.index as u64;
        let chance = self.world.plan.chance.of("node").nth(endpoint).of(&key).nth(count);
        let mut rng = chance.rng();
        tokio::time::sleep(Duration::from_micros(rng.random_range(200..40_000))).await;
        let mode = self.mode();
        if !self.is_honest {
            self.world.record(format!("node {} {mode:?} {key} {count}", self.index));
        }
        match mode {
            NodeMode::Down => return Err(TransportError::Unreachable("connection refused".into())),
            NodeMode::Silent => return std::future::pending().await,
            NodeMode::Limited(limit) if self.is_over(limit) => {
                let retry_after = rng.random_bool(0.5).then(|| Duration::from_secs(rng.random_range(0..4)));
                return Err(TransportError::Status { status: 429, retry_after, body: Bytes::new() });
            }
            NodeMode::Flaky if rng.random_bool(0.4) => return fail(&mut rng, &self.answer_all(&request, mode, None)),
            _ => {}
        }
        let falsifier = (mode == NodeMode::FalseData && rng.random_bool(0.5)).then_some(&mut rng);
        Ok(self.answer_all(&request, mode, falsifier).to_string().into())
    }

    fn is_over(&self, limit: u32) -> bool {
        let second = self.world.now().as_secs();
        let mut counted = lock(&self.in_this_second);
        *counted = if counted.0 == second { (second, counted.1 + 1) } else { (second, 1) };
        counted.1 > limit
    }

    fn answer_all(&self, request: &Value, mode: NodeMode, mut falsifier: Option<&mut StdRng>) -> Value {
        match request.as_array() {
            Some(calls) => calls.iter().map(|call| self.answer_one(call, mode, falsifier.as_deref_mut())).collect(),
            None => self.answer_one(request, mode, falsifier),
        }
    }

    fn answer_one(&self, call: &Value, mode: NodeMode, falsifier: Option<&mut StdRng>) -> Value {
        let method = call["method"].as_str().unwrap();
        let mut answer = self.honest_answer(call, method, mode);
        if let Some(rng) = falsifier {
            self.falsify(rng, call, method, &mut answer);
        }
        answer
    }

    fn honest_answer(&self, call: &Value, method: &str, mode: NodeMode) -> Value {
        let (head, finalized, orphaned) = {
            let branches = lock(&self.world.branches);
            (self.world.chain.head().number, branches.finalized, branches.orphaned.clone())
        };
        let result = |result: Value| json!({ "jsonrpc": "2.0", "id": call["id"], "result": result });
        if method == "web3_clientVersion" && !self.world.plan.is_dev_chain {
            return result(json!(GETH));
        }
        let newest = match mode {
            NodeMode::Lagging(blocks) => head.saturating_sub(blocks),
            _ => head,
        };
        if method == HEAD_NUMBER {
            let number = match (mode, &orphaned) {
                (NodeMode::OrphanedBranch, Some(orphaned)) => orphaned.fork + orphaned.blocks.len() as u64,
                _ => newest,
            };
            return result(json!(format!("{number:#x}")));
        }
        if !matches!(method, BLOCK | RECEIPTS) {
            return self.query_chain(call.clone());
        }
        let number = match call["params"][0].as_str().unwrap() {
            "latest" => None,
            "finalized" => Some(finalized.min(newest)),
            tag => match u64::from_str_radix(tag.trim_start_matches("0x"), 16) {
                Ok(number) if tag.len() < 20 => Some(number),
                _ => return self.by_hash(call, tag, orphaned.as_ref()),
            },
        };
        if let (NodeMode::OrphanedBranch, Some(orphaned)) = (mode, orphaned) {
            let number = number.unwrap_or(orphaned.fork + orphaned.blocks.len() as u64);
            if number > orphaned.fork {
                let index = usize::try_from(number - orphaned.fork - 1).unwrap();
                return result(orphaned.blocks.get(index).map_or(
                    Value::Null,
                    |block| match call["params"][1].as_bool() {
                        _ if method == RECEIPTS => block.receipts.clone(),
                        Some(true) => block.full.clone(),
                        _ => block.header.clone(),
                    },
                ));
            }
        }
        let number = number.unwrap_or(newest);
        if number > newest {
            return result(Value::Null);
        }
        let mut call = call.clone();
        call["params"][0] = json!(format!("{number:#x}"));
        self.query_chain(call)
    }

    fn by_hash(&self, call: &Value, hash: &str, orphaned: Option<&OrphanedBranch>) -> Value {
        match orphaned.and_then(|orphaned| orphaned.blocks.iter().find(|block| block.hash == hash)) {
            Some(block) => json!({ "jsonrpc": "2.0", "id": call["id"], "result": block.receipts }),
            None => self.query_chain(call.clone()),
        }
    }

    fn query_chain(&self, call: Value) -> Value {
        serde_json::from_slice(&self.world.chain.answer(call.to_string().as_bytes()).unwrap()).unwrap()
    }

    /// Only data that can be checked: results of contract calls have no proof.
    fn falsify(&self, rng: &mut StdRng, call: &Value, method: &str, answer: &mut Value) {
        if method == BLOCK && call["params"][1] == true {
            falsify_block(rng, &mut answer["result"]);
        } else if method == BLOCK {
            falsify_header(rng, call, &mut answer["result"]);
        } else if method == HEAD_NUMBER {
            answer["result"] = json!(format!("{:#x}", rng.random_range(0..1_000)));
        } else if matches!(method, RECEIPTS | "eth_getTransactionReceipt") {
            falsify_receipts(rng, &mut answer["result"]);
        } else if method != "eth_chainId" && rng.random_bool(0.3) {
            *answer = json!({ "jsonrpc": "2.0", "id": call["id"], "error": error(rng) });
        }
    }
}

fn other_hash(rng: &mut StdRng) -> Value {
    json!(format!("0x{:032x}{:032x}", rng.random::<u128>(), rng.random::<u128>()))
}

fn falsify_block(rng: &mut StdRng, block: &mut Value) {
    if block.is_null() {
        return;
    }
    match rng.random_range(0..9) {
        0 => *block = Value::Null,
        1 => block["transactions"] = json!([]),
        2 => {
            if let Some(transactions) = block["transactions"].as_array_mut() {
                transactions.pop();
            }
        }
        3 => block["hash"] = other_hash(rng),
        4 => block["parentHash"] = other_hash(rng),
        5 => block["timestamp"] = json!("0x1"),
        6 => block["number"] = json!(format!("{:#x}", rng.random_range(0..100))),
        7 => {
            for transaction in block["transactions"].as_array_mut().into_iter().flatten() {
                transaction["value"] = json!("0x7");
            }
        }
        _ => block["transactions"].as_array_mut().into_iter().for_each(|transactions| transactions.reverse()),
    }
}

fn falsify_header(rng: &mut StdRng, call: &Value, header: &mut Value) {
    // Block 0 identifies the chain; endpoints of another chain are not simulated.
    if header.is_null() || call["params"][0] == "0x0" {
        return;
    }
    let number = u64::from_str_radix(header["number"].as_str().unwrap().trim_start_matches("0x"), 16).unwrap();
    match rng.random_range(0..5) {
        0 => *header = Value::Null,
        1 => header["hash"] = other_hash(rng),
        2 => {
            header["hash"] = other_hash(rng);
            header["number"] = json!(format!("{:#x}", number + rng.random_range(1..1_000)));
        }
        3 => header["number"] = json!(format!("{:#x}", number.saturating_sub(rng.random_range(1..20)))),
        _ => {}
    }
}

fn falsify_receipts(rng: &mut StdRng, receipts: &mut Value) {
    let kind = rng.random_range(0..6);
    if kind == 0 {
        *receipts = Value::Null;
        return;
    }
    let Some(all) = receipts.as_array_mut() else { return };
    match kind {
        1 => all.clear(),
        2 => drop(all.pop()),
        3 => all.reverse(),
        4 => {
            for log in all.iter_mut().filter_map(|receipt| receipt["logs"].as_array_mut()).flatten() {
                let data = log["data"].as_str().unwrap();
                log["data"] = json!(data.replace('1', "2").replacen("0x2", "0x1", 1));
            }
        }
        _ => {
            for receipt in all.iter_mut() {
                receipt["logs"] = json!([]);
                receipt["status"] = json!("0x0");
            }
        }
    }
}

fn error(rng: &mut StdRng) -> Value {
    let (code, message) = [
        (-32_000, "header not found"),
        (-32_000, "missing trie node"),
        (-32_603, "internal error"),
        (-32_005, "limit exceeded"),
        (-32_601, "the method does not exist/is not available"),
        (-32_002, "request timed out"),
    ][rng.random_range(0..6)];
    json!({ "code": code, "message": message })
}

fn fail(rng: &mut StdRng, answer: &Value) -> Result<Bytes, TransportError> {
    let status = |status: u16| Err(TransportError::Status { status, retry_after: None, body: Bytes::new() });
    match rng.random_range(0..6) {
        0 => Err(TransportError::Dropped("connection reset".into())),
        1 => status(500),
        2 => status(503),
        3 => status(429),
        4 => {
            let text = answer.to_string();
            Ok(text.as_bytes()[..rng.random_range(0..text.len())].to_vec().into())
        }
        _ => {
            let refuse = |answer: &Value, error: Value| json!({ "jsonrpc": "2.0", "id": answer["id"], "error": error });
            let refused = match answer.as_array() {
                Some(answers) => answers.iter().map(|answer| refuse(answer, error(rng))).collect(),
                None => refuse(answer, error(rng)),
            };
            Ok(refused.to_string().into())
        }
    }
}
