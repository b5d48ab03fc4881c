//! WebSocket and IPC: pipelining, subscriptions and broken connections.

use std::{
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use domain::BlockRef;
use futures::{SinkExt, StreamExt};
use node::Endpoint;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, UnixListener},
    sync::{broadcast, watch},
    task::JoinSet,
    time::timeout,
};
use tokio_tungstenite::{accept_async, tungstenite::Message};

use crate::support::{Chain, Reply, client, eventually};

/// State shared by a node's connections.
struct Shared {
    chain: Mutex<Chain>,
    mined: broadcast::Sender<Chain>,
    hang_up: watch::Sender<u32>,
    connections: AtomicUsize,
    subscribable: bool,
}

impl Shared {
    fn new(chain: Chain, subscribable: bool) -> Arc<Self> {
        Arc::new(Self {
            chain: Mutex::new(chain),
            mined: broadcast::channel(16).0,
            hang_up: watch::channel(0).0,
            connections: AtomicUsize::new(0),
            subscribable,
        })
    }

    fn mine(&self) -> BlockRef {
        let mut chain = self.chain.lock().unwrap();
        chain.head += 1;
        let _ = self.mined.send(chain.clone());
        BlockRef { number: chain.head, hash: chain.hash(chain.head) }
    }

    fn hang_up(&self) {
        self.hang_up.send_modify(|times| *times += 1);
    }

    fn answer(&self, request: &str) -> String {
        let call: Value = serde_json::from_str(request).unwrap();
        let method = call["method"].as_str().unwrap();
        let reply = match method {
            "eth_subscribe" if self.subscribable => Reply::Result(json!("0xabc")),
            method => self.chain.lock().unwrap().answer(method, &call["params"]),
        };
        match reply {
            Reply::Result(result) => json!({ "jsonrpc": "2.0", "id": call["id"], "result": result }).to_string(),
            Reply::Error(code, message) => {
                json!({ "jsonrpc": "2.0", "id": call["id"], "error": { "code": code, "message": message } }).to_string()
            }
            other => panic!("unexpected on a socket: {other:?}"),
        }
    }
}

fn head_notification(chain: &Chain) -> String {
    let params = json!({ "subscription": "0xabc", "result": chain.header(chain.head) });
    json!({ "jsonrpc": "2.0", "method": "eth_subscription", "params": params }).to_string()
}

struct WebSocketNode {
    endpoint: Endpoint,
    shared: Arc<Shared>,
    _server: JoinSet<()>,
}

impl WebSocketNode {
    async fn start(chain: Chain, subscribable: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("ws://{}", listener.local_addr().unwrap()).parse().unwrap();
        let shared = Shared::new(chain, subscribable);
        let mut server = JoinSet::new();
        let serving = Arc::clone(&shared);
        server.spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                serving.connections.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(Self::serve(stream, Arc::clone(&serving)));
            }
        });
        Self { endpoint, shared, _server: server }
    }

    async fn serve(stream: tokio::net::TcpStream, shared: Arc<Shared>) {
        let mut socket = accept_async(stream).await.unwrap();
        let mut mined = shared.mined.subscribe();
        let mut hang_up = shared.hang_up.subscribe();
        let mut held = Vec::new();
        loop {
            tokio::select! {
                // Blocks mined after the disconnect are not pushed.
                biased;
                _ = hang_up.changed() => return,
                chain = mined.recv() => {
                    if shared.subscribable {
                        socket.send(Message::text(head_notification(&chain.unwrap()))).await.unwrap();
                    }
                }
                message = socket.next() => {
                    let Some(Ok(Message::Text(request))) = message else { return };
                    // Answers pairs in reverse order, so that the client must match ids.
                    held.push(shared.answer(&request));
                    if let Ok(Some(Ok(Message::Text(next)))) = timeout(Duration::from_millis(5), socket.next()).await {
                        held.push(shared.answer(&next));
                    }
                    while let Some(response) = held.pop() {
                        socket.send(Message::text(response)).await.unwrap();
                    }
                }
            }
        }
    }
}

struct IpcNode {
    shared: Arc<Shared>,
    _server: JoinSet<()>,
}

impl IpcNode {
    fn start(path: &Path, chain: Chain) -> Self {
        let _ = std::fs::remove_file(path);
        let listener = UnixListener::bind(path).unwrap();
        let shared = Shared::new(chain, true);
        let mut server = JoinSet::new();
        let serving = Arc::clone(&shared);
        server.spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(Self::serve(stream, Arc::clone(&serving)));
            }
        });
        Self { shared, _server: server }
    }

    async fn serve(stream: tokio::net::UnixStream, shared: Arc<Shared>) {
        let (read, mut write) = stream.into_split();
        let mut lines = BufReader::new(read).lines();
        let mut mined = shared.mined.subscribe();
        let mut hang_up = shared.hang_up.subscribe();
        loop {
            let response = tokio::select! {
                biased;
                _ = hang_up.changed() => return,
                chain = mined.recv() => head_notification(&chain.unwrap()),
                line = lines.next_line() => match line {
                    Ok(Some(request)) => shared.answer(&request),
                    _ => return,
                },
            };
            // In pieces, without a final line break.
            for piece in response.as_bytes().chunks(4_096) {
                write.write_all(piece).await.unwrap();
            }
        }
    }
}

