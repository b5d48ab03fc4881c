//! The stream of new blocks.

use devchain::ReorgedTransactions::Drop;
use reqwest::Response;
use rustix::process::{Resource, Rlimit};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::support::{DevNode, Launch, TestExplorer, eventually};

/// Streams that one client may have open.
const PER_CLIENT: usize = 32;
/// Streams of all clients together.
const TOTAL: usize = 2_000;
/// For them and for the tests beside this one.
const SOCKETS: u64 = 4_096;

/// Opens a stream as a client behind a proxy.
async fn open_as(explorer: &TestExplorer, client: &str) -> Response {
    explorer.client().request("GET", "/api/v1/stream").header("X-Forwarded-For", client).send().await.unwrap()
}

#[tokio::test]
async fn a_client_may_have_32_streams_open() {
    let node = DevNode::start().await;
    let explorer = Launch::run(&node.url()).argument("--trusted-proxy", "127.0.0.0/8").start().await;
    node.wait_for(&explorer).await;
    let mut streams = Vec::new();
    for number in 1..=PER_CLIENT {
        let stream = open_as(&explorer, "192.0.2.1").await;
        assert_eq!(stream.status(), 200, "stream {number}");
        streams.push(stream);
    }
    let refused = open_as(&explorer, "192.0.2.1").await;
    assert_eq!((refused.status().as_u16(), refused.headers()["retry-after"].to_str().unwrap()), (429, "60"));
    let problem: Value = serde_json::from_slice(&refused.bytes().await.unwrap()).unwrap();
    assert_eq!(problem["code"], "rate_limited", "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains("streams"), "{problem}");
    assert_eq!(open_as(&explorer, "192.0.2.2").await.status(), 200, "another client");
    assert_eq!(explorer.get("/api/v1/blocks").await.status, 200, "and other requests");

    // All of them follow the chain, and one that ends makes room.
    node.chain.mine(None);
    let head = node.chain.head().hash.to_string();
    for stream in &mut streams {
        let mut text = String::new();
        while !text.contains(&head) {
            text += std::str::from_utf8(&stream.chunk().await.unwrap().expect("an open stream")).unwrap();
        }
    }
    streams.pop();
    let again = eventually("a stream in the place of the one that ended", async || {
        let stream = open_as(&explorer, "192.0.2.1").await;
        (stream.status() == 200).then_some(stream)
    })
    .await;
    streams.push(again);
    assert_eq!(open_as(&explorer, "192.0.2.1").await.status(), 429);
}

/// A stream on a socket of its own.
struct RawStream(TcpStream, String);

impl RawStream {
    async fn open(host: &str, client: &str) -> Self {
        let mut socket = TcpStream::connect(host).await.unwrap();
        let headers = format!("Host: {host}\r\nX-Forwarded-For: {client}\r\nConnection: close");
        let request = format!("GET /api/v1/stream HTTP/1.1\r\n{headers}\r\n\r\n");
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut stream = Self(socket, String::new());
        assert!(stream.reads("event: block").await && stream.1.starts_with("HTTP/1.1 200"), "{}", stream.1);
        stream
    }

    /// Whether the stream comes to this text before its end.
    async fn reads(&mut self, text: &str) -> bool {
        while !self.1.contains(text) {
            let mut bytes = [0; 4_096];
            match self.0.read(&mut bytes).await.unwrap() {
                0 => return false,
                length => self.1 += &String::from_utf8_lossy(&bytes[..length]),
            }
        }
        true
    }
}

#[tokio::test]
async fn a_new_client_replaces_the_oldest_stream_of_the_client_with_the_most() {
    // Enough sockets for this process: some systems give a thousand to programs that do not ask.
    let limit = rustix::process::getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < SOCKETS) {
        rustix::process::setrlimit(Resource::Nofile, Rlimit { current: Some(SOCKETS), ..limit }).unwrap();
    }
    let node = DevNode::start().await;
    let explorer = Launch::run(&node.url()).argument("--trusted-proxy", "127.0.0.0/8").start().await;
    node.wait_for(&explorer).await;
    let host = explorer.client().host();
    let mut greedy = Vec::new();
    for _ in 0..PER_CLIENT {
        greedy.push(RawStream::open(host, "192.0.2.1").await);
    }
    // All others together take the rest, and none as many.
    let mut others = Vec::new();
    for client in 0..82 {
        let client = format!("198.51.100.{client}");
        others.extend(futures::future::join_all((0..24).map(|_| RawStream::open(host, &client))).await);
    }
    assert_eq!(greedy.len() + others.len(), TOTAL);

    let mut newcomer = RawStream::open(host, "203.0.113.1").await;
    assert!(!greedy[0].reads("nothing").await, "the stream ends");
    node.chain.mine(None);
    let head = node.chain.head().hash.to_string();
    assert!(newcomer.reads(&head).await);
    for stream in greedy[1..].iter_mut().chain(&mut others) {
        assert!(stream.reads(&head).await, "all others go on");
    }
}

#[tokio::test]
async fn after_a_reorg_the_stream_has_the_new_tip() {
    let node = DevNode::start().await;
    for _ in 0..5 {
        node.chain.mine(None);
    }
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let mut events = explorer.client().events("/api/v1/stream").await;
    let mut wait_for_head = async || {
        let head = node.chain.head();
        let mut seen = Vec::new();
        // Blocks of the old branch may still come before.
        let event = loop {
            let event = events.next().await;
            if event.contains(&format!("id: {}", head.hash)) {
                break event;
            }
            seen.push(event);
            assert!(seen.len() < 10, "block {} does not come: {seen:?}", head.hash);
        };
        let data = event.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
        let block: Value = serde_json::from_str(data).unwrap();
        assert_eq!((&block["number"], &block["hash"]), (&head.number.into(), &head.hash.to_string().into()), "{block}");
    };
    wait_for_head().await;
    // A longer branch, one of the same length, and a shorter one.
    for (depth, new_blocks) in [(2, 3), (3, 3), (3, 1)] {
        node.chain.reorg(depth, new_blocks, Drop).unwrap();
        wait_for_head().await;
    }
}
