//! A node with scripted misbehaviour.

pub(crate) mod chain;

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{StatusCode, header::RETRY_AFTER},
    response::{IntoResponse, Response},
    routing::post,
};
pub(crate) use chain::Chain;
use node::{Endpoint, NodeClient, NodeConfig, PollBounds, RetryPolicy};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// Reaction to one call.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    Result(Value),
    Error(i64, &'static str),
    /// For the request or batch.
    Status(u16),
    RetryAfter(u32),
    Raw(&'static str),
    Late(Duration, Value),
}

/// None: like an honest node.
type Script = dyn Fn(&str, &Value) -> Option<Reply> + Send + Sync;

pub(crate) struct FakeNode {
    pub(crate) address: SocketAddr,
    behaviour: Arc<Behaviour>,
    server: JoinHandle<()>,
}

struct Behaviour {
    chain: Mutex<Chain>,
    script: Mutex<Box<Script>>,
    largest_batch: Mutex<usize>,
    /// Whether the script answers calls of programs, too.
    runs_programs: AtomicBool,
    request_counts: Mutex<HashMap<String, usize>>,
    requests: Mutex<Vec<usize>>,
}

impl FakeNode {
    pub(crate) async fn start(chain: Chain) -> Self {
        Self::start_at("127.0.0.1:0".parse().unwrap(), chain).await
    }

    pub(crate) async fn start_at(address: SocketAddr, chain: Chain) -> Self {
        let behaviour = Arc::new(Behaviour {
            chain: Mutex::new(chain),
            script: Mutex::new(Box::new(|_, _| None)),
            largest_batch: Mutex::new(usize::MAX),
            runs_programs: AtomicBool::new(false),
            request_counts: Mutex::default(),
            requests: Mutex::default(),
        });
        let app = Router::new().route("/", post(answer)).with_state(Arc::clone(&behaviour));
        let listener = tokio::net::TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { address, behaviour, server }
    }

    pub(crate) fn behave(&self, script: impl Fn(&str, &Value) -> Option<Reply> + Send + Sync + 'static) {
        *self.behaviour.script.lock().unwrap() = Box::new(script);
    }

    /// Larger batches get one error.
    pub(crate) fn take_batches_up_to(&self, calls: usize) {
        *self.behaviour.largest_batch.lock().unwrap() = calls;
    }

    /// Lets the script answer calls of programs for many accounts, which are refused otherwise.
    pub(crate) fn run_programs(&self) {
        self.behaviour.runs_programs.store(true, Ordering::Relaxed);
    }

    pub(crate) fn serve(&self, chain: Chain) {
        *self.behaviour.chain.lock().unwrap() = chain;
    }

    pub(crate) fn request_count(&self, method: &str) -> usize {
        self.behaviour.request_counts.lock().unwrap().get(method).copied().unwrap_or(0)
    }

    /// Calls per request so far.
    pub(crate) fn requests(&self) -> Vec<usize> {
        self.behaviour.requests.lock().unwrap().clone()
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        format!("http://{}", self.address).parse().unwrap()
    }

    pub(crate) fn client(&self) -> NodeClient {
        client([self.endpoint()])
    }

    /// Stops the node and closes its connections.
    pub(crate) async fn stop(self) -> SocketAddr {
        self.server.abort();
        let _ = self.server.await;
        self.address
    }
}

/// Short pauses, so that tests are fast. The timeout is long, so that no response is late on a busy machine.
pub(crate) fn config(endpoints: impl IntoIterator<Item = Endpoint>) -> NodeConfig {
    let mut config = NodeConfig::new(endpoints.into_iter().collect());
    config.request_timeout = Duration::from_secs(30);
    config.retry = RetryPolicy {
        tries: 6,
        first_pause: Duration::from_millis(2),
        longest_pause: Duration::from_millis(20),
        longest_retry_after: Duration::from_millis(300),
    };
    config.poll = PollBounds { shortest: Duration::from_millis(5), longest: Duration::from_millis(20) };
    config.probe_interval = Duration::from_millis(50);
    config
}

pub(crate) fn client(endpoints: impl IntoIterator<Item = Endpoint>) -> NodeClient {
    NodeClient::new(config(endpoints)).unwrap()
}

/// An endpoint without a listener.
pub(crate) async fn dead_endpoint() -> Endpoint {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}", listener.local_addr().unwrap()).parse().unwrap()
}

/// Waits for a condition, for a bounded time.
pub(crate) async fn eventually(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let polling = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), polling)
        .await
        .unwrap_or_else(|_| panic!("timed out waiting until {what}"));
}

async fn answer(State(behaviour): State<Arc<Behaviour>>, body: Bytes) -> Response {
    let request: Value = serde_json::from_slice(&body).unwrap();
    let is_program = request["method"] == "eth_call" && request["params"][0].get("to").is_none();
    if is_program && !behaviour.runs_programs.load(Ordering::Relaxed) {
        // Like a node that does not run a program for many calls; not counted.
        return json_body(
            &json!({ "jsonrpc": "2.0", "id": request["id"], "error": { "code": -32602, "message": "no to" } }),
        );
    }
    let calls = request.as_array().cloned().unwrap_or_else(|| vec![request.clone()]);
    behaviour.requests.lock().unwrap().push(calls.len());
    if request.is_array() && calls.len() > *behaviour.largest_batch.lock().unwrap() {
        return json_body(&json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32600, "message": "no" } }));
    }
    let mut responses = Vec::new();
    for call in &calls {
        let (method, params) = (call["method"].as_str().unwrap(), &call["params"]);
        *behaviour.request_counts.lock().unwrap().entry(method.to_owned()).or_default() += 1;
        let scripted = (behaviour.script.lock().unwrap())(method, params);
        let reply = scripted.unwrap_or_else(|| behaviour.chain.lock().unwrap().answer(method, params));
        responses.push(match reply {
            Reply::Result(result) => json!({ "jsonrpc": "2.0", "id": call["id"], "result": result }),
            Reply::Error(code, message) => {
                json!({ "jsonrpc": "2.0", "id": call["id"], "error": { "code": code, "message": message } })
            }
            Reply::Status(status) => return StatusCode::from_u16(status).unwrap().into_response(),
            Reply::RetryAfter(seconds) => {
                return (StatusCode::TOO_MANY_REQUESTS, [(RETRY_AFTER, seconds.to_string())]).into_response();
            }
            Reply::Raw(body) => return body.into_response(),
            Reply::Late(delay, result) => {
                tokio::time::sleep(delay).await;
                json!({ "jsonrpc": "2.0", "id": call["id"], "result": result })
            }
        });
    }
    // A node may answer the calls of a batch in any order.
    responses.reverse();
    if request.is_array() { json_body(&Value::Array(responses)) } else { json_body(&responses[0]) }
}

fn json_body(value: &Value) -> Response {
    ([("content-type", "application/json")], value.to_string()).into_response()
}
