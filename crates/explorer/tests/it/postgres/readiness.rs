//! Whether a process that serves is ready: it is while it can answer, and says how old its answers may be.

use serde_json::Value;

use super::{role, server::Server};
use crate::support::{DevNode, TestExplorer, client::Answer, eventually};

async fn ready(explorer: &TestExplorer) -> Answer {
    explorer.get("/health/ready").await
}

/// Waits until the answer has this status and passes a check, and returns its body.
async fn until_ready(explorer: &TestExplorer, status: u16, what: &str, check: impl Fn(&Value) -> bool) -> Value {
    eventually(what, async || {
        let answer = ready(explorer).await;
        (answer.status == status && check(&answer.json)).then_some(answer.json)
    })
    .await
}

#[tokio::test]
async fn a_server_is_ready_without_an_indexer_and_not_without_its_database() {
    let server = Server::start();
    let url = server.database().await;
    let node = DevNode::start().await;
    node.chain.mine(None);
    let mut indexing = role(&node.url(), &url, "index").spawn();
    let serving = role(&node.url(), &url, "serve").start().await;
    node.wait_for(&serving).await;
    let health = until_ready(&serving, 200, "the report of the indexer", |health| health["lag"] == 0).await;
    assert!(health["reportAge"].as_u64().is_some() && health["database"]["reachable"] == true, "{health}");
    assert!(health["database"]["secondsSilent"].is_number(), "{health}");

    // Nobody knows any more how far the node is.
    indexing.kill();
    let silent = until_ready(&serving, 200, "no lag without an indexer", |health| health["lag"].is_null()).await;
    assert!(silent["reportAge"].as_u64().is_some_and(|age| age >= 10), "{silent}");
    assert_eq!((&silent["status"], &silent["nodeHead"]), (&"degraded".into(), &Value::Null), "{silent}");
    assert_eq!(serving.json("/api/v1/blocks").await["total"], 2, "the index is served");
    // A process that starts now knows the same.
    let second = role(&node.url(), &url, "serve").start().await;
    let silent = until_ready(&second, 200, "a second server is ready", |_| true).await;
    assert!(silent["lag"].is_null() && silent["reportAge"].as_u64().is_some_and(|age| age >= 10), "{silent}");

    server.kill();
    let cut = until_ready(&serving, 503, "a server without its database is not ready", |_| true).await;
    assert_eq!((&cut["ready"], &cut["database"]["reachable"]), (&false.into(), &false.into()), "{cut}");
    assert!(cut["lag"].is_null() && cut["reportAge"].as_u64().is_some(), "{cut}");
    assert_eq!(serving.get("/health/live").await.status, 200);
    assert_eq!(serving.get("/api/v1/blocks").await.status, 503);

    server.run_up();
    until_ready(&serving, 200, "the database is back", |health| health["database"]["reachable"] == true).await;
    assert_eq!(serving.get("/api/v1/blocks").await.status, 200);
    let _indexing = role(&node.url(), &url, "index").spawn();
    until_ready(&serving, 200, "the lag is known again", |health| health["lag"] == 0).await;
}

#[tokio::test]
async fn a_server_is_ready_while_a_standby_answers_and_not_without_both() {
    let primary = Server::start();
    let standby = primary.start_standby();
    let url = primary.database().await;
    let read_url = standby.url(url.rsplit('/').next().unwrap());
    let node = DevNode::start().await;
    node.chain.mine(None);
    let _indexing = role(&node.url(), &url, "index").spawn();
    let serving = role(&node.url(), &url, "serve").variable("EXPLORER_READ_DATABASE", read_url).start().await;
    node.wait_for(&serving).await;
    until_ready(&serving, 200, "the standby is read", |health| health["readDatabase"]["used"] == true).await;

    primary.kill();
    let without = until_ready(&serving, 200, "the loss of the primary is known", |health| {
        health["database"]["reachable"] == false && health["lag"].is_null()
    })
    .await;
    assert_eq!(without["status"], "degraded", "{without}");
    assert_eq!(serving.json("/api/v1/blocks").await["total"], 2);

    standby.kill();
    until_ready(&serving, 503, "nothing answers", |_| true).await;
}

#[tokio::test]
async fn a_block_that_a_standby_lacks_comes_from_the_primary() {
    let primary = Server::start();
    let standby = primary.start_standby();
    let url = primary.database().await;
    let read_url = standby.url(url.rsplit('/').next().unwrap());
    let node = DevNode::start().await;
    let _indexing = role(&node.url(), &url, "index").spawn();
    let direct = role(&node.url(), &url, "serve").start().await;
    let serving = role(&node.url(), &url, "serve").variable("EXPLORER_READ_DATABASE", &read_url).start().await;
    node.chain.mine(None);
    node.wait_for(&direct).await;
    until_ready(&serving, 200, "the standby is read", |health| {
        health["readDatabase"]["used"] == true && health["tip"]["number"] == 1
    })
    .await;
    let copied = standby.connect(&read_url).await;
    copied.batch_execute("select pg_wal_replay_pause()").await.unwrap();
    eventually("the standby stands still", async || {
        let state: String = copied.query_one("select pg_get_wal_replay_pause_state()", &[]).await.unwrap().get(0);
        (state == "paused").then_some(())
    })
    .await;

    node.chain.mine(None);
    node.wait_for(&direct).await;
    let at_least = async |block: u64| {
        let client = serving.client();
        client.send(client.request("GET", "/api/v1/blocks").header("X-Explorer-Min-Block", block)).await
    };
    let answer = at_least(2).await;
    assert_eq!((answer.status, &answer.json["blocks"][0]["number"]), (200, &2.into()), "{}", answer.text);
    assert_eq!(answer.header("x-explorer-block"), "2");
    // Nor is an older one shown afterwards.
    assert_eq!(serving.json("/api/v1/blocks").await["blocks"][0]["number"], 2);
    let answer = at_least(3).await;
    assert_eq!((answer.status, &answer.json["code"]), (503, &"block_not_reached".into()), "{}", answer.text);
}