async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(60), future).await.unwrap_or_else(|_| panic!("timed out waiting for {what}"))
}

#[tokio::test]
async fn one_websocket_carries_concurrent_requests() {
    let node = WebSocketNode::start(Chain::new(40), true).await;
    let client = client([node.endpoint.clone()]);
    let blocks: Vec<_> = (1..=40)
        .map(|number| {
            let client = client.clone();
            tokio::spawn(async move { client.find_block(number).await.unwrap().unwrap() })
        })
        .collect();
    for (number, block) in (1..).zip(blocks) {
        let block = block.await.unwrap();
        assert_eq!((block.block.number, block.block.hash, block.logs.len()), (number, Chain::new(40).hash(number), 6));
    }
    assert_eq!(node.shared.connections.load(Ordering::SeqCst), 1);
    assert_eq!(client.status().retries, 0);
}

#[tokio::test]
async fn subscriptions_survive_a_broken_connection() {
    let node = WebSocketNode::start(Chain::new(5), true).await;
    let mut config = crate::support::config([node.endpoint.clone()]);
    // Polling would hide a failing subscription.
    config.poll.shortest = Duration::from_secs(600);
    config.poll.longest = Duration::from_secs(600);
    let client = node::NodeClient::new(config).unwrap();
    let mut heads = client.heads();
    assert_eq!(within("the current head", heads.next()).await.number, 5);
    for _ in 0..3 {
        let mined = node.shared.mine();
        assert_eq!(within("a new head", heads.next()).await, mined.into());
    }
    node.shared.hang_up();
    let missed = node.shared.mine();
    assert_eq!(within("the head mined while disconnected", heads.next()).await.number, missed.number);
    // The head above was requested after the new subscription.
    assert_eq!(node.shared.connections.load(Ordering::SeqCst), 2);
    let mined = node.shared.mine();
    assert_eq!(within("a head after reconnecting", heads.next()).await, mined.into());
}

#[tokio::test]
async fn a_node_without_subscriptions_is_polled() {
    let node = WebSocketNode::start(Chain::new(5), false).await;
    let mut heads = client([node.endpoint.clone()]).heads();
    assert_eq!(within("the current head", heads.next()).await.number, 5);
    let mined = node.shared.mine();
    let polled = within("a new head", heads.next()).await;
    assert_eq!((polled.number, polled.hash), (mined.number, None), "only the number is polled");
}

#[tokio::test]
async fn polling_over_http_waits_for_a_node_that_is_down() {
    let node = crate::support::FakeNode::start(Chain::new(5)).await;
    let mut heads = node.client().heads();
    heads.set_polling(node::Polling::Eager);
    assert_eq!(within("the current head", heads.next()).await.number, 5);
    node.serve(Chain::new(6));
    assert_eq!(within("a new head", heads.next()).await.number, 6);
    node.serve(Chain { branch: 1, ..Chain::new(6) });
    assert_ne!(within("a head of another branch", heads.next()).await.hash, Some(Chain::new(6).hash(6)));

    let address = node.stop().await;
    assert!(timeout(Duration::from_millis(100), heads.next()).await.is_err());
    let _node = crate::support::FakeNode::start_at(address, Chain::new(9)).await;
    assert_eq!(within("a head of the restarted node", heads.next()).await.number, 9);
}

#[tokio::test]
async fn requests_in_flight_are_retried_when_the_connection_breaks() {
    let node = WebSocketNode::start(Chain::new(20), true).await;
    let client = client([node.endpoint.clone()]);
    for number in 1..=20 {
        let asking = client.clone();
        let block = tokio::spawn(async move { asking.find_block(number).await });
        node.shared.hang_up();
        assert!(block.await.unwrap().unwrap().is_some());
    }
    assert!(node.shared.connections.load(Ordering::SeqCst) > 1);
}

#[tokio::test]
async fn ipc_serves_blocks_and_heads_and_reconnects() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("node.ipc");
    let client = client([path.to_str().unwrap().parse().unwrap()]);
    assert!(client.head().await.is_err(), "the node is not started yet");

    let node = IpcNode::start(&path, Chain { transactions: 200, ..Chain::new(5) });
    eventually("the client has found the node", async || client.head().await.is_ok()).await;
    let block = client.find_block(4).await.unwrap().unwrap();
    assert_eq!((block.transactions.len(), block.logs.len()), (200, 400));
    let account = client.account(domain::Address::ZERO, block.block.id()).await.unwrap();
    assert_eq!((account.nonce, account.block), (7, 4));

    let mut heads = client.heads();
    assert_eq!(within("the current head", heads.next()).await.number, 5);
    let mined = node.shared.mine();
    assert_eq!(within("a new head", heads.next()).await, mined.into());

    node.shared.hang_up();
    drop(node);
    let _node = IpcNode::start(&path, Chain::new(8));
    assert_eq!(within("a head of the restarted node", heads.next()).await.number, 8);
}
