//! Answers that are told again are what a read would say at that very moment.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use devchain::ReorgedTransactions::{Drop, Replay};
use serde_json::{Value, json};

use crate::{
    contracts::yard::{COIN, Case, Yard, word},
    support::{
        DevNode, TestExplorer,
        client::{Answer, Client},
        eventually,
        key_request::{KeyRequest, owner_of},
        stage::plain,
    },
};

/// A name that no route knows is ignored, but nobody has asked with it before: so the answer is read anew.
fn anew(path: &str) -> String {
    static ASKED: AtomicU64 = AtomicU64::new(0);
    let separator = if path.contains('?') { '&' } else { '?' };
    format!("{path}{separator}anew={}", ASKED.fetch_add(1, Ordering::Relaxed))
}

/// All but what is of one request alone.
fn told(answer: Answer) -> (u16, String, String) {
    (answer.status, answer.header("etag").to_owned(), answer.text)
}

/// Asks for what is kept, reads anew, and asks again. Where the first and the last are the same, so is what lay between:
/// what was visible once does not go back behind an older answer.
async fn is_as_if_read_anew(client: &Client, path: &str) {
    let before = told(client.get(path).await);
    let read = told(client.get(&anew(path)).await);
    let after = told(client.get(path).await);
    if before == after {
        assert_eq!(before, read, "{path}");
    }
}

async fn query(client: &Client, body: &Value) -> Value {
    let request = client.request("POST", "/api/v1/query").header("content-type", "application/json");
    client.send(request.body(body.to_string())).await.ok()
}

/// The same for a query: a space makes it another one.
async fn query_is_as_if_read_anew(client: &Client, body: &Value, spaces: usize) {
    let before = query(client, body).await;
    let request = client.request("POST", "/api/v1/query").header("content-type", "application/json");
    let read = client.send(request.body(format!("{body}{}", " ".repeat(spaces)))).await.ok();
    if query(client, body).await == before {
        assert_eq!(before, read, "{body}");
    }
}

fn paths(node: &DevNode, tokens: &Value) -> Vec<String> {
    let busy = plain(node.account(1));
    let token = tokens["tokens"][0]["address"].as_str().unwrap();
    let mut paths = vec![
        "/api/v1/stats".to_owned(),
        "/api/v1/blocks".to_owned(),
        "/api/v1/blocks/3".to_owned(),
        "/api/v1/blocks?page=2&limit=7".to_owned(),
        "/api/v1/transactions".to_owned(),
        format!("/api/v1/transactions?address={busy}"),
        "/api/v1/tokens".to_owned(),
        format!("/api/v1/tokens/{token}"),
        format!("/api/v1/tokens/{token}/holders"),
        format!("/api/v1/addresses/{busy}"),
        format!("/api/v1/addresses/{token}"),
        format!("/api/v1/addresses/{busy}/tokens"),
        "/api/v1/contracts".to_owned(),
    ];
    // What was newest may be gone after a reorganisation.
    let head = node.chain.head();
    paths.extend([format!("/api/v1/blocks/{}", head.number), format!("/api/v1/blocks/{}", head.hash)]);
    paths
}

fn queries(node: &DevNode, token: &str) -> Vec<Value> {
    let busy = plain(node.account(1));
    vec![
        json!({ "entity": "transactions", "filter": { "from": busy } }),
        json!({ "entity": "token_transfers", "filter": { "address": busy, "tokenAddress": token } }),
        json!({ "entity": "dex_trades" }),
        json!({ "entity": "tokens" }),
    ]
}

