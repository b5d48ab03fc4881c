//! The explorer on PostgreSQL: the same responses as with the embedded store, and several processes on one database.

#[path = "../../../store-postgres/tests/postgres/server.rs"]
#[allow(dead_code, reason = "shared with the tests of the store")]
mod server;

use std::collections::BTreeMap;

use devchain::ReorgedTransactions::{Drop, Replay};
use serde_json::{Value, json};

use self::server::Server;
use crate::{
    support::{
        DevNode, Launch, TestExplorer,
        client::Client,
        eventually,
        key_request::{KeyRequest, post},
        receiver::Receiver,
    },
    webhooks::{self, register},
};

const KEY: &str = "0000000000000000000000000000000000000000000000000000000000000007";

fn on_database(launch: Launch, url: &str) -> Launch {
    launch.argument("--database", url).variable("EXPLORER_WEBHOOK_ENCRYPTION_KEY", KEY)
}

fn role(rpc: &str, url: &str, role: &str) -> Launch {
    on_database(webhooks::launch(rpc), url).argument("--role", role)
}

/// The responses of every route of the index, with pages and filters, by request.
async fn responses(explorer: &TestExplorer) -> BTreeMap<String, String> {
    let client = explorer.client().with_keep_alive();
    let mut found = BTreeMap::new();
    let mut get = async |path: String| {
        let answer = client.get(&path).await;
        found.insert(path, format!("{} {}", answer.status, answer.text));
        answer.json
    };
    let texts = |list: &Value, name: &str, field: &str| -> Vec<String> {
        let entries = list[name].as_array().unwrap_or_else(|| panic!("no {name}: {list}"));
        entries.iter().filter_map(|entry| entry[field].as_str().map(str::to_owned)).collect()
    };
    get("/api/v1/stats".to_owned()).await;
    let mut addresses = vec!["0x00000000000000000000000000000000deadbeef".to_owned()];
    for page in 1..=4 {
        let blocks = get(format!("/api/v1/blocks?limit=9&page={page}")).await;
        addresses.extend(texts(&blocks, "blocks", "miner"));
        for hash in texts(&blocks, "blocks", "hash") {
            get(format!("/api/v1/blocks/{hash}")).await;
        }
        let list = get(format!("/api/v1/transactions?limit=10&page={page}")).await;
        for field in ["from", "to", "contractAddress"] {
            addresses.extend(texts(&list, "transactions", field));
        }
        for hash in texts(&list, "transactions", "hash") {
            get(format!("/api/v1/transactions/{hash}")).await;
        }
    }
    for number in [0, 1, 7, 1_000_000] {
        get(format!("/api/v1/blocks/{number}")).await;
    }
    get("/api/v1/contracts".to_owned()).await;
    let mut tokens = Vec::new();
    for page in 1..=3 {
        tokens.extend(texts(&get(format!("/api/v1/tokens?limit=4&page={page}")).await, "tokens", "address"));
    }
    assert!(tokens.len() > 2, "{tokens:?}");
    for token in &tokens {
        get(format!("/api/v1/tokens/{token}")).await;
        for page in 1..=2 {
            get(format!("/api/v1/tokens/{token}/holders?limit=5&page={page}")).await;
        }
    }
    addresses.extend(tokens.iter().take(2).cloned());
    addresses.sort_unstable();
    addresses.dedup();
    for address in &addresses {
        for path in ["", "/tokens?limit=3", "/tokens?limit=3&page=2"] {
            get(format!("/api/v1/addresses/{address}{path}")).await;
        }
        get(format!("/api/v1/contracts/{address}")).await;
        get(format!("/api/v1/transactions?address={address}&limit=5")).await;
        get(format!("/api/v1/transactions?address={address}&limit=5&page=2")).await;
    }
    let (one, other) = (&addresses[1], &addresses[addresses.len() / 2]);
    for entity in ["transactions", "blocks", "tokens", "token_transfers", "dex_trades"] {
        for filter in [
            json!({}),
            json!({ "blockFrom": 3, "blockTo": 20 }),
            json!({ "address": one }),
            json!({ "address": other, "blockFrom": 2 }),
            json!({ "from": one }),
            json!({ "to": other }),
            json!({ "from": one, "to": other }),
            json!({ "tokenAddress": tokens[0] }),
            json!({ "tokenAddress": tokens[0], "address": one }),
            json!({ "blockNumber": 5 }),
        ] {
            for (order, page) in [("desc", 1), ("asc", 2)] {
                let body = json!({ "entity": entity, "filter": filter, "orderBy": order, "page": page, "limit": 6 });
                let answer = query(&client, &body).await;
                found.insert(body.to_string(), answer);
            }
        }
    }
    found
}

