use serde_json::{Value, json};

use crate::support::{
    Stage,
    stage::plain,
    walk::{field, walk_list},
};

#[tokio::test]
async fn a_block_has_the_documented_fields_and_no_others() {
    let stage = Stage::shared().await;
    let block = stage.node.chain.block(3).unwrap();
    let expected = json!({
        "number": 3,
        "hash": block.hash(),
        "timestamp": "2023-11-14T22:13:29.000Z",
        "miner": plain(block.header.beneficiary),
        "txCount": 4,
        "gasUsed": block.header.gas_used.to_string(),
        "gasLimit": "30000000",
        "parentHash": block.header.parent_hash,
        "baseFeePerGas": block.header.base_fee_per_gas.unwrap().to_string(),
        "size": block.size,
    });
    assert_eq!(stage.explorer.json("/api/v1/blocks/3").await, expected);
}

#[tokio::test]
async fn a_block_is_found_by_number_and_by_case_insensitive_hash() {
    let stage = Stage::shared().await;
    let by_number = stage.explorer.json("/api/v1/blocks/2").await;
    let hash = by_number["hash"].as_str().unwrap();
    let upper = format!("0x{}", hash[2..].to_uppercase());
    for id in [hash, &upper, "02"] {
        assert_eq!(stage.explorer.json(&format!("/api/v1/blocks/{id}")).await, by_number, "{id}");
    }
}

#[tokio::test]
async fn an_unknown_block_is_not_found() {
    let stage = Stage::shared().await;
    let no_hash = format!("0x{}", "0".repeat(64));
    for id in ["1000000", "18446744073709551616", &no_hash] {
        let answer = stage.explorer.get(&format!("/api/v1/blocks/{id}")).await;
        assert_eq!((answer.status, &answer.json["code"]), (404, &json!("block_not_found")), "{id}");
    }
}

#[tokio::test]
async fn blocks_are_listed_newest_first_down_to_the_first_one() {
    let stage = Stage::shared().await;
    let head = stage.node.chain.head().number;
    let listed = walk_list(stage.explorer.client(), "/api/v1/blocks?", "blocks").await;
    let expected: Vec<Value> = (0..=head).rev().map(Value::from).collect();
    assert_eq!(field(&listed, "number"), expected);
    let newest = stage.explorer.json("/api/v1/blocks?limit=3").await;
    assert_eq!(newest["blocks"], json!(listed[..3]));
}

#[tokio::test]
async fn an_unchanged_response_gets_304() {
    let stage = Stage::shared().await;
    let client = stage.explorer.client();
    let first = client.get("/api/v1/blocks/1").await;
    let tag = first.header("etag").to_owned();
    assert!(!tag.is_empty());
    let again = client.send(client.request("GET", "/api/v1/blocks/1").header("if-none-match", &tag)).await;
    assert_eq!((again.status, again.header("etag")), (304, tag.as_str()));
}
