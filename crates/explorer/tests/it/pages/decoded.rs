//! Calls and logs decoded with the ABI of verified contracts.

use alloy_primitives::{Address, TxKind, U256};
use serde_json::json;

use super::PRIVATE_KEY;
use crate::{
    contracts::verifier_fixture::{VerifierFixture, as_word, calldata, code_of, compile, input, word},
    support::{DevNode, Stopwatch, TestExplorer, permits, wallet_clients::run_client},
};

const PATH: &str = "Ledger.sol";
const SOURCE: &str = "pragma solidity ^0.8.20;
contract Ledger {
    event Noted(address indexed who, string indexed tag, uint256[] marks);
    function note(address who, uint256[] calldata marks) external { emit Noted(who, 'first', marks); }
    function deep(uint256[][][] calldata) external {}
}
";
/// An arbitrary account.
const WHO: &str = "0x00000000000000000000000000000000000a11ce";

/// Nested arrays that share their data: 90,000 values in 600 words.
fn bomb() -> Vec<String> {
    let width = 300;
    let array = || std::iter::once(width).chain(std::iter::repeat_n(32 * width, 300));
    std::iter::once(32).chain(array()).chain(array()).chain([0]).map(word).collect()
}

#[tokio::test]
async fn calls_and_logs_are_decoded_for_a_contract_its_twin_and_its_proxy() {
    let fixture = VerifierFixture::start().await;
    let settings = json!({ "optimizer": { "enabled": true, "runs": 200 } });
    let output = compile("0.8.20", vec![input(PATH, SOURCE, &settings)]).await.remove(0);
    let code = code_of(&output, PATH, "Ledger");
    let (ledger, twin) = (fixture.deploy(&code).await, fixture.deploy(&code).await);
    let minimal = format!("363d3d373d3d3d363d73{}5af43d82803e903d91602b57fd5bf3", &ledger[2..]);
    let proxy = fixture.deploy(&format!("3d602d80600a3d3981f3{minimal}")).await;

    let note = calldata("note(address,uint256[])", &[as_word(WHO), word(64), word(2), word(70_001), word(70_002)]);
    let mut calls = Vec::new();
    for contract in [&ledger, &twin, &proxy] {
        calls.push(fixture.send(contract, &note).await);
    }
    let unknown = fixture.page(&format!("/tx/{}", calls[0])).await;
    assert!(!unknown.contains("note(address,uint256[])") && unknown.contains(&note), "only the raw input is known");

    assert_eq!(fixture.verify(&ledger, "0.8.20+commit.a1b79de6", SOURCE).await["contractName"], "Ledger");
    let list = fixture.page("/transactions").await;
    assert!(list.contains("<bdi>Ledger</bdi>") && list.contains("aria-label=\"Contract, source verified\""), "{list}");
    let found = fixture.page("/search/suggest?q=EDGE").await;
    assert!(found.contains("\"kind\":\"Contract, source verified\",\"title\":\"Ledger\""), "{found}");
    let who = WHO.parse::<Address>().unwrap().to_checksum(None);
    for (contract, call) in [&ledger, &twin, &proxy].into_iter().zip(&calls) {
        let page = fixture.page(&format!("/tx/{call}")).await;
        for expected_text in [
            "<span class=\"method\">note</span>",
            "note(address,uint256[])",
            "Noted(address,string,uint256[])",
            "<bdi>who</bdi>",
            "<bdi>marks</bdi>",
            "70001",
            "indexed, hash only",
            &who,
            &note,
        ] {
            assert!(page.contains(expected_text), "{expected_text} is missing for {contract}:\n{page}");
        }
    }
    // A proxy has the functions of its implementation, in lists too.
    let list = fixture.page("/transactions").await;
    assert_eq!(list.matches("<span class=\"method\" title=\"note\">note</span>").count(), 3);

    let deep = calldata("deep(uint256[][][])", &bomb());
    let hostile = fixture.send(&ledger, &deep).await;
    let watch = Stopwatch::start();
    let page = fixture.page(&format!("/tx/{hostile}")).await;
    watch.assert_within(2);
    assert!(page.contains(&deep[..500]) && page.contains(&format!("/tx/{hostile}/input")), "the raw input is there");
    assert_eq!(fixture.page(&format!("/tx/{hostile}/input")).await, deep, "and all of it");
}

#[tokio::test]
async fn a_contract_is_verified_and_called_in_a_real_browser() {
    let fixture = VerifierFixture::with_request_limit(10).await;
    let passed =
        run_client("verify.mjs", &[fixture.explorer.client().url("").as_str(), fixture.anvil.url(), PRIVATE_KEY]).await;
    assert!(passed.as_array().is_some_and(|scenarios| scenarios.len() >= 13), "{passed}");
}

#[tokio::test]
async fn a_transaction_is_shown_without_input_and_logs_while_the_node_is_down() {
    permits::timely().await;
    let mut node = DevNode::start().await;
    let payment = node.chain.send(0, TxKind::Call(node.account(1)), U256::from(5), []).unwrap();
    node.chain.mine(None);
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    node.stop_serving().await;
    let watch = Stopwatch::start();
    let answer = explorer.client().get(&format!("/tx/{payment}")).await;
    assert_eq!(answer.status, 200);
    assert!(answer.text.contains("there is no answer from the node"), "{}", answer.text);
    assert_eq!(explorer.client().get(&format!("/tx/{payment}/input")).await.status, 503);
    watch.assert_within(8);
}
