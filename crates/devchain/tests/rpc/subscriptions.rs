use std::time::Duration;

use devchain::ReorgedTransactions;
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, tungstenite::Message};

use crate::node::Node;

struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Socket {
    async fn open(node: &Node) -> Self {
        let (socket, _) = tokio_tungstenite::connect_async(node.server.ws_url()).await.unwrap();
        Self(socket)
    }

    async fn request(&mut self, method: &str, params: Value) -> Value {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.0.send(Message::text(request.to_string())).await.unwrap();
        self.next().await
    }

    async fn next(&mut self) -> Value {
        let message = tokio::time::timeout(Duration::from_secs(60), self.0.next()).await;
        let message = message.unwrap().unwrap().unwrap();
        serde_json::from_str(message.to_text().unwrap()).unwrap()
    }

    async fn expect_silence(&mut self) {
        let wait = tokio::time::timeout(Duration::from_millis(100), self.0.next());
        assert!(wait.await.is_err());
    }
}

#[tokio::test]
async fn a_subscriber_gets_every_head_until_it_unsubscribes() {
    let node = Node::start().await;
    let mut socket = Socket::open(&node).await;
    let id = socket.request("eth_subscribe", json!(["newHeads"])).await["result"].clone();
    for number in ["0x1", "0x2"] {
        let head = node.chain.mine(None);
        let notification = socket.next().await;
        assert_eq!(notification["method"], "eth_subscription");
        assert_eq!(notification["params"]["subscription"], id);
        assert_eq!(notification["params"]["result"]["number"], number);
        assert_eq!(notification["params"]["result"]["hash"], json!(head.hash));
    }
    assert_eq!(socket.request("eth_unsubscribe", json!([id])).await["result"], true);
    assert_eq!(socket.request("eth_unsubscribe", json!([id])).await["result"], false);
    node.chain.mine(None);
    socket.expect_silence().await;
}

#[tokio::test]
async fn a_subscriber_gets_the_heads_of_a_reorg() {
    let node = Node::start().await;
    for _ in 0..3 {
        node.chain.mine(None);
    }
    let mut socket = Socket::open(&node).await;
    socket.request("eth_subscribe", json!(["newHeads"])).await;
    node.chain.reorg(2, 3, ReorgedTransactions::Drop).unwrap();
    for number in ["0x2", "0x3", "0x4"] {
        assert_eq!(socket.next().await["params"]["result"]["number"], number);
    }
}

#[tokio::test]
async fn a_socket_supports_all_other_methods() {
    let node = Node::start().await;
    let mut socket = Socket::open(&node).await;
    assert_eq!(socket.request("eth_chainId", json!([])).await["result"], "0x7a69");
    assert_eq!(socket.request("eth_subscribe", json!(["logs"])).await["error"]["code"], -32602);
    socket.0.send(Message::text("{")).await.unwrap();
    assert_eq!(socket.next().await["error"]["code"], -32700);
}

#[tokio::test]
async fn an_open_socket_does_not_block_the_shutdown() {
    let node = Node::start().await;
    let mut socket = Socket::open(&node).await;
    socket.request("eth_subscribe", json!(["newHeads"])).await;
    let shutdown = tokio::time::timeout(Duration::from_secs(60), node.server.shutdown());
    shutdown.await.unwrap();
}
