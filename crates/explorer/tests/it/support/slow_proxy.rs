use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::post,
};
use tokio::{net::TcpListener, sync::Semaphore, task::JoinHandle};

use super::client::http_client;

/// A proxy in front of a node that delays every response.
#[derive(Debug)]
pub(crate) struct SlowProxy {
    address: SocketAddr,
    upstream: Arc<Upstream>,
    server: JoinHandle<()>,
}

#[derive(Debug)]
struct Upstream {
    url: String,
    http: reqwest::Client,
    delay: Duration,
    requests: AtomicU64,
    /// Requests for blocks and receipts that are answered at the same time.
    block_slots: Semaphore,
}

impl SlowProxy {
    /// Delays every response of the node at `url`.
    pub(crate) async fn in_front_of(url: &str, delay: Duration) -> Self {
        Self::with_block_slots(url, delay, Semaphore::MAX_PERMITS).await
    }

    /// The same, and answers only so many requests for blocks and receipts at the same time: a backfill takes long.
    pub(crate) async fn with_block_slots(url: &str, delay: Duration, block_slots: usize) -> Self {
        let (http, requests) = (http_client().build().unwrap(), AtomicU64::new(0));
        let block_slots = Semaphore::new(block_slots);
        let upstream = Arc::new(Upstream { url: url.to_owned(), http, delay, requests, block_slots });
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().route("/", post(forward)).with_state(Arc::clone(&upstream));
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, upstream, server }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The number of requests so far.
    pub(crate) fn requests(&self) -> u64 {
        self.upstream.requests.load(Ordering::Relaxed)
    }
}

impl Drop for SlowProxy {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn forward(State(upstream): State<Arc<Upstream>>, body: Bytes) -> Response {
    upstream.requests.fetch_add(1, Ordering::Relaxed);
    let is_for_block = String::from_utf8_lossy(&body).contains("eth_getBlock");
    let _slot = if is_for_block { upstream.block_slots.acquire().await.ok() } else { None };
    tokio::time::sleep(upstream.delay).await;
    let request = upstream.http.post(&upstream.url).header(CONTENT_TYPE, "application/json").body(body);
    let Ok(response) = request.send().await else { return StatusCode::BAD_GATEWAY.into_response() };
    match response.bytes().await {
        Ok(answer) => ([(CONTENT_TYPE, "application/json")], answer).into_response(),
        Err(_) => StatusCode::BAD_GATEWAY.into_response(),
    }
}
