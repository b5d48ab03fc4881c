//! The explorer on PostgreSQL: the same responses as with the embedded store, and several processes on one database.

mod deliverers;
mod faults;
mod patroni;
mod paused;
mod readiness;
mod round_trips;
#[path = "../../../store-postgres/tests/postgres/server.rs"]
#[allow(dead_code, reason = "shared with the tests of the store")]
pub(crate) mod server;
mod split_brain;
mod standby_commands;
mod wrong_parts;

use std::collections::BTreeMap;

use alloy_primitives::{TxKind, U256};
use devchain::ReorgedTransactions::{Drop, Replay};
use serde_json::{Value, json};

use self::server::Server;
use crate::{
    contracts::verifier_fixture::{Case, compile_case, compilers},
    support::{
        Anvil, DevNode, Launch, TestExplorer, eventually,
        key_request::{KeyRequest, post},
        permits,
        process::Process,
        receiver::Receiver,
    },
    webhooks::{self, register},
};

pub(crate) const KEY: &str = "0000000000000000000000000000000000000000000000000000000000000007";

/// [`server`] calls it before it starts a server, and before it waits for the shared one.
fn before_server() {
    permits::enter();
}

pub(crate) fn on_database(launch: Launch, url: &str) -> Launch {
    launch.argument("--database", url).variable("EXPLORER_WEBHOOK_ENCRYPTION_KEY", KEY)
}

/// A process that shares the database with others.
pub(crate) fn role(rpc: &str, url: &str, role: &str) -> Launch {
    on_database(webhooks::launch(rpc), url).argument("--role", role)
}

async fn wait_for_log(process: &Process, text: &str) {
    eventually(&format!("{text:?} in the log"), async || process.stderr().contains(text).then_some(())).await;
}

/// The responses of every route of the index, with pages and filters, by request.
pub(crate) async fn responses(explorer: &TestExplorer) -> BTreeMap<String, String> {
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
    let mut logs = Vec::new();
    for page in 1..=4 {
        let list = get(format!("/api/v1/logs?limit=8&page={page}")).await;
        logs.extend(list["logs"].as_array().unwrap().clone());
    }
    assert!(logs.len() > 20, "{logs:?}");
    for log in &logs {
        let (emitter, topics) = (log["address"].as_str().unwrap(), log["topics"].as_array().unwrap());
        get(format!("/api/v1/logs?address={emitter}&limit=4&page=2")).await;
        let mut all = format!("/api/v1/logs?address={emitter}&blockTo={}", log["blockNumber"]);
        for (position, topic) in topics.iter().enumerate() {
            let condition = format!("topic{position}={}", topic.as_str().unwrap());
            get(format!("/api/v1/logs?{condition}&limit=3&page=2")).await;
            all.push_str(&format!("&{condition}"));
            get(all.clone()).await;
        }
    }
    let mut tokens = Vec::new();
    for page in 1..=3 {
        tokens.extend(texts(&get(format!("/api/v1/tokens?limit=4&page={page}")).await, "tokens", "address"));
    }
    assert!(tokens.len() > 2, "{tokens:?}");
    for token in &tokens {
        get(format!("/api/v1/tokens/{token}")).await;
        for page in 1..=2 {
            get(format!("/api/v1/tokens/{token}/holders?limit=5&page={page}")).await;
            let ids = get(format!("/api/v1/tokens/{token}/ids?limit=5&page={page}")).await;
            for id in texts(&ids, "ids", "tokenId") {
                for end in ["", "/holders?limit=2", "/transfers?limit=2", "/transfers?limit=2&page=2"] {
                    get(format!("/api/v1/tokens/{token}/ids/{id}{end}")).await;
                }
            }
        }
    }
    addresses.extend(tokens.iter().take(2).cloned());
    addresses.sort_unstable();
    addresses.dedup();
    for address in &addresses {
        for path in [
            "",
            "/tokens?limit=3",
            "/tokens?limit=3&page=2",
            "/nfts?limit=3",
            "/nfts?limit=3&page=2",
            "/approvals?limit=2",
        ] {
            get(format!("/api/v1/addresses/{address}{path}")).await;
        }
        get(format!("/api/v1/contracts/{address}")).await;
        get(format!("/api/v1/transactions?address={address}&limit=5")).await;
        get(format!("/api/v1/transactions?address={address}&limit=5&page=2")).await;
    }
    let (one, other) = (&addresses[1], &addresses[addresses.len() / 2]);
    let mut answered = 0;
    for entity in ["transactions", "blocks", "tokens", "token_transfers", "dex_trades", "logs"] {
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
            for (order, offset) in [("desc", 0), ("asc", 6)] {
                let body =
                    json!({ "entity": entity, "filter": filter, "orderBy": order, "offset": offset, "limit": 6 });
                let answer = client.try_query(body.to_string()).await;
                // Some filters are not for all entities.
                answered += usize::from(answer.status == 200);
                found.insert(body.to_string(), format!("{} {}", answer.status, answer.text));
            }
        }
    }
    assert!(answered > 20, "only {answered} queries are valid");
    found
}

