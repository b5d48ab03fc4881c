//! Chains that are reset under an explorer, and the changes that nodes for development make without a block.

mod dev_state;
mod page;

use std::{sync::Arc, time::Duration};

use devchain::{DevChain, DevChainConfig};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    contracts::verifier_fixture::{Case, compile_case, compilers},
    postgres::{on_database, role, server::Server},
    support::{
        Anvil, DevNode, Launch, Port, Stopwatch, TestExplorer, eventually, expected_state,
        faulty_node::{FaultyNode, Script},
        key_request::KeyRequest,
        permits, read_api,
        receiver::Receiver,
    },
    webhooks::{self, register},
};

/// How long the index of a dev chain may be that of a chain that is gone.
const LIMIT_SECONDS: u64 = 2;

/// Where an explorer stores its data, also over several processes.
enum Stored {
    Folder(TempDir),
    /// The server stops with the last test that uses it.
    Database {
        _server: Arc<Server>,
        url: String,
    },
}

impl Stored {
    fn in_folder() -> Self {
        Self::Folder(tempfile::tempdir().unwrap())
    }

    async fn in_database() -> Self {
        let server = Server::shared();
        let url = server.database().await;
        Self::Database { _server: server, url }
    }

    fn launch(&self, rpc: &str) -> Launch {
        let launch = webhooks::launch(rpc).argument("--compiler-source", compilers().display());
        match self {
            Self::Folder(folder) => launch.on(folder.path()),
            Self::Database { url, .. } => on_database(launch, url),
        }
    }
}

/// Another chain with the same id.
fn other_chain(seed: u64, blocks: usize) -> DevChain {
    let chain = DevChain::new(DevChainConfig { seed, ..DevChainConfig::default() });
    for _ in 0..blocks {
        chain.mine(None);
    }
    chain
}

impl DevNode {
    /// Serves another chain at the same address.
    async fn restart_with(&mut self, chain: DevChain) {
        self.stop_serving().await;
        self.chain = chain;
        self.resume_serving().await;
    }
}

/// Waits until the explorer has the head of the node, which took less than the limit.
async fn is_indexed_soon(anvil: &Anvil, explorer: &TestExplorer) {
    let watch = Stopwatch::start();
    anvil.wait_for(explorer).await;
    watch.assert_within(LIMIT_SECONDS);
}

#[tokio::test]
async fn anvil_that_was_restarted_is_indexed_again_in_a_folder() {
    anvil_that_was_restarted_is_indexed_again(Stored::in_folder()).await;
}

#[tokio::test]
async fn anvil_that_was_restarted_is_indexed_again_in_a_database() {
    anvil_that_was_restarted_is_indexed_again(Stored::in_database().await).await;
}

