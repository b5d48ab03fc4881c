//! The whole API against Hardhat and ganache, which differ from other nodes in details.

use serde_json::json;

use crate::support::{
    Launch, NpmNode, TestExplorer,
    api_state::text,
    expected_state,
    npm_node::NpmNodeKind::{self, Ganache, Hardhat},
    read_api,
};

/// Logs the word in its call data; reverts without input.
const LOGGER: &str = "0x601c600c600039601c6000f33660095760006000fd5b60003580600055600052602a60206000a100";
const UNUSED_ADDRESS: &str = "0x00000000000000000000000000000000deadbeef";
const ETHER: &str = "0xde0b6b3a7640000";

#[tokio::test]
async fn the_whole_api_agrees_with_hardhat_through_reorgs_and_restarts() {
    assert_agrees_through_reorgs_and_restarts(Hardhat).await;
}

#[tokio::test]
async fn the_whole_api_agrees_with_ganache_through_reorgs_and_restarts() {
    assert_agrees_through_reorgs_and_restarts(Ganache).await;
}

async fn assert_agrees_through_reorgs_and_restarts(kind: NpmNodeKind) {
    let node = NpmNode::start(kind).await;
    let explorer = TestExplorer::start(node.url()).await;
    every_kind_of_transaction(&node).await;
    assert_agree(&node, &explorer, "while it followed").await;

    // Pending transactions are in no block.
    let accounts = node.accounts().await;
    node.disable_automine().await;
    let pending = node.submit(json!({"from": accounts[3], "to": accounts[4], "value": "0x1"})).await;
    assert_eq!(explorer.get(&format!("/api/v1/transactions/{pending}")).await.status, 404);
    node.mine(1).await;
    node.enable_automine().await;
    assert_agree(&node, &explorer, "with what was pending").await;

    // A branch longer than the orphaned one.
    let snapshot = node.rpc.call("evm_snapshot", json!([])).await;
    let orphaned = node.send(json!({"from": accounts[5], "to": accounts[6], "value": "0x7"})).await;
    node.mine(2).await;
    assert_agree(&node, &explorer, "on the first branch").await;
    assert_eq!(node.rpc.call("evm_revert", json!([snapshot])).await, true);
    let snapshot = node.rpc.call("evm_snapshot", json!([])).await;
    for value in 1..=5 {
        node.send(json!({"from": accounts[6], "to": accounts[5], "value": format!("{value:#x}")})).await;
    }
    assert_agree(&node, &explorer, "on the second branch").await;
    let hash = text(&orphaned["transactionHash"]);
    assert_eq!(explorer.get(&format!("/api/v1/transactions/{hash}")).await.status, 404);

    // The chain before both branches.
    assert_eq!(node.rpc.call("evm_revert", json!([snapshot])).await, true);
    assert_agree(&node, &explorer, "on the shorter chain").await;

    // A restart, with blocks in between.
    let (ended, data) = explorer.stop().await;
    assert!(ended.status.success());
    node.send(json!({"from": accounts[7], "to": accounts[8], "value": "0x9"})).await;
    node.mine(3).await;
    let explorer = TestExplorer::start_on(node.url(), &data).await;
    assert_agree(&node, &explorer, "after the restart").await;

    // A new index, over websocket, with full block verification.
    let second = Launch::run(&node.ws_url()).argument("--verify-blocks", "full").start().await;
    node.wait_for(&second).await;
    node.send(json!({"from": accounts[8], "to": accounts[7], "value": "0x3"})).await;
    assert_agree(&node, &second, "over a socket").await;
    assert!(!second.log().contains("cannot fully verify"), "{}", second.log());
}

/// The index has the head of the node, no block was rejected, and the API agrees with the node.
async fn assert_agree(node: &NpmNode, explorer: &TestExplorer, when: &str) {
    node.wait_for(explorer).await;
    let health = explorer.json("/health").await;
    assert_eq!((&health["status"], &health["rejectedBlock"]), (&json!("ok"), &json!(null)), "{when}: {health}");
    let expected = expected_state(&node.rpc, 0, [UNUSED_ADDRESS]).await;
    let what = format!("{:?} {when}", node.kind);
    read_api(explorer, expected.address_names()).await.assert_equals(&expected, &what);
}

/// A small history with the transaction types that both nodes support, in blocks with none, one and several.
async fn every_kind_of_transaction(node: &NpmNode) {
    let accounts = node.accounts().await;
    let (alice, bob, carol) = (&accounts[0], &accounts[1], &accounts[2]);

    node.send(json!({"from": alice, "to": bob, "value": "0x1", "gasPrice": "0x77359400"})).await;
    let tuple = json!([{"address": carol, "storageKeys": [format!("0x{}", "00".repeat(32))]}]);
    let access =
        json!({"from": alice, "to": bob, "value": "0x2", "gasPrice": "0x77359400", "accessList": tuple, "type": "0x1"});
    assert_eq!(node.send(access).await["type"], "0x1");
    let priced = json!({"from": bob, "to": carol, "value": "0x5", "maxFeePerGas": "0x12a05f200", "maxPriorityFeePerGas": "0x3b9aca01"});
    assert_eq!(node.send(priced).await["type"], "0x2");
    node.send(json!({"from": carol, "to": carol, "value": "0x5"})).await;
    node.mine(3).await;

    let created = node.send(json!({"from": alice, "data": LOGGER, "gas": "0x186a0"})).await;
    let logger = text(&created["contractAddress"]).to_lowercase();
    let word = format!("0x{}", "ab".repeat(32));
    node.send(json!({"from": bob, "to": logger, "data": word, "gas": "0x186a0"})).await;
    let reverted = node.send(json!({"from": bob, "to": logger, "gas": "0x186a0"})).await;
    assert_eq!(reverted["status"], "0x0");
    node.send(json!({"from": bob, "to": logger, "data": word, "gas": "0x5800"})).await;
    let failed_creation = node.send(json!({"from": alice, "data": "0x60006000fd", "gas": "0x186a0"})).await;
    assert_eq!(failed_creation["status"], "0x0");

    // Several in one block, some with logs and one that fails.
    node.disable_automine().await;
    for (sender, receiver, data) in [
        (alice, bob, "0x"),
        (alice, &logger, word.as_str()),
        (bob, &logger, "0x"),
        (carol, &logger, word.as_str()),
        (alice, alice, "0xabcdef12"),
    ] {
        node.submit(json!({"from": sender, "to": receiver, "data": data, "gas": "0x186a0"})).await;
    }
    node.mine(2).await;
    node.enable_automine().await;

    // From an impersonated account.
    node.send(json!({"from": alice, "to": ACCOUNT_WITHOUT_KEY, "value": ETHER})).await;
    node.impersonate(ACCOUNT_WITHOUT_KEY).await;
    node.send(json!({"from": ACCOUNT_WITHOUT_KEY, "to": bob, "value": "0x1", "gasPrice": "0x77359400"})).await;
    node.send(json!({"from": ACCOUNT_WITHOUT_KEY, "to": bob, "value": "0x1", "maxFeePerGas": "0x12a05f200", "maxPriorityFeePerGas": "0x1"})).await;
    node.mine(1).await;
}

const ACCOUNT_WITHOUT_KEY: &str = "0x00000000000000000000000000000000000beef1";
