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
use tokio::{net::TcpListener, task::JoinHandle};

use super::client::http_client;

/// Stands before a node and slows it down.
#[derive(Debug)]
pub(crate) struct SlowNode {
    address: SocketAddr,
    behind: Arc<Behind>,
    server: JoinHandle<()>,
}

#[derive(Debug)]
struct Behind {
    url: String,
    http: reqwest::Client,
    delay: Duration,
    asked: AtomicU64,
}

impl SlowNode {
    /// Every answer of the node at `url` comes this much later.
    pub(crate) async fn before(url: &str, delay: Duration) -> Self {
        let http = http_client().build().unwrap();
        let behind = Arc::new(Behind { url: url.to_owned(), http, delay, asked: AtomicU64::new(0) });
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().route("/", post(pass_on)).with_state(Arc::clone(&behind));
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, behind, server }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Requests so far.
    pub(crate) fn asked(&self) -> u64 {
        self.behind.asked.load(Ordering::Relaxed)
    }
}

impl Drop for SlowNode {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn pass_on(State(behind): State<Arc<Behind>>, body: Bytes) -> Response {
    behind.asked.fetch_add(1, Ordering::Relaxed);
    tokio::time::sleep(behind.delay).await;
    let request = behind.http.post(&behind.url).header(CONTENT_TYPE, "application/json").body(body);
    let Ok(response) = request.send().await else { return StatusCode::BAD_GATEWAY.into_response() };
    match response.bytes().await {
        Ok(answer) => ([(CONTENT_TYPE, "application/json")], answer).into_response(),
        Err(_) => StatusCode::BAD_GATEWAY.into_response(),
    }
}
