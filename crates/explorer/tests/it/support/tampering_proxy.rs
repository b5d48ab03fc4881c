use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::post,
};
use serde_json::Value;
use tokio::{net::TcpListener, task::JoinHandle};

use super::{client::http_client, rpc::quantity};

/// A provider key in the URL path, which must not leak.
pub(crate) const KEY: &str = "0123456789abcdef0123456789abcdef";

/// Changes a block or its receipts, given the block number.
type Tamper = dyn Fn(u64, &mut BlockPart<'_>) + Send + Sync;

/// One of the two responses that make up a block.
pub(crate) enum BlockPart<'a> {
    Block(&'a mut Value),
    Receipts(&'a mut Value),
}

/// A proxy in front of a node that consistently changes blocks until it is stopped.
pub(crate) struct TamperingProxy {
    address: SocketAddr,
    upstream: Arc<Upstream>,
    server: JoinHandle<()>,
}

struct Upstream {
    url: String,
    http: reqwest::Client,
    tamper: Box<Tamper>,
    tampering: AtomicBool,
}

impl TamperingProxy {
    pub(crate) async fn in_front_of(
        url: &str,
        tamper: impl Fn(u64, &mut BlockPart<'_>) + Send + Sync + 'static,
    ) -> Self {
        let http = http_client().build().unwrap();
        let upstream = Arc::new(Upstream {
            url: url.to_owned(),
            http,
            tamper: Box::new(tamper),
            tampering: AtomicBool::new(true),
        });
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(post(forward)).with_state(Arc::clone(&upstream));
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, upstream, server }
    }

    pub(crate) fn host(&self) -> String {
        self.address.to_string()
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/v2/{KEY}", self.address)
    }

    /// Forwards all responses unchanged from now on.
    pub(crate) fn stop_tampering(&self) {
        self.upstream.tampering.store(false, Ordering::SeqCst);
    }
}

impl Drop for TamperingProxy {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn forward(State(upstream): State<Arc<Upstream>>, body: Bytes) -> Response {
    let request_body: Value = serde_json::from_slice(&body).unwrap();
    let request = upstream.http.post(&upstream.url).header(CONTENT_TYPE, "application/json").body(body);
    let Ok(response) = request.send().await else { return StatusCode::BAD_GATEWAY.into_response() };
    let Ok(answer) = response.bytes().await else { return StatusCode::BAD_GATEWAY.into_response() };
    if !upstream.tampering.load(Ordering::SeqCst) {
        return ([(CONTENT_TYPE, "application/json")], answer).into_response();
    }
    let mut answer: Value = serde_json::from_slice(&answer).unwrap();
    match (&request_body, &mut answer) {
        (Value::Array(calls), Value::Array(answers)) => {
            for answer in answers {
                let call = calls.iter().find(|call| call["id"] == answer["id"]).unwrap();
                upstream.tamper_with(call, &mut answer["result"]);
            }
        }
        (call, answer) => upstream.tamper_with(call, &mut answer["result"]),
    }
    ([(CONTENT_TYPE, "application/json")], serde_json::to_vec(&answer).unwrap()).into_response()
}

impl Upstream {
    fn tamper_with(&self, call: &Value, result: &mut Value) {
        match call["method"].as_str() {
            Some("eth_getBlockByNumber") if !result.is_null() => {
                let number = quantity(&result["number"]);
                (self.tamper)(number, &mut BlockPart::Block(result));
            }
            Some("eth_getBlockReceipts") if result.as_array().is_some_and(|receipts| !receipts.is_empty()) => {
                let number = quantity(&result[0]["blockNumber"]);
                (self.tamper)(number, &mut BlockPart::Receipts(result));
            }
            _ => {}
        }
    }
}
