//! A node of a dev chain with scripted faults, reproducible by seed.

use std::{
    collections::{HashMap, VecDeque},
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, Instant},
};

use devchain::DevChain;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use super::{Rpc, TestExplorer};

/// The client version and the chain id of a node on a public network.
const CLIENT_VERSION: &str = "Geth/v1.16.7-stable/linux-amd64/go1.25.1";
const CHAIN_ID: &str = "0x1";
const HELD_POLL: Duration = Duration::from_millis(5);
/// Any method.
pub(crate) const ANY: &str = "*";
/// `eth_getBlockByNumber` with a number, for the header alone.
pub(crate) const HEADER: &str = "header";

/// What goes wrong with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Status(u16),
    Error(i64, &'static str),
    /// Never responds; the connection stays open.
    Hang,
    /// Closes the connection instead of responding.
    Drop,
    /// Responds with a null result.
    Null,
    /// Responds late.
    Stall(Duration),
    /// Responds with the first half of the JSON.
    Cut,
    /// Responds with a block that has another parent.
    WrongParent,
    /// Responds with the block before.
    AnotherNumber,
}

impl Fault {
    /// One of the ways in which real nodes spoil a response, by a number from 0 to 1. Faults of blocks are cut responses of other methods.
    fn of_mix(drawn: f64, is_block: bool) -> Self {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "one of eight")]
        let (kind, rest) = ((drawn * 8.0) as usize, drawn * 8.0 % 1.0);
        match kind {
            0 => Self::Status(503),
            1 => Self::Status(429),
            2 => Self::Drop,
            3 => Self::Stall(Duration::from_secs(3) + Duration::from_secs(12).mul_f64(rest)),
            4 if is_block => Self::Null,
            5 if is_block => Self::WrongParent,
            6 if is_block => Self::AnotherNumber,
            _ => Self::Cut,
        }
    }
}

/// How the node behaves. By default it has no faults.
#[derive(Debug, Clone, Default)]
pub(crate) struct Script {
    /// A method or [`ANY`], its fault, and the probability.
    pub(crate) faults: Vec<(&'static str, Fault, f64)>,
    /// The share of requests that are spoiled in a mix of ways.
    pub(crate) mixed: f64,
    /// The fault of requests for the finalized block.
    pub(crate) finalized: Option<Fault>,
    /// The block that the tag `finalized` returns.
    pub(crate) finalized_block: Option<u64>,
    /// The highest block that the node shows.
    pub(crate) newest: Option<u64>,
    /// The block that is served with a wrong parent hash.
    pub(crate) wrong_parent_at: Option<u64>,
    /// HTTP requests per second; further ones get 429.
    pub(crate) requests_per_second: Option<usize>,
    /// The `retry-after` of a 429, in seconds.
    pub(crate) retry_after: Option<u32>,
    /// The delay of every response.
    pub(crate) delay: Duration,
    /// A method, and how many requests for it have a response; the others wait for another script.
    pub(crate) held: Option<(&'static str, usize)>,
    /// The result of `web3_clientVersion`. Without it, the chain is a public one.
    pub(crate) client_version: Option<&'static str>,
}

/// The requests so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestCounts {
    pub(crate) served: usize,
    pub(crate) refused: usize,
    pub(crate) failed: usize,
    pub(crate) methods: HashMap<String, usize>,
}

#[derive(Debug)]
pub(crate) struct FaultyNode {
    pub(crate) chain: DevChain,
    pub(crate) rpc: Rpc,
    address: SocketAddr,
    inner: Arc<Inner>,
    server: JoinHandle<()>,
}

#[derive(Debug)]
struct Inner {
    chain: Mutex<DevChain>,
    seed: u64,
    script: Mutex<Script>,
    request_counts: Mutex<RequestCounts>,
    /// When the requests of the last second were admitted.
    admitted: Mutex<VecDeque<Instant>>,
}

enum Reply {
    Body(Vec<u8>),
    Fault(Fault),
    Limited(Option<u32>),
}

impl FaultyNode {
    pub(crate) async fn start(chain: &DevChain, seed: u64, script: Script) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let inner = Arc::new(Inner {
            chain: Mutex::new(chain.clone()),
            seed,
            script: Mutex::new(script),
            request_counts: Mutex::default(),
            admitted: Mutex::default(),
        });
        let served = Arc::clone(&inner);
        let server = tokio::spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else { continue };
                let _ = stream.set_nodelay(true);
                tokio::spawn(Arc::clone(&served).serve(stream));
            }
        });
        Self { chain: chain.clone(), rpc: Rpc::new(format!("http://{address}")), address, inner, server }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Replaces the script.
    pub(crate) fn set_behavior(&self, script: Script) {
        *lock(&self.inner.script) = script;
    }

    /// Serves another chain from now on.
    pub(crate) fn replace_chain(&self, chain: &DevChain) {
        *lock(&self.inner.chain) = chain.clone();
    }

    pub(crate) fn request_counts(&self) -> RequestCounts {
        lock(&self.inner.request_counts).clone()
    }

    /// Waits until the explorer has the head of the chain, even if this node hides it.
    pub(crate) async fn wait_for(&self, explorer: &TestExplorer) {
        let head = self.chain.head();
        explorer.wait_for_tip(head.number, &head.hash.to_string()).await;
    }
}

