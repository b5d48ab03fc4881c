use alloy_primitives::{Address, keccak256};
use serde_json::{Value, json};

use crate::support::{
    Stage,
    stage::{PAYMENTS, plain},
};

async fn detail(stage: &Stage, address: Address) -> Value {
    stage.explorer.json(&format!("/api/v1/addresses/{}", plain(address))).await
}

#[tokio::test]
async fn an_account_has_the_documented_fields_and_no_others() {
    let stage = Stage::shared().await;
    let chain = &stage.node.chain;
    let payment = stage.explorer.json(&format!("/api/v1/transactions/{}", stage.payment)).await;
    let call = stage.explorer.json(&format!("/api/v1/transactions/{}", stage.call)).await;
    let expected = json!({
        "address": plain(stage.bob),
        "balance": chain.balance(stage.bob).to_string(),
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
    assert_eq!(detail(&stage, stage.bob).await, expected);
}

#[tokio::test]
async fn an_address_is_case_insensitive_and_returned_in_lower_case() {
    let stage = Stage::shared().await;
    let expected = detail(&stage, stage.bob).await;
    let upper = format!("0x{}", plain(stage.bob)[2..].to_uppercase());
    for written in [stage.bob.to_string(), upper] {
        assert_eq!(stage.explorer.json(&format!("/api/v1/addresses/{written}")).await, expected);
    }
}

#[tokio::test]
async fn a_contract_has_its_creator_and_code_hash() {
    let stage = Stage::shared().await;
    let keeper = detail(&stage, stage.keeper).await;
    assert_eq!(keeper["isContract"], true);
    let expected = json!({
        "creator": plain(stage.alice),
        "creationTxHash": stage.creation,
        "verified": false,
        "name": null,
        "twinOf": null,
        "codeHash": keccak256(stage.node.chain.code(stage.keeper)),
    });
    assert_eq!(keeper["contract"], expected);
    assert_eq!(keeper["firstSeen"], "2023-11-14T22:13:26.000Z", "seen since its creation");
    assert_eq!(keeper["txCount"], 2);
}

#[tokio::test]
async fn a_contract_without_calls_is_known_and_has_no_transactions() {
    let stage = Stage::shared().await;
    let idle = detail(&stage, stage.idle).await;
    assert_eq!((&idle["txCount"], &idle["recentTxs"]), (&json!(0), &json!([])));
    assert_eq!((&idle["isContract"], &idle["label"]), (&json!(true), &Value::Null));
}

#[tokio::test]
async fn an_account_with_a_delegation_is_not_a_contract() {
    let stage = Stage::shared().await;
    assert!(!stage.node.chain.code(stage.dave).is_empty(), "the delegation is in place");
    let dave = detail(&stage, stage.dave).await;
    assert_eq!((&dave["isContract"], &dave["contract"]), (&json!(false), &Value::Null));
}

#[tokio::test]
async fn the_recent_transactions_are_the_newest_25_and_the_count_is_the_total() {
    let stage = Stage::shared().await;
    for address in [stage.erin, stage.frank] {
        let detail = detail(&stage, address).await;
        let list = stage.explorer.json(&format!("/api/v1/transactions?address={}", plain(address))).await;
        assert_eq!(detail["txCount"], PAYMENTS);
        assert_eq!(detail["txCount"], list["total"]);
        assert_eq!(detail["recentTxs"].as_array().unwrap().len(), 25);
        assert_eq!(detail["recentTxs"], list["transactions"]);
    }
}

#[tokio::test]
async fn a_block_producer_is_known() {
    let stage = Stage::shared().await;
    let miner = stage.node.chain.block(1).unwrap().header.beneficiary;
    let detail = detail(&stage, miner).await;
    assert_eq!(detail["balance"], stage.node.chain.balance(miner).to_string());
    assert_eq!(detail["txCount"], 0);
}

#[tokio::test]
async fn an_unused_address_is_not_found() {
    let stage = Stage::shared().await;
    let answer = stage.explorer.get(&format!("/api/v1/addresses/{}", plain(Address::repeat_byte(0xfe)))).await;
    assert_eq!((answer.status, &answer.json["code"]), (404, &json!("address_not_found")));
    assert_eq!(answer.header("content-type"), "application/problem+json");
}
