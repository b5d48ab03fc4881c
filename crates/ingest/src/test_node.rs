//! A node for tests: a chain of which only the head matters, with contracts given as a function.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{Json, Router, extract::State, routing::post};
use domain::{Address, B256, BlockRef};
use node::{NodeClient, NodeConfig};
use serde_json::{Value, json};
use tokio_util::task::AbortOnDropHandle;

const HEAD: u64 = 100;

/// Result of a call.
pub(crate) enum CallReply {
    Return(Vec<u8>),
    Revert,
    /// The node fails, not the contract.
    Fail,
}

type Contracts = dyn Fn(Address, &[u8]) -> CallReply + Send + Sync;

struct Served {
    contracts: Box<Contracts>,
    /// Response to tracing a block.
    trace: Result<Value, Value>,
    trace_takes: Duration,
    calls: AtomicUsize,
    traces: AtomicUsize,
}

pub(crate) struct TestNode {
    url: String,
    served: Arc<Served>,
    _server: AbortOnDropHandle<()>,
}

impl TestNode {
    pub(crate) async fn start(contracts: impl Fn(Address, &[u8]) -> CallReply + Send + Sync + 'static) -> Self {
        let missing = json!({ "code": -32601, "message": "the method does not exist" });
        Self::tracing(contracts, Err(missing), Duration::ZERO).await
    }

    pub(crate) async fn tracing(
        contracts: impl Fn(Address, &[u8]) -> CallReply + Send + Sync + 'static,
        trace: Result<Value, Value>,
        trace_takes: Duration,
    ) -> Self {
        let (calls, traces) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let served = Arc::new(Served { contracts: Box::new(contracts), trace, trace_takes, calls, traces });
        let app = Router::new().route("/", post(answer)).with_state(Arc::clone(&served));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { url, served, _server: AbortOnDropHandle::new(server) }
    }

    /// A client without retries.
    pub(crate) fn client(&self) -> NodeClient {
        self.limited_client(0)
    }

    /// The same with a limit; 0: none.
    pub(crate) fn limited_client(&self, calls_per_second: u32) -> NodeClient {
        let mut config = NodeConfig::new(vec![self.url.parse().unwrap()]);
        config.retry.tries = 1;
        config.calls_per_second = Some(calls_per_second);
        NodeClient::new(config).unwrap()
    }

    pub(crate) fn head(&self) -> BlockRef {
        BlockRef { number: HEAD, hash: hash(HEAD) }
    }

    /// Trace requests so far.
    pub(crate) fn traces(&self) -> usize {
        self.served.traces.load(Ordering::SeqCst)
    }

    /// Contract calls so far.
    pub(crate) fn calls(&self) -> usize {
        self.served.calls.load(Ordering::SeqCst)
    }
}

fn hash(number: u64) -> B256 {
    B256::with_last_byte(u8::try_from(number).unwrap() + 1)
}

async fn answer(State(served): State<Arc<Served>>, Json(request): Json<Value>) -> Json<Value> {
    if request["method"] == "debug_traceBlockByNumber" {
        served.traces.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(served.trace_takes).await;
    }
    Json(match &request {
        Value::Array(calls) => calls.iter().map(|call| answer_one(&served, call)).collect(),
        call => answer_one(&served, call),
    })
}

fn answer_one(served: &Served, call: &Value) -> Value {
    let params = &call["params"];
    let outcome = match call["method"].as_str().unwrap() {
        "eth_chainId" => Ok(json!("0x539")),
        "eth_getBlockByNumber" => {
            let number = if params[0] == "0x0" { 0 } else { HEAD };
            Ok(json!({ "number": format!("{number:#x}"), "hash": hash(number).to_string() }))
        }
        // It does not run programs for many calls.
        "eth_call" if params[0].get("to").is_none() => Err(json!({ "code": -32602, "message": "no to" })),
        "eth_call" => {
            assert_eq!(params[1]["blockHash"], json!(hash(HEAD).to_string()), "contracts are called at the block");
            served.calls.fetch_add(1, Ordering::SeqCst);
            let to: Address = params[0]["to"].as_str().unwrap().parse().unwrap();
            let data = alloy_primitives::hex::decode(params[0]["data"].as_str().unwrap()).unwrap();
            match (served.contracts)(to, &data) {
                CallReply::Return(bytes) => Ok(json!(alloy_primitives::hex::encode_prefixed(bytes))),
                CallReply::Revert => Err(json!({ "code": 3, "message": "execution reverted" })),
                CallReply::Fail => Err(json!({ "code": -32603, "message": "the node is overloaded" })),
            }
        }
        "eth_getCode" => Ok(json!("0x6001")),
        "debug_traceBlockByNumber" => served.trace.clone(),
        "trace_block" => Err(json!({ "code": -32601, "message": "the method does not exist" })),
        other => panic!("unexpected method {other}"),
    };
    match outcome {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": call["id"], "result": result }),
        Err(error) => json!({ "jsonrpc": "2.0", "id": call["id"], "error": error }),
    }
}
