use std::{
    collections::{BTreeMap, HashMap},
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    response::Response,
};
use serde_json::Value;
use tokio::{net::TcpListener, task::JoinHandle};

use super::{Port, TestExplorer, eventually};

/// How a receiver responds to a message.
#[derive(Debug, Clone)]
pub(crate) enum Behavior {
    Status(u16),
    StatusWithHeader(u16, &'static str, String),
    /// Never responds.
    Hang,
    /// Sends 200 and then an endless body of one byte per second.
    Drip,
    /// Sends 200 and then an endless body as fast as possible.
    Flood,
}

/// A received message.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
    pub(crate) at: Instant,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("no {name}: {self:?}"))
    }

    pub(crate) fn id(&self) -> &str {
        self.header("x-explorer-delivery")
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

#[derive(Debug, Default)]
struct ReceiverState {
    received: Mutex<Vec<Received>>,
    behaviors: Mutex<HashMap<String, Behavior>>,
}

/// A server that records what is posted to it. Each path can have its own behavior.
#[derive(Debug)]
pub(crate) struct Receiver {
    address: SocketAddr,
    state: Arc<ReceiverState>,
    serving: JoinHandle<()>,
}

impl Receiver {
    pub(crate) async fn start() -> Self {
        Self::on(Port::reserve().listen())
    }

    pub(crate) fn on(listener: TcpListener) -> Self {
        let (address, state) = (listener.local_addr().unwrap(), Arc::<ReceiverState>::default());
        let router = Router::new().fallback(receive).with_state(Arc::clone(&state));
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, state, serving }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn set_behavior(&self, path: &str, behavior: Behavior) {
        self.state.behaviors.lock().unwrap().insert(path.to_owned(), behavior);
    }

    pub(crate) fn all(&self) -> Vec<Received> {
        self.state.received.lock().unwrap().clone()
    }

    /// The messages after the first `count`.
    pub(crate) fn after(&self, count: usize) -> Vec<Received> {
        self.state.received.lock().unwrap()[count..].to_vec()
    }

    pub(crate) fn count(&self) -> usize {
        self.state.received.lock().unwrap().len()
    }

    pub(crate) fn at_path(&self, path: &str) -> Vec<Received> {
        self.all().into_iter().filter(|received| received.path == path).collect()
    }

    /// Waits for this many messages at a path.
    pub(crate) async fn wait_for(&self, path: &str, count: usize) -> Vec<Received> {
        eventually(&format!("{count} messages at {path}"), async || {
            let received = self.at_path(path);
            (received.len() >= count).then_some(received)
        })
        .await
    }

    /// There are no more messages at a path, now that all blocks are matched and all messages were sent.
    pub(crate) async fn expect_silence(&self, explorer: &TestExplorer, path: &str, count: usize) {
        explorer.wait_for_messages().await;
        let received = self.at_path(path);
        assert_eq!(received.len(), count, "{received:?}");
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn receive(State(state): State<Arc<ReceiverState>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let headers = head.headers.iter().map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()));
    let path = head.uri.path().to_owned();
    let behavior = state.behaviors.lock().unwrap().get(&path).cloned();
    state.received.lock().unwrap().push(Received {
        path,
        headers: headers.collect(),
        body: String::from_utf8(body.to_vec()).unwrap(),
        at: Instant::now(),
    });
    let answer = |status: u16| Response::builder().status(status);
    match behavior.unwrap_or(Behavior::Status(200)) {
        Behavior::Status(status) => answer(status).body(Body::from("thanks")).unwrap(),
        Behavior::StatusWithHeader(status, header, value) => {
            answer(status).header(header, value).body(Body::empty()).unwrap()
        }
        Behavior::Hang => std::future::pending().await,
        Behavior::Drip => endless(Duration::from_secs(1), b"."),
        Behavior::Flood => endless(Duration::ZERO, &[b'x'; 4_096]),
    }
}

fn endless(pause: Duration, bytes: &'static [u8]) -> Response {
    let bytes = futures::stream::unfold((), move |()| async move {
        tokio::time::sleep(pause).await;
        Some((Ok::<_, std::io::Error>(bytes), ()))
    });
    Response::new(Body::from_stream(bytes))
}