#[tokio::test]
async fn blocks_and_reorganisations_leave_no_stale_answer() {
    let (node, mut traffic) = DevNode::with_traffic(150).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let client = explorer.client().with_connection_kept();
    let tokens = client.json("/api/v1/tokens").await;
    let token = tokens["tokens"][0]["address"].as_str().unwrap();
    let (paths, queries) = (paths(&node, &tokens), queries(&node, token));
    for (depth, new_blocks, transactions) in [(1, 1, Replay), (3, 5, Drop), (10, 4, Drop), (2, 0, Replay)] {
        for path in &paths {
            client.get(path).await;
        }
        for body in &queries {
            query(&client, body).await;
        }
        node.chain.reorg(depth, new_blocks, transactions).unwrap();
        node.wait_for(&explorer).await;
        for path in &paths {
            is_as_if_read_anew(&client, path).await;
        }
        for (spaces, body) in (1..).zip(&queries) {
            query_is_as_if_read_anew(&client, body, spaces).await;
        }
        let head = node.chain.head();
        assert_eq!(client.json("/api/v1/blocks").await["blocks"][0]["hash"], head.hash.to_string());
        for _ in 0..3 {
            traffic.step().unwrap();
            node.chain.mine(None);
        }
        node.wait_for(&explorer).await;
        assert_eq!(client.json("/api/v1/stats").await["latestBlock"], node.chain.head().number);
        for path in &paths {
            is_as_if_read_anew(&client, path).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_answer_goes_back_behind_one_that_was_read_while_blocks_come_and_go() {
    let (node, mut traffic) = DevNode::with_traffic(60).await;
    let explorer = TestExplorer::start(&node.ws_url()).await;
    node.wait_for(&explorer).await;
    let mining = Arc::new(AtomicBool::new(true));
    let (chain, still) = (node.chain.clone(), Arc::clone(&mining));
    let miner = tokio::task::spawn_blocking(move || {
        for round in 0..150 {
            traffic.step().unwrap();
            chain.mine(None);
            if round % 10 == 9 {
                chain.reorg(2, 3, Replay).unwrap();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        still.store(false, Ordering::Relaxed);
    });
    let client = explorer.client().with_connection_kept();
    let busy = plain(node.account(1));
    let mut rounds = 0;
    while mining.load(Ordering::Relaxed) {
        for path in ["/api/v1/stats", "/api/v1/blocks", &format!("/api/v1/transactions?address={busy}")] {
            is_as_if_read_anew(&client, path).await;
        }
        rounds += 1;
    }
    miner.await.unwrap();
    assert!(rounds > 20, "only {rounds} rounds");
    node.wait_for(&explorer).await;
    assert_eq!(client.json("/api/v1/stats").await["latestBlock"], node.chain.head().number);
}

#[tokio::test]
async fn a_balance_of_before_the_node_went_away_is_not_told_any_longer_than_it_is_away() {
    let (mut node, mut traffic) = DevNode::with_traffic(40).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let client = explorer.client();
    let path = format!("/api/v1/addresses/{}", plain(node.account(1)));
    let before = client.json(&path).await["balanceBlock"].clone();
    traffic.step().unwrap();
    node.chain.mine(None);
    node.wait_for(&explorer).await;
    node.go_down().await;
    for _ in 0..2 {
        assert_eq!(client.json(&path).await["balanceBlock"], before, "the last one that the node told");
    }
    node.come_back().await;
    let head = node.chain.head().number;
    eventually("the balance at the newest block", async || {
        (client.json(&path).await["balanceBlock"] == head).then_some(())
    })
    .await;
    is_as_if_read_anew(client, &path).await;
}

#[tokio::test]
async fn a_contract_is_shown_as_verified_at_once() {
    const VERSION: &str = "v0.8.20+commit.a1b79de6";
    let yard = Yard::start().await;
    let case = Case {
        version: VERSION,
        path: "contracts/Coin.sol",
        source: COIN.to_owned(),
        contract: "Coin",
        settings: json!({ "optimizer": { "enabled": true, "runs": 200 } }),
        arguments: word(7),
    };
    let address = yard.put(&case).await;
    let (detail, list) = (format!("/api/v1/addresses/{address}"), "/api/v1/contracts");
    for _ in 0..2 {
        assert_eq!(yard.explorer.json(&detail).await["contract"]["verified"], false);
        assert_eq!(yard.explorer.json(list).await["total"], 0);
    }
    assert_eq!(yard.verify(&address, VERSION, COIN).await["match"], "exact");
    let verified = yard.explorer.json(&detail).await;
    assert_eq!((&verified["contract"]["verified"], &verified["contract"]["name"]), (&json!(true), &json!("Coin")));
    assert_eq!(yard.explorer.json(list).await["total"], 1);
}

#[tokio::test]
async fn what_belongs_to_a_caller_is_read_each_time() {
    let node = DevNode::start().await;
    let explorer = TestExplorer::start(&node.url()).await;
    let signer = &node.chain.accounts()[0];
    let key = KeyRequest::by(signer).key(explorer.client()).await;
    let keys = async || {
        let path = format!("/api/v1/keys?owner={}", owner_of(signer));
        let request = explorer.client().request("GET", &path).header("X-API-Key", &key);
        explorer.client().send(request).await.ok()["keys"].as_array().unwrap().len()
    };
    assert_eq!((keys().await, keys().await), (1, 1));
    KeyRequest::by(signer).key(explorer.client()).await;
    assert_eq!(keys().await, 2);
    let without = explorer.get(&format!("/api/v1/keys?owner={}", owner_of(signer))).await;
    assert_eq!(without.status, 401, "nobody is told what another was told");
}
