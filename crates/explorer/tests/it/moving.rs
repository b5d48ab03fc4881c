//! Records move between a data folder and a database in a file, and nothing is lost or sent twice.

mod interrupted;
mod refused;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::Command,
    time::Duration,
};

use alloy_primitives::{TxKind, U256};
use serde_json::{Value, json};
use store_conformance::run_raw_records;
use store_embedded::{EmbeddedStore, StoreOptions};

use crate::{
    contracts::verifier_fixture::{VerifierFixture, read_contracts},
    postgres::{KEY, on_database, responses, server::Server, without_request_id},
    support::{
        DevNode, Launch, TestExplorer, eventually,
        fixture::lower_hex,
        key_request::KeyRequest,
        process,
        receiver::{Behavior, Received, Receiver},
    },
    webhooks::{self, Hook, register},
};

/// The option that names a data folder or a database.
fn option(store: &str) -> &'static str {
    if store.starts_with("postgres://") { "--database" } else { "--data" }
}

fn command(verb: &str, file: &str, store: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_explorer"));
    command.args(["records", verb, file, option(store), store]);
    command
}

/// Whether it succeeded, and what it printed.
async fn run(command: Command) -> (bool, String) {
    let output = process::output(command).await;
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    (output.status.success(), text)
}

async fn export(from: &str, file: &Path) -> (bool, String) {
    run(command("export", text(file), from)).await
}

async fn import(file: &Path, to: &str) -> (bool, String) {
    run(command("import", text(file), to)).await
}

