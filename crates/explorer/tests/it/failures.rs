//! Why transactions failed, in the API and on their pages.

use alloy_primitives::{Address, B256, TxKind, U256, hex};
use devchain::{DevChain, DevChainConfig};
use serde_json::{Value, json};

use crate::{
    contracts::verifier_fixture::{Case, VerifierFixture},
    support::{Anvil, DevNode, TestExplorer},
};

/// Reverts with its call data.
const ECHO: [u8; 15] = hex!("66365f5f37365ffd5f5260076019f3");
/// Never ends.
const LOOP: &str = "625b5f565f526003601df3";
/// The first call succeeds, later ones revert.
const ONCE: [u8; 22] = hex!("6d5f54600a5760015f55005b5f5ffd5f52600e6012f3");

/// `Error("too late")`
fn text_error() -> String {
    format!("08c379a0{:064x}{:064x}{:0<64}", 32, 8, hex::encode("too late"))
}

/// Revert data, and the reason that is shown.
fn reasons() -> Vec<(String, &'static str)> {
    vec![
        (text_error(), "too late"),
        (format!("4e487b71{:064x}", 0x12), "panic 0x12: division by zero"),
        (
            format!("118cdaa7{:064x}", 0xaa),
            "OwnableUnauthorizedAccount(account: 0x00000000000000000000000000000000000000aa)",
        ),
        ("01020304".to_owned(), "with the data 0x01020304"),
    ]
}

/// A reason as pages say it.
fn on_page(reason: &str) -> String {
    let reverted = if reason.starts_with("with ") { "Reverted " } else { "" };
    format!("<bdi>{reverted}{reason}</bdi>")
}

fn deploy(chain: &DevChain, code: &[u8]) -> Address {
    let creation = chain.send(0, TxKind::Create, U256::ZERO, code.to_vec()).unwrap();
    chain.mine(None);
    chain.receipt(creation).unwrap().transaction().created.unwrap()
}

fn call(chain: &DevChain, from: usize, to: Address, data: &str) -> B256 {
    chain.draft(from).unwrap().to(to).data(hex::decode(data).unwrap()).gas_limit(200_000).submit().unwrap()
}

async fn transaction(explorer: &TestExplorer, hash: impl std::fmt::Display) -> Value {
    explorer.json(&format!("/api/v1/transactions/{hash}")).await
}

async fn page(explorer: &TestExplorer, hash: impl std::fmt::Display) -> String {
    explorer.get(&format!("/tx/{hash}")).await.text
}

#[tokio::test]
async fn without_traces_a_failed_transaction_has_the_reason_of_the_call_repeated_on_the_state_before_it() {
    let mut node = DevNode::with(DevChainConfig { traces: false, ..DevChainConfig::default() }).await;
    let echo = deploy(&node.chain, &ECHO);
    let sent: Vec<_> =
        reasons().into_iter().map(|(data, reason)| (call(&node.chain, 0, echo, &data), reason)).collect();
    let silent = call(&node.chain, 1, echo, "");
    node.chain.mine(None);
    let once = deploy(&node.chain, &ONCE);
    let [first, second] = [1, 2].map(|from| call(&node.chain, from, once, ""));
    node.chain.mine(None);
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;

    for (hash, reason) in &sent {
        let found = transaction(&explorer, hash).await;
        assert_eq!((&found["revertReason"], &found["errorSource"]), (&json!(reason), &json!("parentBlock")), "{found}");
        assert!(found["error"].as_str().unwrap().contains("revert"), "{found}");
        let page = page(&explorer, hash).await;
        assert!(page.contains(&on_page(reason)), "{page}");
        assert!(page.contains("when called again on the state before its block"), "{page}");
        assert!(page.contains("<p class=\"summary\">Failed to call "), "{page}");
    }
    let found = transaction(&explorer, silent).await;
    assert_eq!(found["revertReason"], Value::Null, "{found}");
    assert!(found["error"].as_str().unwrap().contains("revert"), "{found}");

    // It failed because of a transaction before it in the block, which the state before the block does not show.
    let found = transaction(&explorer, first).await;
    assert_eq!((&found["status"], &found["error"], &found["errorSource"]), (&json!(true), &Value::Null, &Value::Null));
    let found = transaction(&explorer, second).await;
    assert_eq!(
        (&found["status"], &found["error"], &found["revertReason"]),
        (&json!(false), &Value::Null, &Value::Null)
    );
    assert!(page(&explorer, second).await.contains("The node cannot tell why."));

    // Once found, a reason needs no node.
    node.stop_serving().await;
    let (_, data) = explorer.stop().await;
    let explorer = TestExplorer::start_on(&node.url(), data).await;
    let (hash, reason) = &sent[0];
    let found = transaction(&explorer, hash).await;
    assert_eq!((&found["revertReason"], &found["input"]), (&json!(reason), &Value::Null));
    assert!(page(&explorer, hash).await.contains(&on_page(reason)));
}

