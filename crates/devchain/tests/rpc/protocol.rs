use serde_json::{Value, json};

use crate::node::Node;

#[tokio::test]
async fn a_batch_gets_one_response() {
    let node = Node::start().await;
    let batch = json!([
        {"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []},
        {"jsonrpc": "2.0", "id": "two", "method": "eth_nonsense"},
        {"jsonrpc": "2.0", "method": "eth_blockNumber"},
        {"jsonrpc": "2.0", "id": 3, "method": "net_version"},
    ]);
    let (status, body) = node.post(batch.to_string()).await;
    assert_eq!(status, 200);
    let answers: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(answers.as_array().unwrap().len(), 3);
    assert_eq!(answers[0], json!({"jsonrpc": "2.0", "id": 1, "result": "0x7a69"}));
    assert_eq!(answers[1]["id"], "two");
    assert_eq!(answers[1]["error"]["code"], -32601);
    assert_eq!(answers[2]["result"], "31337");
}

#[tokio::test]
async fn an_invalid_request_gets_a_json_rpc_error() {
    let node = Node::start().await;
    for (body, code) in [
        ("", -32700),
        ("{", -32700),
        ("[1,", -32700),
        ("[]", -32600),
        ("null", -32600),
        ("{}", -32600),
        (r#"{"id":1,"method":7}"#, -32600),
        (r#"{"id":1,"method":"nope"}"#, -32601),
        (r#"{"id":1,"method":"eth_subscribe","params":["newHeads"]}"#, -32601),
        (r#"{"id":1,"method":"eth_getBalance"}"#, -32602),
        (r#"{"id":1,"method":"eth_getBalance","params":{}}"#, -32602),
        (r#"{"id":1,"method":"eth_getBalance","params":["0x12","latest"]}"#, -32602),
        (r#"{"id":1,"method":"eth_getBlockByNumber","params":["soon",false]}"#, -32602),
        (r#"{"id":1,"method":"eth_getBlockByNumber","params":["0x1",7]}"#, -32602),
        (r#"{"id":1,"method":"eth_getBlockByHash","params":["0x1",true]}"#, -32602),
        (r#"{"id":1,"method":"eth_getLogs","params":[{"topics":"x"}]}"#, -32602),
        (r#"{"id":1,"method":"eth_call","params":[7]}"#, -32602),
        (r#"{"id":1,"method":"eth_sendRawTransaction","params":["0xzz"]}"#, -32602),
        (r#"{"id":1,"method":"eth_feeHistory","params":[-1,"latest"]}"#, -32602),
        (r#"{"id":1,"method":"dev_reorg","params":["0xffffffffffffffff",1]}"#, -32602),
    ] {
        let (status, answer) = node.post(body).await;
        assert_eq!(status, 200, "{body}");
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["error"]["code"], code, "{body} -> {answer}");
    }
}

#[tokio::test]
async fn a_notification_gets_no_response() {
    let node = Node::start().await;
    let (status, body) = node.post(r#"{"jsonrpc":"2.0","method":"evm_mine"}"#).await;
    assert_eq!((status, body.as_str()), (204, ""));
    assert_eq!(node.chain.head().number, 1);
}

#[tokio::test]
async fn the_node_reports_its_identity() {
    let node = Node::start().await;
    assert_eq!(node.request("eth_syncing", json!([])).await, false);
    assert_eq!(node.request("net_listening", json!([])).await, true);
    let version = node.request("web3_clientVersion", json!([])).await;
    assert!(version.as_str().unwrap().starts_with("devchain/"));
    let accounts = node.request("eth_accounts", json!([])).await;
    assert_eq!(accounts[0], json!(node.account(0)));
}

#[tokio::test]
async fn requests_of_any_origin_are_allowed() {
    let node = Node::start().await;
    let preflight = reqwest::Client::new()
        .request(reqwest::Method::OPTIONS, node.server.url())
        .header("Origin", "https://wallet.example")
        .header("Access-Control-Request-Method", "POST")
        .header("Access-Control-Request-Headers", "content-type")
        .send()
        .await
        .unwrap();
    assert_eq!(preflight.headers()["access-control-allow-origin"], "*");
}

#[tokio::test]
async fn a_server_that_is_shut_down_refuses_connections() {
    let node = Node::start().await;
    let url = node.server.url();
    node.server.shutdown().await;
    assert!(reqwest::Client::new().post(url).body("{}").send().await.is_err());
}