/// Without a file: one command writes what the other one reads.
async fn move_records(from: &str, to: &str) -> (bool, String) {
    let explorer = env!("CARGO_BIN_EXE_explorer");
    let (from_option, to_option) = (option(from), option(to));
    let mut command = Command::new("bash");
    command.args(["-o", "pipefail", "-c"]).arg(format!(
        "'{explorer}' records export - {from_option} '{from}' | '{explorer}' records import - {to_option} '{to}'"
    ));
    run(command).await
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

async fn open_folder(path: &Path) -> EmbeddedStore {
    EmbeddedStore::open(path, StoreOptions::default()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_query_answers_the_same_after_a_move_between_both_kinds_of_stores() {
    let server = Server::shared();
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    run_raw_records(&open_folder(folders[0].path()).await, &server.store().await).await;
    run_raw_records(&server.store().await, &open_folder(folders[1].path()).await).await;
}

/// A webhook whose receiver accepts, and one whose receiver fails.
struct Scene {
    node: DevNode,
    receiver: Receiver,
    key: String,
    request: KeyRequest,
    good: Hook,
    failing: Hook,
}

impl Scene {
    fn pay(&self, amount: u64) {
        self.node.chain.send(0, TxKind::Call(self.node.account(1)), U256::from(amount), []).unwrap();
        self.node.chain.mine(None);
    }

    /// Records and responses that stay as they are: names and balances of tokens, and traces, are read a while after their blocks.
    async fn settled(&self, explorer: &TestExplorer) -> (Value, BTreeMap<String, String>) {
        let mut last = BTreeMap::new();
        let responses = eventually("responses that no longer change", async || {
            let now = without_request_id(responses(explorer).await);
            let stats = explorer.json("/api/v1/stats").await;
            let is_same = now == last && stats["internalTransactionsTo"] == stats["latestBlock"];
            last = now.clone();
            tokio::time::sleep(Duration::from_secs(1)).await;
            is_same.then_some(now)
        });
        let responses = responses.await;
        (self.records(explorer).await, responses)
    }

    async fn records(&self, explorer: &TestExplorer) -> Value {
        let owner = lower_hex(self.node.account(1));
        let signer = &self.node.chain.accounts()[0];
        let keys = format!("/api/v1/keys?owner={:#x}", signer.address());
        let mut keys = explorer.json(&keys).await;
        // Each request with the key counts.
        for key in keys["keys"].as_array_mut().unwrap() {
            key.as_object_mut().unwrap().retain(|name, _| !["totalRequests", "lastUsedAt"].contains(&name.as_str()));
        }
        json!({
            "keys": keys,
            "webhooks": explorer.json(&format!("/api/v1/webhooks?owner={owner}")).await["total"],
            "good": self.good.deliveries(explorer).await,
            "failing": identities(&self.failing.deliveries(explorer).await),
        })
    }

    /// The new one answers like the old one did, its keys are valid, and it sends what the old one did not.
    async fn compare(&self, explorer: &TestExplorer, before: &(Value, BTreeMap<String, String>), payments: usize) {
        self.node.wait_for(explorer).await;
        assert_eq!(self.records(explorer).await, before.0);
        let mut different = BTreeSet::new();
        eventually("the same responses", async || {
            let now = without_request_id(responses(explorer).await);
            let changed = now.iter().filter(|(path, text)| before.1.get(*path) != Some(text));
            for (path, text) in changed {
                if different.insert((path.clone(), text.clone())) {
                    println!("{path}\n  before: {:?}\n  now:    {text}", before.1.get(path));
                }
            }
            (now == before.1).then_some(())
        })
        .await;
        let client = explorer.client();
        let answer = client.send(client.request("GET", "/api/v1/stats").header("X-API-Key", &self.key)).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let replayed = self.request.send(client).await;
        assert_ne!(replayed.status, 201, "a proof can be used once: {}", replayed.text);
        self.receiver.expect_silence(explorer, "/good", payments).await;
    }
}

/// What identifies messages, whose attempts go on.
fn identities(deliveries: &[Value]) -> Vec<Value> {
    deliveries.iter().map(|delivery| json!([delivery["id"], delivery["event"], delivery["createdAt"]])).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn records_and_queues_move_to_a_database_and_back() {
    let server = Server::shared();
    let (node, _) = DevNode::with_traffic(120).await;
    let launch = || webhooks::launch(&node.url());
    let explorer = launch().variable("EXPLORER_WEBHOOK_ENCRYPTION_KEY", KEY).start().await;
    node.wait_for(&explorer).await;
    let request = KeyRequest::by(&node.chain.accounts()[0]);
    let key = request.key(explorer.client()).await;
    let receiver = Receiver::start().await;
    receiver.set_behavior("/failing", Behavior::StatusWithHeader(503, "retry-after", "3600".to_owned()));
    let watched = lower_hex(node.account(1));
    let good = register(&explorer, &receiver.url("/good"), &watched, &["tx", "removed"]).await;
    let failing = register(&explorer, &receiver.url("/failing"), &watched, &["tx", "removed"]).await;
    let url = node.url();
    let scene = Scene { node, receiver, key, request, good, failing };
    scene.pay(1);
    scene.node.wait_for(&explorer).await;
    scene.receiver.wait_for("/good", 1).await;
    let first = scene.receiver.wait_for("/failing", 1).await.remove(0);
    eventually("both are recorded", async || {
        let [good, failing] = [&scene.good, &scene.failing].map(|hook| hook.deliveries(&explorer));
        let attempts = |list: Vec<Value>| list[0]["attempts"].as_array().map_or(0, Vec::len);
        (attempts(good.await) == 1 && attempts(failing.await) == 1).then_some(())
    })
    .await;
    let before = scene.settled(&explorer).await;
    let (_, folder) = explorer.stop().await;

    let database = server.database().await;
    let files = tempfile::tempdir().unwrap();
    let file = files.path().join("records.ndjson");
    let (succeeded, printed) = export(text(folder.path()), &file).await;
    assert!(succeeded, "{printed}");
    let (succeeded, printed) = import(&file, &database).await;
    assert!(succeeded, "{printed}");
    let tip = scene.node.chain.head().number;
    let expected =
        ["Imported all", &format!("block {tip}"), "webhook-secrets.key", "second time", "Next: explorer run --rpc"];
    for words in expected {
        assert!(printed.contains(words), "{words}: {printed}");
    }
    let (succeeded, again) = import(&file, &database).await;
    assert!(succeeded && again.contains("already"), "it is complete: {again}");

    let moved = on_database(webhooks::launch(&url), &database).with_admin_socket().start().await;
    scene.compare(&moved, &before, 1).await;
    scene.pay(2);
    scene.receiver.wait_for("/good", 2).await;
    scene.node.wait_for(&moved).await;
    eventually("its attempt is recorded", async || {
        (scene.good.deliveries(&moved).await[0]["status"] == "delivered").then_some(())
    })
    .await;
    scene.receiver.wait_for("/failing", 2).await;
    let before = scene.settled(&moved).await;
    moved.stop().await;

    // This time, the target is indexed first.
    let back = tempfile::tempdir().unwrap();
    let indexing = launch_on(&url, back.path()).await;
    scene.node.wait_for(&indexing).await;
    indexing.stop().await;
    let (succeeded, printed) = move_records(&database, text(back.path())).await;
    assert!(succeeded && !printed.contains("not in the file"), "{printed}");
    scene.receiver.set_behavior("/failing", Behavior::Status(200));
    let moved = launch_on(&url, back.path()).await;
    scene.compare(&moved, &before, 2).await;
    scene.pay(3);
    scene.receiver.wait_for("/good", 3).await;
    scene.receiver.expect_silence(&moved, "/good", 3).await;

    // The message that failed first is still queued, with its id and its body.
    let id = first.id().to_owned();
    let with_id = || -> Vec<Received> {
        scene.receiver.at_path("/failing").into_iter().filter(|received| received.id() == id).collect()
    };
    let sent = with_id().len();
    let path = scene.failing.path(&format!("/deliveries/{id}/redeliver"));
    let answer = webhooks::send(moved.client(), "POST", &path, None).await;
    assert!(answer.status < 300, "{} {}", answer.status, answer.text);
    let repeated = eventually("it is sent again", async || with_id().into_iter().nth(sent)).await;
    assert_eq!(repeated.body, first.body);
}

async fn launch_on(rpc: &str, folder: &Path) -> TestExplorer {
    webhooks::launch(rpc).variable("EXPLORER_WEBHOOK_ENCRYPTION_KEY", KEY).on(folder).start().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verified_contract_stays_verified() {
    let server = Server::shared();
    let fixture = VerifierFixture::start().await;
    let address = fixture.verified_coin().await;
    let before = read_contracts(&fixture.explorer, &address).await;
    let (anvil, explorer) = (fixture.anvil, fixture.explorer);
    let (_, folder) = explorer.stop().await;
    let database = server.database().await;
    let (succeeded, printed) = move_records(text(folder.path()), &database).await;
    assert!(succeeded, "{printed}");
    let moved = on_database(Launch::run(anvil.url()), &database).start().await;
    anvil.wait_for(&moved).await;
    eventually("it is listed again", async || (read_contracts(&moved, &address).await == before).then_some(())).await;
    moved.stop().await;
    // This time, the target is indexed first.
    let back = tempfile::tempdir().unwrap();
    let indexing = Launch::run(anvil.url()).on(back.path()).start().await;
    anvil.wait_for(&indexing).await;
    indexing.stop().await;
    let (succeeded, printed) = move_records(&database, text(back.path())).await;
    assert!(succeeded, "{printed}");
    let moved = Launch::run(anvil.url()).on(back.path()).start().await;
    anvil.wait_for(&moved).await;
    eventually("it is listed again", async || (read_contracts(&moved, &address).await == before).then_some(())).await;
}