#[tokio::test]
async fn a_failure_that_depends_on_its_block_has_the_reason_of_its_trace() {
    let node = DevNode::start().await;
    let echo = deploy(&node.chain, &ECHO);
    let sent: Vec<_> =
        reasons().into_iter().map(|(data, reason)| (call(&node.chain, 0, echo, &data), reason)).collect();
    node.chain.mine(None);
    let once = deploy(&node.chain, &ONCE);
    let [_, second] = [1, 2].map(|from| call(&node.chain, from, once, ""));
    node.chain.mine(None);
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    for (hash, reason) in sent {
        let found = transaction(&explorer, hash).await;
        assert_eq!((&found["revertReason"], &found["errorSource"]), (&json!(reason), &json!("trace")), "{found}");
    }
    let found = transaction(&explorer, second).await;
    assert_eq!((&found["error"], &found["errorSource"]), (&json!("execution reverted"), &json!("trace")), "{found}");
}

#[tokio::test]
async fn a_failed_transaction_has_the_reason_of_its_trace() {
    let anvil = Anvil::start().await;
    let from = anvil.accounts().await.remove(0);
    let send = async |to: Option<&str>, data: &str| {
        let transaction = json!({ "from": from, "to": to, "data": format!("0x{data}"), "gas": "0x493e0" });
        anvil.send(transaction).await
    };
    let created = |receipt: &Value| receipt["contractAddress"].as_str().unwrap().to_owned();
    let echo = created(&send(None, &hex::encode(ECHO)).await);
    let endless = created(&send(None, LOOP).await);
    let mut sent = Vec::new();
    for (data, reason) in reasons() {
        sent.push((send(Some(&echo), &data).await, reason));
    }
    let out_of_gas = send(Some(&endless), "").await;
    let explorer = TestExplorer::start(anvil.url()).await;
    anvil.wait_for(&explorer).await;

    for (receipt, reason) in sent {
        let found = transaction(&explorer, receipt["transactionHash"].as_str().unwrap()).await;
        assert_eq!((&found["revertReason"], &found["errorSource"]), (&json!(reason), &json!("trace")), "{found}");
    }
    let found = transaction(&explorer, out_of_gas["transactionHash"].as_str().unwrap()).await;
    assert_eq!((&found["revertReason"], &found["errorSource"]), (&Value::Null, &json!("trace")), "{found}");
    let error = found["error"].as_str().unwrap().to_lowercase().replace(' ', "");
    assert!(error.contains("outofgas"), "{found}");
}

#[tokio::test]
async fn a_custom_error_has_the_words_of_the_verified_contract() {
    let fixture = VerifierFixture::start().await;
    let source = "// SPDX-License-Identifier: MIT\npragma solidity ^0.8.0;\ncontract Shop {\n    \
                  error TooLittle(uint256 given, uint256 needed);\n    \
                  function pay() external payable { revert TooLittle(msg.value, 5); }\n}\n";
    let case = Case {
        path: "Shop.sol",
        source: source.to_owned(),
        contract: "Shop",
        arguments: String::new(),
        ..Case::coin("0.8.20")
    };
    let shop = fixture.compile_and_deploy(&case).await;
    let pay = json!({ "from": fixture.from, "to": shop, "data": "0x1b9265b8", "value": "0x3", "gas": "0x30d40" });
    let receipt = fixture.anvil.send(pay).await;
    fixture.anvil.wait_for(&fixture.explorer).await;
    let hash = receipt["transactionHash"].as_str().unwrap();
    let before = transaction(&fixture.explorer, hash).await;
    assert!(before["revertReason"].as_str().unwrap().starts_with("with the data 0x"), "{before}");

    let verified = fixture.verify(&shop, case.version, source).await;
    assert_eq!(verified["success"], true, "{verified}");
    let expected = "TooLittle(given: 3, needed: 5)";
    assert_eq!(transaction(&fixture.explorer, hash).await["revertReason"], expected);
    assert!(page(&fixture.explorer, hash).await.contains(expected));
}
