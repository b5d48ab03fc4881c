//! Cached responses are the same as freshly rendered ones.

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
    contracts::verifier_fixture::{COIN, Case, VerifierFixture},
    support::{
        DevNode, TestExplorer,
        client::{Answer, Client},
        eventually,
        fixture::lower_hex,
        key_request::{KeyRequest, owner_of},
    },
};

/// Adds a unique query parameter, which the routes ignore: the response is not in the cache.
fn bypassing_the_cache(path: &str) -> String {
    static REQUESTS: AtomicU64 = AtomicU64::new(0);
    let separator = if path.contains('?') { '&' } else { '?' };
    format!("{path}{separator}unique={}", REQUESTS.fetch_add(1, Ordering::Relaxed))
}

/// The response without the headers that differ for each request.
fn comparable(answer: Answer) -> (u16, String, String) {
    (answer.status, answer.header("etag").to_owned(), answer.text)
}

/// Compares a cached response with a freshly rendered one. If the cached response is the same before and after, so must be
/// the one in between: the state of the index never goes back. None if it has changed.
async fn compare_with_fresh(client: &Client, path: &str) -> Option<()> {
    let before = comparable(client.get(path).await);
    let fresh = comparable(client.get(&bypassing_the_cache(path)).await);
    let after = comparable(client.get(path).await);
    (before == after).then(|| assert_eq!(before, fresh, "{path}"))
}

/// The same on a chain that rests: what is read from contracts may still change the response a few times.
async fn assert_not_stale(client: &Client, path: &str) {
    eventually("a response that stays", async || compare_with_fresh(client, path).await).await;
}

/// The same for a query: trailing spaces bypass the cache.
async fn assert_query_is_not_stale(client: &Client, body: &Value) {
    let mut spaces = String::new();
    eventually("a response that stays", async || {
        spaces.push(' ');
        let before = client.query(body.clone()).await;
        let fresh = client.try_query(format!("{body}{spaces}")).await.ok();
        (client.query(body.clone()).await == before).then(|| assert_eq!(before, fresh, "{body}"))
    })
    .await;
}

fn paths(node: &DevNode, tokens: &Value) -> Vec<String> {
    let busy = lower_hex(node.account(1));
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
    // The newest block may be orphaned by a reorg.
    let head = node.chain.head();
    paths.extend([format!("/api/v1/blocks/{}", head.number), format!("/api/v1/blocks/{}", head.hash)]);
    paths
}

fn queries(node: &DevNode, token: &str) -> Vec<Value> {
    let busy = lower_hex(node.account(1));
    vec![
        json!({ "entity": "transactions", "filter": { "from": busy } }),
        json!({ "entity": "token_transfers", "filter": { "address": busy, "tokenAddress": token } }),
        json!({ "entity": "dex_trades" }),
        json!({ "entity": "tokens" }),
    ]
}

#[tokio::test]
async fn blocks_and_reorgs_leave_no_stale_response() {
    let (node, mut traffic) = DevNode::with_traffic(150).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let client = explorer.client().with_keep_alive();
    let tokens = client.json("/api/v1/tokens").await;
    let token = tokens["tokens"][0]["address"].as_str().unwrap();
    let (paths, queries) = (paths(&node, &tokens), queries(&node, token));
    for (depth, new_blocks, transactions) in [(1, 1, Replay), (3, 5, Drop), (10, 4, Drop), (2, 0, Replay)] {
        for path in &paths {
            client.get(path).await;
        }
        for body in &queries {
            client.query(body.clone()).await;
        }
        node.chain.reorg(depth, new_blocks, transactions).unwrap();
        node.wait_for(&explorer).await;
        for path in &paths {
            assert_not_stale(&client, path).await;
        }
        for body in &queries {
            assert_query_is_not_stale(&client, body).await;
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
            assert_not_stale(&client, path).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_response_is_stale_while_blocks_are_added_and_reverted() {
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
    let client = explorer.client().with_keep_alive();
    let busy = lower_hex(node.account(1));
    let mut compared = 0;
    while mining.load(Ordering::Relaxed) {
        for path in ["/api/v1/stats", "/api/v1/blocks", &format!("/api/v1/transactions?address={busy}")] {
            compared += usize::from(compare_with_fresh(&client, path).await.is_some());
        }
    }
    miner.await.unwrap();
    assert!(compared > 20, "only {compared} responses were compared");
    node.wait_for(&explorer).await;
    assert_eq!(client.json("/api/v1/stats").await["latestBlock"], node.chain.head().number);
}

#[tokio::test]
async fn a_stored_balance_is_not_served_once_the_node_is_back() {
    let (mut node, mut traffic) = DevNode::with_traffic(40).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let client = explorer.client();
    let path = format!("/api/v1/addresses/{}", lower_hex(node.account(1)));
    let before = client.json(&path).await["balanceBlock"].clone();
    traffic.step().unwrap();
    node.chain.mine(None);
    node.wait_for(&explorer).await;
    node.stop_serving().await;
    for _ in 0..2 {
        assert_eq!(client.json(&path).await["balanceBlock"], before, "the last balance from the node");
    }
    node.resume_serving().await;
    let head = node.chain.head().number;
    eventually("the balance at the newest block", async || {
        (client.json(&path).await["balanceBlock"] == head).then_some(())
    })
    .await;
    assert_not_stale(client, &path).await;
}

#[tokio::test]
async fn a_verification_is_visible_at_once() {
    const VERSION: &str = "v0.8.20+commit.a1b79de6";
    let fixture = VerifierFixture::start().await;
    let address = fixture.compile_and_deploy(&Case::coin(VERSION)).await;
    let (detail, list) = (format!("/api/v1/addresses/{address}"), "/api/v1/contracts");
    for _ in 0..2 {
        assert_eq!(fixture.explorer.json(&detail).await["contract"]["verified"], false);
        assert_eq!(fixture.explorer.json(list).await["total"], 0);
    }
    assert_eq!(fixture.verify(&address, VERSION, COIN).await["match"], "exact");
    let verified = fixture.explorer.json(&detail).await;
    assert_eq!((&verified["contract"]["verified"], &verified["contract"]["name"]), (&json!(true), &json!("Coin")));
    assert_eq!(fixture.explorer.json(list).await["total"], 1);
}

#[tokio::test]
async fn responses_that_depend_on_the_caller_are_not_cached() {
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
    let list = explorer.client().request("GET", &format!("/api/v1/keys?owner={}", owner_of(signer)));
    let without = explorer.client().send(list.header("Via", "a proxy of somebody else")).await;
    assert_eq!(without.status, 401, "a response for one caller is not served to another");
}