/// The status and the body.
async fn query(client: &Client, body: &Value) -> String {
    let request = client.request("POST", "/api/v1/query").header("Content-Type", "application/json");
    let answer = client.send(request.body(body.to_string())).await;
    format!("{} {}", answer.status, answer.text)
}

/// Without what depends on the process: error bodies name their request.
fn without_request_id(responses: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let shown = |text: String| match text.split_once(' ') {
        Some((status, body)) if status != "200" => match serde_json::from_str::<Value>(body) {
            Ok(Value::Object(mut fields)) => {
                fields.remove("requestId");
                format!("{status} {}", Value::from(fields))
            }
            _ => text,
        },
        _ => text,
    };
    responses.into_iter().map(|(request, text)| (request, without_audited_block(&shown(text)))).collect()
}

/// The block at which a process audited a token depends on when it did.
fn without_audited_block(text: &str) -> String {
    let mut parts = text.split("\"auditedBlock\":");
    let mut kept = parts.next().unwrap().to_owned();
    for part in parts {
        kept.push_str(part.trim_start_matches(|digit: char| digit.is_ascii_digit()).trim_start_matches("null"));
    }
    kept
}

async fn assert_same(embedded: &TestExplorer, postgres: &TestExplorer, what: &str) {
    // Metadata, code and ranks of holders lag behind the tip.
    let mut differing = Vec::new();
    for _ in 0..30 {
        let ours = without_request_id(responses(postgres).await);
        let theirs = without_request_id(responses(embedded).await);
        assert!(theirs.len() > 250, "{what}: {} responses", theirs.len());
        assert!(theirs.values().filter(|text| text.starts_with("200 ")).count() > 150, "{what}");
        differing = theirs
            .iter()
            .filter(|(request, text)| ours.get(*request) != Some(*text))
            .map(|(request, text)| format!("{request}\n  embedded: {text}\n  postgres: {:?}", ours.get(request)))
            .collect();
        if differing.is_empty() && ours.len() == theirs.len() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    }
    panic!("{what}: {} differ\n{}", differing.len(), differing[..differing.len().min(5)].join("\n"));
}

#[tokio::test]
async fn both_stores_give_the_same_responses_before_and_after_reorgs() {
    let server = Server::shared();
    let (node, mut traffic) = DevNode::with_traffic(250).await;
    let embedded = TestExplorer::start(&node.url()).await;
    let postgres = on_database(Launch::run(&node.url()), &server.database().await).start().await;
    for (depth, new_blocks, transactions) in [(0, 0, Replay), (3, 4, Replay), (10, 12, Drop)] {
        if depth > 0 {
            node.chain.reorg(depth, new_blocks, transactions).unwrap();
        }
        for _ in 0..2 {
            traffic.step().unwrap();
            node.chain.mine(None);
        }
        node.wait_for(&embedded).await;
        node.wait_for(&postgres).await;
        assert_same(&embedded, &postgres, &format!("{depth} blocks replaced by {new_blocks}")).await;
    }
    let (ended, _) = postgres.stop().await;
    assert!(ended.status.success(), "{ended:?}");
}

#[tokio::test]
async fn keys_and_webhooks_work_over_several_processes() {
    let server = Server::shared();
    let url = server.database().await;
    let mut node = DevNode::start().await;
    // In any order: those that serve and deliver wait for the index.
    let serving = role(&node.url(), &url, "serve").start().await;
    let another = role(&node.url(), &url, "serve").start().await;
    let _delivering = role(&node.url(), &url, "deliver").spawn();
    let _indexing = role(&node.url(), &url, "index").spawn();
    node.wait_for(&serving).await;
    node.wait_for(&another).await;
    // The indexer reports once a second how following goes.
    eventually("the status arrives", async || (serving.json("/health").await["status"] == "ok").then_some(())).await;

    let created = post(serving.client(), &KeyRequest::by(&node.chain.accounts()[0]).body()).await;
    assert_eq!(created.status, 201, "{}", created.json);
    let key = created.json["key"].as_str().unwrap().to_owned();
    let with_key = another.client().request("GET", "/api/v1/stats").header("X-API-Key", &key);
    assert_eq!(another.client().send(with_key).await.status, 200, "a key is valid everywhere");

    let receiver = Receiver::start().await;
    let watched = format!("{:#x}", node.account(1));
    let hook = register(&serving, &receiver.url("/hook"), &watched, &["tx"]).await;
    hook.ping(&another).await;
    receiver.wait_for("/hook", 1).await;
    hook.patch(&another, json!({ "url": receiver.url("/moved") })).await;
    hook.ping(&serving).await;
    receiver.wait_for("/moved", 1).await;

    // Without the node, the index is served.
    node.stop_serving().await;
    let head = node.chain.head();
    assert_eq!(serving.json("/api/v1/blocks").await["blocks"][0]["hash"], head.hash.to_string());
}