/// Without what depends on the process: error bodies name their request.
pub(crate) fn without_request_id(responses: BTreeMap<String, String>) -> BTreeMap<String, String> {
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
    // A trace that takes too long is missing in one of them.
    permits::timely().await;
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
    let path = format!("/api/v1/keys/{}", created.json["id"]);
    let revoke = serving.client().request("DELETE", &path).header("X-API-Key", &key);
    assert_eq!(serving.client().send(revoke).await.status, 200);
    let stats_at = async |explorer: &TestExplorer| {
        let request = explorer.client().request("GET", "/api/v1/stats").header("X-API-Key", &key);
        explorer.client().send(request).await
    };
    assert_eq!(stats_at(&serving).await.json["code"], "revoked_key", "at once where it was revoked");
    eventually("the other process reads the key again", async || {
        let refused = stats_at(&another).await;
        (refused.json["code"] == "revoked_key").then(|| assert_eq!(refused.status, 401))
    })
    .await;

    let receiver = Receiver::start().await;
    let watched = format!("{:#x}", node.account(1));
    let hook = register(&serving, &receiver.url("/hook"), &watched, &["tx"]).await;
    eventually("the other process counts it", async || {
        (another.json("/health").await["webhooks"]["count"] == 1).then_some(())
    })
    .await;
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
async fn a_process_that_reads_from_a_standby_never_shows_an_older_block() {
    let primary = Server::start();
    let standby = primary.start_standby();
    let url = primary.database().await;
    let (node, mut traffic) = DevNode::with_traffic(40).await;
    let _indexing = role(&node.url(), &url, "index").spawn();
    let read_url = standby.url(url.rsplit('/').next().unwrap());
    let one = role(&node.url(), &url, "serve").start().await;
    let two = role(&node.url(), &url, "serve").variable("EXPLORER_READ_DATABASE", read_url).start().await;
    node.wait_for(&one).await;
    node.wait_for(&two).await;
    let mut shown = 0;
    for _ in 0..20 {
        traffic.step().unwrap();
        node.chain.mine(None);
        for explorer in [&one, &two, &one, &two] {
            let client = explorer.client();
            let request = client.request("GET", "/api/v1/blocks?limit=1").header("X-Explorer-Min-Block", shown);
            let answer = client.send(request).await;
            assert_eq!(answer.status, 200, "{}", answer.text);
            let block = answer.json["blocks"][0]["number"].as_u64().unwrap();
            let named: u64 = answer.header("x-explorer-block").parse().unwrap();
            assert!(block >= shown && named >= block, "shown before: {shown}, now: {block} as of {named}");
            shown = named;
        }
    }
    let health = eventually("the standby is read", async || {
        // It is not ready until it has the blocks that were just mined.
        let health = two.get("/health/ready").await.json;
        (health["readDatabase"]["used"] == true).then_some(health)
    })
    .await;
    assert!(health["readDatabase"]["secondsBehind"].as_f64().unwrap() < 5.0, "{health}");
    assert_eq!(one.get("/health/ready").await.json["readDatabase"], Value::Null);
    let expected = crate::support::expected_state(&node.rpc, 0, []).await;
    node.wait_for(&two).await;
    crate::support::read_api(&two, expected.address_names()).await.assert_equals(&expected, "from the standby");

    standby.kill();
    assert_eq!(two.get("/api/v1/blocks").await.status, 200);
    let health = eventually("the failure is shown", async || {
        let health = two.json("/health").await;
        (health["readDatabase"]["used"] == false).then_some(health)
    })
    .await;
    assert_eq!(health["status"], "degraded", "{health}");
}

#[tokio::test]
async fn indexing_and_webhooks_continue_when_a_standby_is_promoted() {
    let primary = Server::start();
    let standby = primary.start_standby();
    let own = primary.database().await;
    let name = own.rsplit('/').next().unwrap();
    let url = format!("postgres://explorer@{},{}/{name}", primary.host(), standby.host());
    let node = DevNode::start().await;
    let _indexing = role(&node.url(), &url, "index").spawn();
    let _delivering = role(&node.url(), &url, "deliver").spawn();
    let serving = role(&node.url(), &url, "serve").start().await;
    node.wait_for(&serving).await;
    let receiver = Receiver::start().await;
    let hook = register(&serving, &receiver.url("/hook"), &format!("{:#x}", node.account(1)), &["tx"]).await;
    let mut paid = Vec::new();
    let mut pay = || {
        let to = TxKind::Call(node.account(1));
        paid.push(node.chain.send(0, to, U256::from(1 + paid.len()), []).unwrap().to_string());
        node.chain.mine(None);
    };
    pay();
    receiver.wait_for("/hook", 1).await;
    node.wait_for(&serving).await;
    eventually("the message is recorded", async || {
        (hook.deliveries(&serving).await[0]["status"] == "delivered").then_some(())
    })
    .await;
    let [written, copied] = [&primary, &standby].map(async |server| server.connect(&server.url("postgres")).await);
    let (written, copied) = (written.await, copied.await);
    let position: String = written.query_one("select pg_current_wal_insert_lsn()::text", &[]).await.unwrap().get(0);
    eventually("the standby has everything", async || {
        let sql = "select coalesce(pg_last_wal_replay_lsn() >= $1::text::pg_lsn, false)";
        let caught_up: bool = copied.query_one(sql, &[&position]).await.unwrap().get(0);
        caught_up.then_some(())
    })
    .await;

    primary.kill();
    // Blocks that come meanwhile are indexed afterwards.
    pay();
    standby.promote();
    pay();
    let received = receiver.wait_for("/hook", 3).await;
    // Messages are sent in the order of the chain, several at once, so that they may arrive in another one.
    let mut hashes: Vec<String> = received.iter().map(|message| message.json()["data"]["hash"].to_string()).collect();
    let mut expected: Vec<String> = paid.iter().map(|hash| format!("{hash:?}")).collect();
    hashes.sort_unstable();
    expected.sort_unstable();
    assert_eq!(hashes, expected, "each once");
    node.wait_for(&serving).await;
    let expected = crate::support::expected_state(&node.rpc, 0, []).await;
    crate::support::read_api(&serving, expected.address_names()).await.assert_equals(&expected, "after the failover");
    hook.patch(&serving, json!({ "url": receiver.url("/moved") })).await;
    hook.ping(&serving).await;
    receiver.wait_for("/moved", 1).await;
    eventually("all is well again", async || (serving.json("/health").await["status"] == "ok").then_some(())).await;
}

#[tokio::test]
async fn limits_hold_over_all_processes_that_serve() {
    let server = Server::shared();
    let url = server.database().await;
    let node = DevNode::start().await;
    let launch = || role(&node.url(), &url, "serve").variable("EXPLORER_ANONYMOUS_REQUESTS_PER_MINUTE", 10);
    let (one, two) = (launch().start().await, launch().start().await);
    let created = post(one.client(), &KeyRequest::by(&node.chain.accounts()[0]).body()).await;
    assert_eq!(created.status, 201, "{}", created.json);
    let key = created.json["key"].as_str().unwrap().to_owned();
    // The request for the key was the first of ten.
    for (number, remaining) in (0..12).zip((0..9).rev().chain([0, 0, 0])) {
        let client = [&one, &two][number % 2].client();
        let answer = client.get("/api/v1/blocks/0").await;
        assert_eq!(answer.status == 429, number >= 9, "request {number}: {}", answer.status);
        assert_eq!(answer.header("x-ratelimit-remaining"), remaining.to_string(), "request {number}");
        assert_eq!(answer.header("x-ratelimit-limit"), "10");
    }
    let unlimited = two.get("/api/v1/openapi.json").await;
    assert_eq!((unlimited.status, unlimited.header("x-ratelimit-remaining")), (200, "0"));
    for (client, remaining) in [(one.client(), "99"), (two.client(), "98"), (two.client(), "97"), (one.client(), "96")]
    {
        let request = client.request("GET", "/api/v1/stats").header("X-API-Key", &key);
        let answer = client.send(request).await;
        assert_eq!((answer.status, answer.header("x-ratelimit-remaining")), (200, remaining));
    }
}

#[tokio::test]
async fn without_its_database_a_process_continues_counting() {
    let server = Server::start();
    let url = server.database().await;
    let node = DevNode::start().await;
    let launch = || role(&node.url(), &url, "serve").variable("EXPLORER_ANONYMOUS_REQUESTS_PER_MINUTE", 10);
    let (one, two) = (launch().start().await, launch().start().await);
    for (number, left) in (0..6).zip((4..10).rev()) {
        let answer = [&one, &two][number % 2].get("/api/v1/tokens").await;
        assert_eq!((answer.status, answer.header("x-ratelimit-remaining")), (200, left.to_string().as_str()));
    }
    server.kill();
    // Three of the six were its own.
    for left in (0..7).rev() {
        let answer = one.get("/api/v1/tokens").await;
        assert_eq!((answer.status, answer.header("x-ratelimit-remaining")), (503, left.to_string().as_str()));
    }
    assert_eq!(one.get("/api/v1/tokens").await.status, 429);
}

#[tokio::test]
async fn limits_outlive_a_restart_with_a_database() {
    let server = Server::shared();
    let url = server.database().await;
    let node = DevNode::start().await;
    let launch = || on_database(Launch::run(&node.url()), &url).variable("EXPLORER_ANONYMOUS_REQUESTS_PER_MINUTE", 10);
    let explorer = launch().start().await;
    let used =
        |answer: crate::support::client::Answer| (answer.status, answer.header("x-ratelimit-remaining").to_owned());
    node.wait_for(&explorer).await;
    for left in (4..10).rev() {
        assert_eq!(used(explorer.get("/api/v1/blocks").await), (200, left.to_string()));
    }
    explorer.kill();
    let explorer = launch().start().await;
    node.wait_for(&explorer).await;
    for left in (0..4).rev() {
        assert_eq!(used(explorer.get("/api/v1/blocks").await), (200, left.to_string()));
    }
    let refused = explorer.get("/api/v1/blocks").await;
    assert_eq!((refused.status, refused.json["code"].as_str()), (429, Some("rate_limited")));
}

#[tokio::test]
async fn a_contract_is_compiled_once_and_its_jobs_are_known_everywhere() {
    let server = Server::shared();
    let url = server.database().await;
    let anvil = Anvil::start().await;
    let launch = |name: &str| {
        let launch = role(anvil.url(), &url, name).argument("--compiler-source", compilers().display());
        launch.argument("--log", "info,verification=debug")
    };
    let (one, two) = (launch("serve").start().await, launch("serve").start().await);
    let _indexing = role(anvil.url(), &url, "index").spawn();
    let case = Case::coin("0.8.20");
    let code = compile_case(&case).await;
    let from = anvil.accounts().await.remove(0);
    let data = format!("0x{code}{}", case.arguments);
    let receipt = anvil.send(json!({ "from": from, "data": data, "gas": "0xf00000" })).await;
    anvil.wait_for(&one).await;
    let address = receipt["contractAddress"].as_str().unwrap();
    let body = json!({ "address": address, "sourceCode": case.source, "compilerVersion": case.version }).to_string();
    let verify = |explorer: &TestExplorer| {
        let request = explorer.client().request("POST", "/api/v1/verify").header("Content-Type", "application/json");
        request.header("Prefer", "respond-async").body(body.clone())
    };
    let (first, second) = tokio::join!(one.client().send(verify(&one)), two.client().send(verify(&two)));
    for (answer, other) in [(first, &two), (second, &one)] {
        assert_eq!(answer.status, 202, "{}", answer.text);
        let path = format!("/api/v1/verify/jobs/{}", answer.json["id"].as_str().unwrap());
        let job = eventually("the end of the job", async || {
            let job = other.json(&path).await;
            assert_ne!(job["failure"]["code"], "verification_interrupted", "{job}");
            (job["status"] != "pending").then_some(job)
        })
        .await;
        assert_eq!((&job["status"], &job["answer"]["match"]), (&json!("finished"), &json!("exact")), "{job}");
    }
    let compiled = [&one, &two].map(|explorer| explorer.log().matches("contract verified").count());
    assert_eq!(compiled.iter().sum::<usize>(), 1, "one of them took the verdict of the other: {compiled:?}");
}

#[tokio::test]
async fn a_second_indexer_takes_over_when_the_first_one_is_killed() {
    let server = Server::shared();
    let url = server.database().await;
    let (node, mut traffic) = DevNode::with_traffic(40).await;
    let first = on_database(Launch::run(&node.url()), &url).start().await;
    node.wait_for(&first).await;
    let second = on_database(Launch::run(&node.url()), &url).start().await;
    second.wait_for_log("another process writes the index, standing by").await;
    node.wait_for(&second).await;
    first.kill();
    traffic.step().unwrap();
    node.chain.mine(None);
    let watch = crate::support::Stopwatch::start();
    node.wait_for(&second).await;
    second.wait_for_log("this process writes the index now").await;
    watch.assert_within(30);
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
    let on_other = on_database(Launch::run(&other.url()), &url).argument("--on-new-chain", "halt");
    fails(on_other, &["another chain", "--rpc", "--database", "--on-new-chain reset"]).await;
    fails(run("mysql://explorer@127.0.0.1/test"), &["invalid --database", "postgres://"]).await;
    fails(run(&server.url("no_such_database")), &["does not exist", "--database"]).await;
    fails(run(&url.replace("explorer@", "nobody@")), &["cannot log in", "--database"]).await;
    fails(run(&url).argument("--start-block", 5), &["begins at block 0", "--start-block"]).await;
    fails(Launch::run(&node.url()).argument("--role", "serve"), &["--role", "--database"]).await;
    let without_primary =
        Launch::run(&node.url()).argument("--read-database", "postgres://explorer@localhost/explorer");
    fails(without_primary, &["--read-database", "--database"]).await;
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
    let run = async |arguments: &[&str]| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_explorer"))
            .args(arguments)
            .env("EXPLORER_DATABASE", &url)
            .output()
            .unwrap();
        (
            output.status.code().unwrap(),
            String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, text) = run(&["database", "migrate"]).await;
    assert!(code == 0 && text.contains("the tables are at schema"), "{text}");
    let node = DevNode::start().await;
    node.chain.mine(None);
    let explorer = on_database(Launch::run(&node.url()), &url).start().await;
    node.wait_for(&explorer).await;
    let (code, text) = run(&["database", "compact"]).await;
    assert!(code == 0 && text.contains("merged "), "{text}");
    let (code, text) = run(&["database", "size"]).await;
    assert!(code == 0 && text.contains("transaction") && text.contains("all"), "{text}");

    // The server of the tests does not wait for the disk.
    let (code, text) = run(&["check"]).await;
    assert!(code == 0 && text.contains("Setting: fsync is off") && text.contains("all rows match"), "{code} {text}");
    explorer.stop().await;
    let client = server.connect(&url).await;
    client.batch_execute("update explorer.chain set addresses = addresses + 1").await.unwrap();
    let (code, text) = run(&["check"]).await;
    assert!(code == 2 && text.contains("Index: there are") && text.contains("records export"), "{code} {text}");
}