impl Drop for FaultyNode {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Inner {
    /// Serves the requests of one connection until the client closes it or a fault does.
    async fn serve(self: Arc<Self>, stream: TcpStream) {
        let mut stream = BufReader::new(stream);
        while let Some(body) = read_request(&mut stream).await {
            let response = match self.reply(body).await {
                Reply::Body(body) => http("200 OK", "", &body),
                Reply::Limited(after) => {
                    let header = after.map(|seconds| format!("retry-after: {seconds}\r\n")).unwrap_or_default();
                    http("429 Too Many Requests", &header, b"")
                }
                Reply::Fault(Fault::Status(status)) => http(&format!("{status} Scripted"), "", b""),
                Reply::Fault(Fault::Error(code, message)) => {
                    let error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": code, "message": message}});
                    http("200 OK", "", error.to_string().as_bytes())
                }
                Reply::Fault(Fault::Null) => http("200 OK", "", br#"{"jsonrpc":"2.0","id":null,"result":null}"#),
                Reply::Fault(Fault::Hang) => return hang(stream).await,
                Reply::Fault(Fault::Drop) => return,
                Reply::Fault(Fault::Stall(_) | Fault::Cut | Fault::WrongParent | Fault::AnotherNumber) => {
                    unreachable!("these have a body")
                }
            };
            if stream.get_mut().write_all(&response).await.is_err() {
                return;
            }
        }
    }

    async fn reply(&self, body: Vec<u8>) -> Reply {
        let script = lock(&self.script).clone();
        let request: Value = serde_json::from_slice(&body).unwrap();
        let calls = request.as_array().cloned().unwrap_or_else(|| vec![request.clone()]);
        if let Some(most) = script.requests_per_second
            && !self.take_call(most)
        {
            lock(&self.request_counts).refused += 1;
            return Reply::Limited(script.retry_after);
        }
        tokio::time::sleep(script.delay).await;
        while self.holds(&calls) {
            tokio::time::sleep(HELD_POLL).await;
        }
        let fault = self.fault(&script, &calls);
        match fault {
            None | Some(Fault::Cut | Fault::WrongParent | Fault::AnotherNumber) => {}
            Some(Fault::Stall(time)) => tokio::time::sleep(time).await,
            Some(fault) => return Reply::Fault(fault),
        }
        let chain = lock(&self.chain).clone();
        // Calls may take long, so they run on the blocking pool.
        let answers = tokio::task::spawn_blocking(move || {
            calls.iter().map(|call| spoiled(fault, call, |call| answer(&chain, &script, call))).collect()
        });
        let answers: Vec<Value> = answers.await.unwrap();
        let body = if request.is_array() { Value::Array(answers) } else { answers.into_iter().next().unwrap() };
        let mut body = serde_json::to_vec(&body).unwrap();
        if fault == Some(Fault::Cut) {
            body.truncate(body.len() / 2);
        }
        Reply::Body(body)
    }

    /// Whether the script of this moment holds these calls back.
    fn holds(&self, calls: &[Value]) -> bool {
        let Some((method, answered)) = lock(&self.script).held else { return false };
        let count = lock(&self.request_counts).methods.get(method).copied().unwrap_or_default();
        count >= answered && calls.iter().any(|call| call["method"] == method)
    }

    /// Whether the rate limit allows one more request.
    fn take_call(&self, most: usize) -> bool {
        let (mut admitted, now) = (lock(&self.admitted), Instant::now());
        while admitted.front().is_some_and(|then| now.duration_since(*then) >= Duration::from_secs(1)) {
            admitted.pop_front();
        }
        let fits = admitted.len() < most;
        if fits {
            admitted.push_back(now);
        }
        fits
    }

    /// Decides for every call of the request whether it fails; the first fault applies to the whole request.
    fn fault(&self, script: &Script, calls: &[Value]) -> Option<Fault> {
        let mut request_counts = lock(&self.request_counts);
        let mut found = None;
        for call in calls {
            let method = call["method"].as_str().unwrap();
            *request_counts.methods.entry(method.to_owned()).or_default() += 1;
            let drawn = self.draw(request_counts.served + request_counts.failed);
            let scripted = script
                .faults
                .iter()
                .find(|(of, _, share)| (*of == ANY || *of == method || is_header(of, call)) && drawn < *share)
                .map(|(_, fault, _)| *fault);
            let mixed =
                (drawn < script.mixed).then(|| Fault::of_mix(drawn / script.mixed, method == "eth_getBlockByNumber"));
            let of_finalized = script.finalized.filter(|_| call["params"][0] == "finalized");
            found = found.or(scripted).or(mixed).or(of_finalized);
        }
        if found.is_some() {
            request_counts.failed += 1;
        } else {
            request_counts.served += 1;
        }
        found
    }

    /// A pseudorandom number between 0 and 1 for a request number, the same in every run.
    fn draw(&self, request: usize) -> f64 {
        let mixed = (self.seed << 32 | request as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 31)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        ((mixed ^ (mixed >> 32)) >> 32) as f64 / f64::from(u32::MAX)
    }
}

fn is_header(of: &str, call: &Value) -> bool {
    let number = call["params"][0].as_str().is_some_and(|number| number.starts_with("0x") && number != "0x0");
    of == HEADER && call["method"] == "eth_getBlockByNumber" && number && call["params"][1] == false
}

/// An answer with a fault in its contents.
fn spoiled(fault: Option<Fault>, call: &Value, answer: impl Fn(&Value) -> Value) -> Value {
    let number =
        call["params"][0].as_str().and_then(|text| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok());
    match (fault, number) {
        (Some(Fault::AnotherNumber), Some(number)) => {
            let mut other = call.clone();
            other["params"][0] = json!(format!("{:#x}", number.saturating_sub(1)));
            answer(&other)
        }
        (Some(Fault::WrongParent), _) => {
            let mut answer = answer(call);
            if answer["result"].is_object() {
                answer["result"]["parentHash"] = answer["result"]["hash"].clone();
            }
            answer
        }
        _ => answer(call),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap()
}

/// The body of the next request; None if the connection is closed.
async fn read_request(stream: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let (mut line, mut length) = (String::new(), 0);
    loop {
        line.clear();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        let header = line.trim_end().to_ascii_lowercase();
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if header.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some(body)
}

/// Waits until the client closes the connection.
async fn hang(mut stream: BufReader<TcpStream>) {
    let mut nothing = [0; 1];
    let _ = stream.read(&mut nothing).await;
}

fn http(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{headers}\r\n");
    [head.as_bytes(), body].concat()
}

fn answer(chain: &DevChain, script: &Script, call: &Value) -> Value {
    if call["method"] == "web3_clientVersion" {
        let version = script.client_version.unwrap_or(CLIENT_VERSION);
        return json!({"jsonrpc": "2.0", "id": call["id"], "result": version});
    }
    if call["method"] == "eth_chainId" && script.client_version.is_none() {
        return json!({"jsonrpc": "2.0", "id": call["id"], "result": CHAIN_ID});
    }
    let mut call = call.clone();
    if call["params"][0] == "finalized"
        && let Some(number) = script.finalized_block
    {
        call["params"][0] = json!(format!("{number:#x}"));
    }
    if let Some(newest) = script.newest {
        call["params"] = seen_from(newest, &call["params"]);
        if asks_beyond(newest, &call) {
            return json!({"jsonrpc": "2.0", "id": call["id"], "result": null});
        }
    }
    let mut answer: Value = serde_json::from_slice(&chain.answer(call.to_string().as_bytes()).unwrap()).unwrap();
    if let Some(wrong_parent_at) = script.wrong_parent_at
        && answer["result"]["number"] == format!("{wrong_parent_at:#x}")
        && answer["result"].get("parentHash").is_some()
    {
        answer["result"]["parentHash"] = answer["result"]["hash"].clone();
    }
    answer
}

/// Resolves block tags as if the chain ended at `newest`.
fn seen_from(newest: u64, params: &Value) -> Value {
    let Some(params) = params.as_array() else { return params.clone() };
    let seen = params.iter().map(|param| match param.as_str() {
        Some("latest" | "pending") => json!(format!("{newest:#x}")),
        Some("safe" | "finalized") => json!(format!("{:#x}", newest.saturating_sub(64))),
        _ => param.clone(),
    });
    seen.collect()
}

fn asks_beyond(newest: u64, call: &Value) -> bool {
    let of_block = matches!(call["method"].as_str(), Some("eth_getBlockByNumber" | "eth_getBlockReceipts"));
    let number = call["params"][0].as_str().filter(|text| text.len() < 20);
    let number = number.and_then(|text| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok());
    of_block && number.is_some_and(|number| number > newest)
}