#[tokio::test]
async fn a_second_indexer_takes_over_when_the_first_one_is_killed() {
    let server = Server::shared();
    let url = server.database().await;
    let (node, mut traffic) = DevNode::with_traffic(40).await;
    let first = on_database(Launch::run(&node.url()), &url).start().await;
    node.wait_for(&first).await;
    let second = on_database(Launch::run(&node.url()), &url).start().await;
    second.wait_for_log("standing by").await;
    node.wait_for(&second).await;
    first.kill();
    traffic.step().unwrap();
    node.chain.mine(None);
    let killed = std::time::Instant::now();
    node.wait_for(&second).await;
    second.wait_for_log("this process writes the index now").await;
    assert!(killed.elapsed().as_secs() < 30, "{:?}: ten seconds, on a machine that is not busy", killed.elapsed());
    eventually("the second one follows", async || (second.json("/health").await["status"] == "ok").then_some(())).await;
    let expected = crate::support::expected_state(&node.rpc, 0, []).await;
    crate::support::read_api(&second, expected.address_names()).await.assert_equals(&expected, "after the takeover");
}

#[tokio::test]
async fn what_is_wrong_with_a_database_is_said_at_the_start() {
    let server = Server::shared();
    let url = server.database().await;
    let node = DevNode::start().await;
    let explorer = on_database(Launch::run(&node.url()), &url).start().await;
    node.wait_for(&explorer).await;
    explorer.stop().await;
    let other = DevNode::with(devchain::DevChainConfig { chain_id: 99, ..Default::default() }).await;
    let fails = async |launch: Launch, words: &[&str]| {
        let (status, message) = launch.fails_to_start().await;
        assert_eq!(status.code(), Some(1), "{message}");
        assert!(words.iter().all(|word| message.contains(word)), "{words:?}: {message}");
    };
    let run = |url: &str| on_database(Launch::run(&node.url()), url);
    fails(on_database(Launch::run(&other.url()), &url), &["another chain", "--rpc", "--database"]).await;
    fails(run("mysql://explorer@127.0.0.1/test"), &["invalid --database", "postgres://"]).await;
    fails(run(&server.url("no_such_database")), &["does not exist", "--database"]).await;
    fails(run(&url.replace("explorer@", "nobody@")), &["cannot log in", "--database"]).await;
    fails(run(&url).argument("--start-block", 5), &["begins at block 0", "--start-block"]).await;
    fails(Launch::run(&node.url()).argument("--role", "serve"), &["--role", "--database"]).await;
    let without_key = Launch::run(&node.url()).argument("--database", &url).argument("--role", "serve");
    fails(without_key, &["--webhook-encryption-key"]).await;
    let client = server.connect(&url).await;
    client.batch_execute("insert into explorer.schema_migration (number) values (1000)").await.unwrap();
    fails(run(&url), &["newer explorer", "--database"]).await;
}

#[tokio::test]
async fn the_tables_are_created_checked_and_measured_by_a_command() {
    let server = Server::shared();
    let url = server.database().await;
    let run = async |command: &str| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_explorer"))
            .args(["database", command])
            .env("EXPLORER_DATABASE", &url)
            .output()
            .unwrap();
        (
            output.status.success(),
            String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (succeeded, text) = run("migrate").await;
    assert!(succeeded && text.contains("the tables are at schema"), "{text}");
    let node = DevNode::start().await;
    node.chain.mine(None);
    let explorer = on_database(Launch::run(&node.url()), &url).start().await;
    node.wait_for(&explorer).await;
    let (succeeded, text) = run("size").await;
    assert!(succeeded && text.contains("transaction") && text.contains("all"), "{text}");
    // The server of the tests does not wait for the disk, which is the one fault.
    let (succeeded, text) = run("check").await;
    assert!(!succeeded && text.contains("2 blocks") && text.contains("fsync is off"), "{text}");
    assert_eq!(text.matches("fault: ").count(), 1, "{text}");
}
