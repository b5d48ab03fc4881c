//! Accounts that let the code of others run in their place (EIP-7702), and names of transaction types.

use serde_json::{Value, json};

use super::{ALICE, BOB, on_both_stores, payment};
use crate::support::{DevNode, Draft, ReplayNode, TestExplorer, fixture::lower_hex};

#[tokio::test]
async fn an_authorization_has_its_signer_and_the_page_says_what_was_asked_for() {
    let node = DevNode::start().await;
    let (signer, delegate) = (lower_hex(node.account(1)), "0x00000000000000000000000000000000000000d1");
    let authorization = node.chain.authorize(1, delegate.parse().unwrap()).unwrap();
    let draft = node.chain.draft(0).unwrap().to(alloy_primitives::Address::ZERO);
    let hash = draft.tx_type(devchain::TransactionType::SetCode(vec![authorization])).submit().unwrap();
    node.chain.mine(None);
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let tx = explorer.json(&format!("/api/v1/transactions/{hash}")).await;
    let given = &tx["authorizations"][0];
    assert_eq!((&given["signer"], &given["delegate"]), (&json!(signer), &json!(delegate)), "{tx}");
    assert_eq!((&tx["authorizationListLength"], &given["nonce"]), (&json!(1), &json!("0")), "{tx}");
    let page = explorer.get(&format!("/tx/{hash}")).await.text.to_lowercase();
    assert!(page.contains("asked that") && page.contains("delegates to"), "{page}");
    assert!(page.contains(&format!("/address/{signer}")) && page.contains(&format!("/address/{delegate}")), "{page}");
    assert!(!page.contains("sent <span"), "{page}");
    let chain = given["chainId"].as_str().unwrap();
    assert!(page.contains(&format!("<td data-label=\"chain\">{chain}</td>")), "{page}");
}

#[tokio::test]
async fn an_authorization_without_a_valid_signature_has_no_signer() {
    let list = json!([{
        "chainId": "0x1", "address": BOB, "nonce": "0x5", "yParity": "0x0", "r": "0x0", "s": "0x0",
    }]);
    let sent = payment(0, json!({"type": "0x4", "authorizationList": list, "value": "0x0"}), json!({}));
    let header = json!({ "baseFeePerGas": "0x7" });
    let node = ReplayNode::start(1, &[Draft { header, transactions: vec![sent], ..Draft::default() }]).await;
    on_both_stores(&node, async |explorer| {
        let tx = explorer.json(&format!("/api/v1/transactions/{}", node.hash(1, 0))).await;
        let expected = json!([{ "chainId": "1", "delegate": BOB, "nonce": "5", "signer": null }]);
        assert_eq!(tx["authorizations"], expected, "{tx}");
        let page = explorer.get(&format!("/tx/{}", node.hash(1, 0))).await.text;
        assert!(page.contains("no valid signature"), "{page}");
    })
    .await;
}

/// What the page says in one line, in lower case.
async fn summary(explorer: &TestExplorer, hash: &str) -> String {
    let page = explorer.get(&format!("/tx/{hash}")).await.text.to_lowercase();
    page.split("<p class=\"summary\">").nth(1).and_then(|rest| rest.split("</p>").next()).unwrap().to_owned()
}

#[tokio::test]
async fn the_end_of_a_delegation_another_chain_and_a_call_beside_it_are_told() {
    let given = |chain: &str, delegate: &str| json!({"chainId": chain, "address": delegate, "nonce": "0x5", "yParity": "0x0", "r": "0x0", "s": "0x0"});
    let ending = json!([given("0x0", &format!("0x{}", "0".repeat(40))), given("0x2", BOB)]);
    let sent = |nonce: u64, mut fields: Value, status: &str| {
        fields["type"] = json!("0x4");
        payment(nonce, fields, json!({ "status": status }))
    };
    let call = json!({"authorizationList": [given("0x1", BOB)], "input": "0x12345678", "value": "0x0"});
    let transactions = vec![
        sent(0, json!({"authorizationList": ending, "value": "0x0"}), "0x1"),
        sent(1, call.clone(), "0x1"),
        sent(2, call, "0x0"),
    ];
    let header = json!({ "baseFeePerGas": "0x7" });
    let node = ReplayNode::start(1, &[Draft { header, transactions, ..Draft::default() }]).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let line = summary(&explorer, &node.hash(1, 0)).await;
    let ended = "asked without a valid signature that an account delegates to nobody any more, and one more account";
    assert_eq!(line, ended);
    let page = explorer.get(&format!("/tx/{}", node.hash(1, 0))).await.text;
    assert!(page.contains("every chain") && page.contains("not this one: no effect"), "{page}");
    for (index, start) in [(1, "called 0x12345678 on "), (2, "failed to call 0x12345678 on ")] {
        let line = summary(&explorer, &node.hash(1, index)).await;
        assert!(line.starts_with(start) && line.contains(", and asked without a valid signature"), "{line}");
    }
}

#[tokio::test]
async fn a_type_has_its_name_and_an_unknown_one_its_number() {
    let of_type = |nonce: u64, tx_type: &str| {
        let hash = alloy_primitives::B256::repeat_byte(u8::try_from(nonce).unwrap() + 1);
        payment(nonce, json!({"type": tx_type, "hash": hash, "gasPrice": "0x9"}), json!({}))
    };
    let types = [("0x6a", "type 106 (internal)"), ("0x7e", "type 126 (deposit)"), ("0x55", "type 85 (unknown)")];
    let transactions = (0..).zip(types).map(|(nonce, (tx_type, _))| of_type(nonce, tx_type)).collect();
    let header = json!({ "baseFeePerGas": "0x7" });
    let node = ReplayNode::start(42_161, &[Draft { header, transactions, ..Draft::default() }]).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    for (index, (number, name)) in types.into_iter().enumerate() {
        let page = explorer.get(&format!("/tx/{}", node.hash(1, index))).await.text;
        assert!(page.contains(name), "{number}: {page}");
    }
    let list: Value = explorer.json(&format!("/api/v1/transactions?address={ALICE}")).await;
    assert_eq!(list["total"], 3);
}
