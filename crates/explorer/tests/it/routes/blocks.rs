use serde_json::{Value, json};

use crate::support::{
    Fixture,
    fixture::lower_hex,
    read_api::{field, read_list},
};

#[tokio::test]
async fn a_block_has_the_documented_fields_and_no_others() {
    let fixture = Fixture::shared().await;
    let block = fixture.node.chain.block(3).unwrap();
    let expected = json!({
        "number": 3,
        "hash": block.hash(),
        "timestamp": "2023-11-14T22:13:29.000Z",
        "miner": lower_hex(block.header.beneficiary),
        "txCount": 4,
        "gasUsed": block.header.gas_used.to_string(),
        "gasLimit": "30000000",
        "parentHash": block.header.parent_hash,
        "baseFeePerGas": block.header.base_fee_per_gas.unwrap().to_string(),
        "size": block.size,
    });
    assert_eq!(fixture.explorer.json("/api/v1/blocks/3").await, expected);
}

#[tokio::test]
async fn a_block_is_found_by_number_and_by_case_insensitive_hash() {
    let fixture = Fixture::shared().await;
    let by_number = fixture.explorer.json("/api/v1/blocks/2").await;
    let hash = by_number["hash"].as_str().unwrap();
    let upper = format!("0x{}", hash[2..].to_uppercase());
    for id in [hash, &upper, "02"] {
        assert_eq!(fixture.explorer.json(&format!("/api/v1/blocks/{id}")).await, by_number, "{id}");
    }
}

#[tokio::test]
async fn an_unknown_block_is_not_found() {
    let fixture = Fixture::shared().await;
    let no_hash = format!("0x{}", "0".repeat(64));
    for id in ["1000000", "18446744073709551616", &no_hash] {
        let answer = fixture.explorer.get(&format!("/api/v1/blocks/{id}")).await;
        assert_eq!((answer.status, &answer.json["code"]), (404, &json!("block_not_found")), "{id}");
    }
}

#[tokio::test]
async fn blocks_are_listed_newest_first_down_to_the_first_one() {
    let fixture = Fixture::shared().await;
    let head = fixture.node.chain.head().number;
    let listed = read_list(fixture.explorer.client(), "/api/v1/blocks?", "blocks").await;
    let expected: Vec<Value> = (0..=head).rev().map(Value::from).collect();
    assert_eq!(field(&listed, "number"), expected);
    let newest = fixture.explorer.json("/api/v1/blocks?limit=3").await;
    assert_eq!(newest["blocks"], json!(listed[..3]));
}

#[tokio::test]
async fn an_unchanged_response_gets_304() {
    let fixture = Fixture::shared().await;
    let client = fixture.explorer.client();
    let first = client.get("/api/v1/blocks/1").await;
    let tag = first.header("etag").to_owned();
    assert!(!tag.is_empty());
    let again = client.send(client.request("GET", "/api/v1/blocks/1").header("if-none-match", &tag)).await;
    assert_eq!((again.status, again.header("etag")), (304, tag.as_str()));
}