async fn anvil_that_was_restarted_is_indexed_again(stored: Stored) {
    permits::timely().await;
    let port = Port::reserve();
    let anvil = Anvil::at(port.number(), &[]).await;
    let accounts = anvil.accounts().await;
    let explorer = stored.launch(anvil.url()).start().await;
    let signer = DevChain::new(DevChainConfig::default()).accounts()[0].clone();
    let request = KeyRequest::by(&signer);
    let key = request.key(explorer.client()).await;
    let receiver = Receiver::start().await;
    let hook = register(&explorer, &receiver.url("/hook"), &accounts[5], &["tx"]).await;
    let case = Case::coin("0.8.20");
    let code = format!("0x{}{}", compile_case(&case).await, case.arguments);
    let deploy = async |anvil: &Anvil| {
        let receipt = anvil.send(json!({ "from": accounts[0], "data": code, "gas": "0xf00000" })).await;
        receipt["contractAddress"].as_str().unwrap().to_owned()
    };
    let pay = async |anvil: &Anvil, value: &str| {
        let payment = json!({ "from": accounts[4], "to": accounts[5], "value": value });
        anvil.send(payment).await["transactionHash"].as_str().unwrap().to_owned()
    };
    let contract = deploy(&anvil).await;
    anvil.wait_for(&explorer).await;
    let body = json!({ "address": contract, "sourceCode": case.source, "compilerVersion": case.version });
    let verified = webhooks::send(explorer.client(), "POST", "/api/v1/verify", Some(body)).await;
    assert_eq!(verified.json["success"], true, "{}", verified.json);
    let old_payment = pay(&anvil, "0x1").await;
    // More than webhooks remember of the chain, and than can be reverted.
    anvil.mine(600).await;
    anvil.wait_for(&explorer).await;
    receiver.wait_for("/hook", 1).await;
    let old_tip = explorer.json("/health").await["tip"]["hash"].as_str().unwrap().to_owned();

    drop(anvil);
    let anvil = Anvil::at(port.number(), &[]).await;
    is_indexed_soon(&anvil, &explorer).await;
    for path in [format!("/api/v1/transactions/{old_payment}"), format!("/api/v1/blocks/{old_tip}")] {
        assert_eq!(explorer.get(&path).await.status, 404, "{path}");
    }
    let health = explorer.json("/health").await;
    assert_eq!((&health["chainChanged"], &health["nodeReachable"]), (&json!(false), &json!(true)), "{health}");
    assert_eq!(health["chain"]["genesisHash"], explorer.json("/api/v1/blocks/0").await["hash"]);
    explorer.wait_for_log("the chain was reset").await;

    // What users left is still there, and applies to the new chain.
    let payment = pay(&anvil, "0x2").await;
    let received = receiver.wait_for("/hook", 2).await;
    assert_eq!(received[1].json()["data"]["hash"], payment);
    anvil.wait_for(&explorer).await;
    let expected = expected_state(&anvil.rpc, 0, []).await;
    read_api(&explorer, expected.address_names()).await.assert_equals(&expected, "the new chain");
    // The comparison is without verified sources, so the contract comes later.
    assert_eq!(deploy(&anvil).await, contract);
    anvil.wait_for(&explorer).await;
    let detail = eventually("the verified source", async || {
        let detail = explorer.json(&format!("/api/v1/addresses/{contract}")).await;
        (detail["contract"]["verified"] == true).then_some(detail)
    })
    .await;
    assert_eq!(detail["contract"]["name"], "Coin", "{detail}");
    eventually("the list of verified contracts", async || {
        (explorer.json("/api/v1/contracts").await["contracts"][0]["address"] == contract).then_some(())
    })
    .await;
    let request = explorer.client().request("GET", &format!("/api/v1/keys?owner={}", request.owner));
    let keys = explorer.client().send(request.header("X-API-Key", key)).await;
    assert_eq!(keys.json["keys"].as_array().unwrap().len(), 1, "{}", keys.json);
    let listed = hook.listed(&explorer, &accounts[5]).await;
    assert_eq!(listed["active"], true, "{listed}");

    // An explorer that was stopped meanwhile.
    explorer.stop().await;
    let explorer = stored.launch(anvil.url()).start().await;
    anvil.wait_for(&explorer).await;
    assert!(!explorer.log().contains("the chain was reset"), "{}", explorer.log());
    explorer.stop().await;
    drop(anvil);
    let anvil = Anvil::at(port.number(), &[]).await;
    let explorer = stored.launch(anvil.url()).start().await;
    is_indexed_soon(&anvil, &explorer).await;
    assert_eq!(explorer.get(&format!("/api/v1/transactions/{payment}")).await.status, 404);
    pay(&anvil, "0x3").await;
    receiver.wait_for("/hook", 3).await;
}

#[tokio::test]
async fn a_chain_that_was_reset_several_times_leaves_nothing_of_the_old_ones() {
    let (mut node, _) = DevNode::with_traffic(40).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    for (seed, blocks) in [(11, 3), (12, 0), (13, 400)] {
        node.restart_with(other_chain(seed, blocks)).await;
        node.wait_for(&explorer).await;
        let expected = expected_state(&node.rpc, 0, []).await;
        read_api(&explorer, expected.address_names()).await.assert_equals(&expected, &format!("chain {seed}"));
    }
    // Rolled back further than blocks can be reverted, with the same genesis block.
    node.chain.reorg(390, 395, devchain::ReorgedTransactions::Drop).unwrap();
    node.wait_for(&explorer).await;
    let expected = expected_state(&node.rpc, 0, []).await;
    read_api(&explorer, expected.address_names()).await.assert_equals(&expected, "after a deep reorg");
}

