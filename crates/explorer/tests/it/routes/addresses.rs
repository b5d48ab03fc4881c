use alloy_primitives::{Address, keccak256};
use serde_json::{Value, json};

use crate::support::{
    Fixture, as_listed,
    fixture::{PAYMENTS, lower_hex},
};

async fn detail(fixture: &Fixture, address: Address) -> Value {
    fixture.explorer.json(&format!("/api/v1/addresses/{}", lower_hex(address))).await
}

#[tokio::test]
async fn an_account_has_the_documented_fields_and_no_others() {
    let fixture = Fixture::shared().await;
    let chain = &fixture.node.chain;
    let payment = as_listed(fixture.explorer.json(&format!("/api/v1/transactions/{}", fixture.payment)).await);
    let call = as_listed(fixture.explorer.json(&format!("/api/v1/transactions/{}", fixture.call)).await);
    let expected = json!({
        "address": lower_hex(fixture.bob),
        "balance": chain.balance(fixture.bob).to_string(),
        "txCount": 2,
        "isContract": false,
        "label": "Treasury of Bob",
        "firstSeen": "2023-11-14T22:13:23.000Z",
        "lastSeen": "2023-11-14T22:13:29.000Z",
        "recentTxs": [call, payment],
        "nonce": 1,
        "balanceBlock": chain.head().number,
        "contract": null,
        "token": null,
    });
    assert_eq!(detail(&fixture, fixture.bob).await, expected);
}

#[tokio::test]
async fn an_address_is_case_insensitive_and_returned_in_lower_case() {
    let fixture = Fixture::shared().await;
    let expected = detail(&fixture, fixture.bob).await;
    let upper = format!("0x{}", lower_hex(fixture.bob)[2..].to_uppercase());
    for written in [fixture.bob.to_string(), upper] {
        assert_eq!(fixture.explorer.json(&format!("/api/v1/addresses/{written}")).await, expected);
    }
}

#[tokio::test]
async fn a_contract_has_its_creator_and_code_hash() {
    let fixture = Fixture::shared().await;
    let logger = detail(&fixture, fixture.logger).await;
    assert_eq!(logger["isContract"], true);
    let expected = json!({
        "creator": lower_hex(fixture.alice),
        "creationTxHash": fixture.creation,
        "verified": false,
        "name": null,
        "twinOf": null,
        "codeHash": keccak256(fixture.node.chain.code(fixture.logger)),
    });
    assert_eq!(logger["contract"], expected);
    assert_eq!(logger["firstSeen"], "2023-11-14T22:13:26.000Z", "seen since its creation");
    assert_eq!(logger["txCount"], 2);
}

#[tokio::test]
async fn a_contract_without_calls_is_known_and_has_no_transactions() {
    let fixture = Fixture::shared().await;
    let idle = detail(&fixture, fixture.idle).await;
    assert_eq!((&idle["txCount"], &idle["recentTxs"]), (&json!(0), &json!([])));
    assert_eq!((&idle["isContract"], &idle["label"]), (&json!(true), &Value::Null));
}

#[tokio::test]
async fn an_account_with_a_delegation_is_not_a_contract() {
    let fixture = Fixture::shared().await;
    assert!(!fixture.node.chain.code(fixture.dave).is_empty(), "the delegation is in place");
    let dave = detail(&fixture, fixture.dave).await;
    assert_eq!((&dave["isContract"], &dave["contract"]), (&json!(false), &Value::Null));
}

#[tokio::test]
async fn the_recent_transactions_are_the_newest_25_and_the_count_is_the_total() {
    let fixture = Fixture::shared().await;
    for address in [fixture.erin, fixture.frank] {
        let detail = detail(&fixture, address).await;
        let list = fixture.explorer.json(&format!("/api/v1/transactions?address={}", lower_hex(address))).await;
        assert_eq!(detail["txCount"], PAYMENTS);
        assert_eq!(detail["txCount"], list["total"]);
        assert_eq!(detail["recentTxs"].as_array().unwrap().len(), 25);
        assert_eq!(detail["recentTxs"], list["transactions"]);
    }
}

#[tokio::test]
async fn a_block_producer_is_known() {
    let fixture = Fixture::shared().await;
    let miner = fixture.node.chain.block(1).unwrap().header.beneficiary;
    let detail = detail(&fixture, miner).await;
    assert_eq!(detail["balance"], fixture.node.chain.balance(miner).to_string());
    assert_eq!(detail["txCount"], 0);
}

#[tokio::test]
async fn an_unused_address_is_not_found() {
    let fixture = Fixture::shared().await;
    let answer = fixture.explorer.get(&format!("/api/v1/addresses/{}", lower_hex(Address::repeat_byte(0xfe)))).await;
    assert_eq!((answer.status, &answer.json["code"]), (404, &json!("address_not_found")));
    assert_eq!(answer.header("content-type"), "application/problem+json");
}