#[tokio::test]
async fn processes_that_only_serve_follow_to_the_new_chain() {
    let mut node = DevNode::start().await;
    for _ in 0..5 {
        node.chain.mine(None);
    }
    let server = Server::shared();
    let url = server.database().await;
    let serving = role(&node.url(), &url, "serve").start().await;
    let _indexing = role(&node.url(), &url, "index").spawn();
    let _delivering = role(&node.url(), &url, "deliver").spawn();
    node.wait_for(&serving).await;
    let account = format!("/api/v1/addresses/{:#x}", node.account(0));
    assert_eq!(serving.json(&account).await["balanceBlock"], 5);
    let receiver = Receiver::start().await;
    let watched = node.account(1);
    register(&serving, &receiver.url("/hook"), &format!("{watched:#x}"), &["tx"]).await;

    node.restart_with(other_chain(21, 2)).await;
    node.wait_for(&serving).await;
    assert_eq!(serving.json("/api/v1/blocks").await["total"], 3);
    let account = format!("/api/v1/addresses/{:#x}", node.account(0));
    eventually("the balance, from the node", async || {
        (serving.json(&account).await["balanceBlock"] == 2).then_some(())
    })
    .await;
    let to = alloy_primitives::TxKind::Call(watched);
    node.chain.send(0, to, alloy_primitives::U256::from(1), []).unwrap();
    node.chain.mine(None);
    receiver.wait_for("/hook", 1).await;
}

#[tokio::test]
async fn the_index_of_a_public_chain_is_dropped_only_on_command() {
    let (chain, other) = (other_chain(1, 20), other_chain(2, 30));
    let node = FaultyNode::start(&chain, 1, Script::default()).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let tip = explorer.json("/health").await["tip"].clone();

    node.replace_chain(&other);
    let health = eventually("the halt", async || {
        let health = explorer.json("/health").await;
        (health["chainChanged"] == true).then_some(health)
    })
    .await;
    assert_eq!((&health["status"], &health["nodeReachable"]), (&json!("halted"), &json!(true)), "{health}");
    assert_eq!(health["tip"], tip);
    assert_eq!(explorer.json("/api/v1/blocks").await["total"], 21, "it is still served");
    assert!(explorer.get("/").await.text.contains("The node serves another chain than the indexed one"));
    let genesis = |chain: &DevChain| chain.block(0_u64).unwrap().summary().hash.to_string();
    for words in ["--on-new-chain reset", &genesis(&chain), &genesis(&other)] {
        explorer.wait_for_log(words).await;
    }
    let reported = explorer.log().matches("--on-new-chain reset").count();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(explorer.log().matches("--on-new-chain reset").count(), reported, "once: {}", explorer.log());

    // The right chain comes back.
    chain.mine(None);
    node.replace_chain(&chain);
    node.wait_for(&explorer).await;
    eventually("all is well", async || {
        let health = explorer.json("/health").await;
        (health["status"] == "ok" && health["chainChanged"] == false).then_some(())
    })
    .await;

    // Nor is it dropped for a node for development, by mistake.
    let (_, data) = explorer.stop().await;
    let dev = DevNode::with(DevChainConfig { chain_id: 1, seed: 3, ..DevChainConfig::default() }).await;
    let (status, message) = Launch::run(&dev.url()).on(&data).fails_to_start().await;
    assert!(status.code() == Some(1) && message.contains("--on-new-chain reset"), "{message}");

    node.replace_chain(&other);
    let reset = Launch::run(&node.url()).argument("--on-new-chain", "reset").on(&data).start().await;
    let head = other.head();
    reset.wait_for_tip(head.number, &head.hash.to_string()).await;
    let (_, data) = reset.stop().await;
    let explorer = TestExplorer::start_on(&node.url(), &data).await;
    explorer.wait_for_tip(head.number, &head.hash.to_string()).await;
}

#[tokio::test]
async fn one_of_several_nodes_that_serves_another_chain_resets_nothing() {
    let mut first = DevNode::start().await;
    first.chain.mine(None);
    let second = DevNode::serve(first.chain.clone()).await;
    let explorer = Launch::run(&first.url()).argument("--rpc", second.url()).start().await;
    first.wait_for(&explorer).await;
    let chain = first.chain.clone();
    first.restart_with(other_chain(31, 9)).await;
    chain.mine(None);
    second.wait_for(&explorer).await;
    let health: Value = explorer.json("/health").await;
    assert_eq!(health["chainChanged"], false, "{health}");
    assert!(!explorer.log().contains("the chain was reset"), "{}", explorer.log());
}
