use alloy_primitives::{Address, B256};
use devchain::DevChainConfig;
use serde_json::{Value, json};

use crate::support::{
    Anvil, DevNode, Fixture, TestExplorer,
    anvil_history::every_kind_of_transaction,
    eventually,
    fixture::{PAYMENTS, lower_hex},
    read_api::{as_listed, field, read_list},
};

async fn find(fixture: &Fixture, hash: B256) -> Value {
    fixture.explorer.json(&format!("/api/v1/transactions/{hash}")).await
}

async fn list_of(fixture: &Fixture, address: &str) -> Vec<Value> {
    read_list(fixture.explorer.client(), &format!("/api/v1/transactions?address={address}&"), "transactions").await
}

#[tokio::test]
async fn a_payment_has_the_documented_fields_and_no_others() {
    let fixture = Fixture::shared().await;
    let inclusion = fixture.node.chain.receipt(fixture.payment).unwrap();
    let expected = json!({
        "hash": fixture.payment,
        "blockNumber": 1,
        "fromAddress": lower_hex(fixture.alice),
        "toAddress": lower_hex(fixture.bob),
        "value": "1000000000000000000",
        "gasPrice": inclusion.transaction().effective_gas_price.to_string(),
        "gasUsed": "21000",
        "fee": (inclusion.transaction().effective_gas_price * 21_000).to_string(),
        "status": true,
        "statusKnown": true,
        "timestamp": "2023-11-14T22:13:23.000Z",
        "blockHash": inclusion.block.hash(),
        "index": 0,
        "nonce": 0,
        "method": null,
        "contractAddress": null,
    });
    assert_eq!(as_listed(find(&fixture, fixture.payment).await), expected);
}

#[tokio::test]
async fn call_data_fees_and_logs_are_those_of_the_node() {
    let anvil = Anvil::start().await;
    every_kind_of_transaction(&anvil).await;
    let explorer = TestExplorer::start(anvil.url()).await;
    anvil.wait_for(&explorer).await;
    let number = |value: &Value| match value.as_str() {
        Some(text) => json!(text.parse::<alloy_primitives::U256>().unwrap().to_string()),
        None => Value::Null,
    };
    let length = |value: &Value| value.as_array().map_or(Value::Null, |list| json!(list.len()));
    let mut forms = std::collections::BTreeSet::new();
    for listed in read_list(explorer.client(), "/api/v1/transactions?", "transactions").await {
        let hash = &listed["hash"];
        let shown = explorer.json(&format!("/api/v1/transactions/{}", hash.as_str().unwrap())).await;
        let tx = anvil.rpc.call("eth_getTransactionByHash", json!([hash])).await;
        let receipt = anvil.rpc.call("eth_getTransactionReceipt", json!([hash])).await;
        let block = anvil.rpc.call("eth_getBlockByHash", json!([tx["blockHash"], false])).await;
        let quantity = |value: &Value| value.as_str().unwrap().parse::<alloy_primitives::U256>().unwrap();
        forms.insert(shown["type"].as_u64());
        assert_eq!(shown["type"].to_string(), number(&tx["type"]).as_str().unwrap(), "{shown}");
        for (ours, node) in [
            ("gasLimit", &tx["gas"]),
            ("maxFeePerGas", &tx["maxFeePerGas"]),
            ("maxPriorityFeePerGas", &tx["maxPriorityFeePerGas"]),
            ("cumulativeGasUsed", &receipt["cumulativeGasUsed"]),
            ("maxFeePerBlobGas", &tx["maxFeePerBlobGas"]),
            ("blobGasUsed", &receipt["blobGasUsed"]),
        ] {
            assert_eq!(shown[ours], number(node), "{ours} of {shown}");
        }
        assert_eq!((&shown["input"], &shown["accessListLength"]), (&tx["input"], &length(&tx["accessList"])));
        assert_eq!(shown["blobVersionedHashes"], tx["blobVersionedHashes"]);
        assert_eq!(shown["authorizationListLength"], length(&tx["authorizationList"]));
        // Blobs are paid for by a fee of their own, which is burnt whole.
        let blobs = match &receipt["blobGasUsed"] {
            Value::Null => alloy_primitives::U256::ZERO,
            gas => quantity(gas) * quantity(&receipt["blobGasPrice"]),
        };
        let burnt = quantity(&block["baseFeePerGas"]) * quantity(&receipt["gasUsed"]) + blobs;
        assert_eq!(shown["burntFee"], burnt.to_string());
        let logs = receipt["logs"].as_array().unwrap();
        assert_eq!((&shown["logCount"], length(&shown["logs"])), (&json!(logs.len()), json!(logs.len())));
        for (shown, log) in shown["logs"].as_array().unwrap().iter().zip(logs) {
            assert_eq!(shown["address"], log["address"].as_str().unwrap().to_lowercase());
            assert_eq!((&shown["topics"], &shown["data"]), (&log["topics"], &log["data"]));
        }
    }
    assert!(forms.len() >= 5, "{forms:?}");
}

#[tokio::test]
async fn a_creation_has_an_empty_receiver_and_a_contract_address() {
    let fixture = Fixture::shared().await;
    let creation = find(&fixture, fixture.creation).await;
    assert_eq!(creation["toAddress"], "");
    assert_eq!(creation["contractAddress"], lower_hex(fixture.logger));
    assert_eq!(creation["method"], Value::Null);
}

#[tokio::test]
async fn a_call_has_a_method() {
    let fixture = Fixture::shared().await;
    let call = find(&fixture, fixture.call).await;
    assert_eq!((&call["method"], &call["status"]), (&json!("0xa9a9a9a9"), &json!(true)));
    assert_eq!(call["toAddress"], lower_hex(fixture.logger));
}

#[tokio::test]
async fn a_failed_transaction_has_status_false_and_no_contract_address() {
    let fixture = Fixture::shared().await;
    assert_eq!(find(&fixture, fixture.failed_call).await["status"], false);
    let creation = find(&fixture, fixture.failed_creation).await;
    assert_eq!(creation["status"], false);
    assert_eq!((&creation["toAddress"], &creation["contractAddress"]), (&json!(""), &Value::Null));
}

#[tokio::test]
async fn a_transaction_hash_is_case_insensitive_and_an_unknown_one_is_not_found() {
    let fixture = Fixture::shared().await;
    let upper = format!("0x{}", fixture.payment.to_string()[2..].to_uppercase());
    let found = fixture.explorer.json(&format!("/api/v1/transactions/{upper}")).await;
    assert_eq!(found["hash"], fixture.payment.to_string());
    let answer = fixture.explorer.get(&format!("/api/v1/transactions/{}", B256::ZERO)).await;
    assert_eq!((answer.status, &answer.json["code"]), (404, &json!("transaction_not_found")));
}

#[tokio::test]
async fn transactions_are_listed_newest_first_and_within_a_block_by_index() {
    let fixture = Fixture::shared().await;
    let listed = read_list(fixture.explorer.client(), "/api/v1/transactions?", "transactions").await;
    let places: Vec<(u64, u64)> =
        listed.iter().map(|tx| (tx["blockNumber"].as_u64().unwrap(), tx["index"].as_u64().unwrap())).collect();
    assert!(places.windows(2).all(|pair| pair[0] > pair[1]), "{places:?}");
    assert_eq!(fixture.explorer.json("/api/v1/stats").await["totalTransactions"], listed.len());
}

#[tokio::test]
async fn the_address_filter_is_case_insensitive() {
    let fixture = Fixture::shared().await;
    let lower = lower_hex(fixture.frank);
    let expected = list_of(&fixture, &lower).await;
    assert_eq!(expected.len(), usize::try_from(PAYMENTS).unwrap());
    let upper = format!("0x{}", lower[2..].to_uppercase());
    for written in [fixture.frank.to_string(), upper] {
        assert_eq!(list_of(&fixture, &written).await, expected, "{written}");
    }
}

#[tokio::test]
async fn the_address_filter_matches_only_senders_and_receivers() {
    let fixture = Fixture::shared().await;
    let sent = list_of(&fixture, &lower_hex(fixture.erin)).await;
    assert_eq!(sent, list_of(&fixture, &lower_hex(fixture.frank)).await, "the same payments, from one to the other");
    assert!(field(&sent, "fromAddress").iter().all(|from| *from == lower_hex(fixture.erin)));

    let calls = list_of(&fixture, &lower_hex(fixture.logger)).await;
    let expected: Vec<Value> = [fixture.failed_call, fixture.call].map(|hash| json!(hash)).into();
    assert_eq!(field(&calls, "hash"), expected, "its creation is not to it");
    assert!(list_of(&fixture, &lower_hex(fixture.idle)).await.is_empty());
    assert!(list_of(&fixture, &lower_hex(Address::repeat_byte(0xfe))).await.is_empty(), "an unknown address has none");
}

#[tokio::test]
async fn a_payment_to_the_sender_counts_once() {
    let fixture = Fixture::shared().await;
    let listed = list_of(&fixture, &lower_hex(fixture.carol)).await;
    assert_eq!(field(&listed, "hash"), [json!(fixture.self_payment)]);
    let detail = fixture.explorer.json(&format!("/api/v1/addresses/{}", lower_hex(fixture.carol))).await;
    assert_eq!(detail["txCount"], 1);
}

#[tokio::test]
async fn a_transaction_is_shown_as_before_when_the_dev_chain_has_archived_its_block() {
    let config = DevChainConfig { history: 128, ..DevChainConfig::default() };
    let (node, _) = DevNode::with_traffic_on(config, 60).await;
    let explorer = TestExplorer::start(&node.url()).await;
    let last = node.chain.head().number;
    eventually("traces of all blocks", async || {
        let stats = explorer.json("/api/v1/stats").await;
        (stats["internalTransactionsTo"] == last).then_some(())
    })
    .await;
    let listed = read_list(explorer.client(), "/api/v1/transactions?", "transactions").await;
    let show = async |transaction: &Value| {
        explorer.json(&format!("/api/v1/transactions/{}", transaction["hash"].as_str().unwrap())).await
    };
    let mut before = Vec::new();
    for transaction in &listed {
        before.push(show(transaction).await);
    }
    assert!(before.iter().any(|shown| shown["logCount"] != 0) && before.iter().any(|shown| shown["input"] != "0x"));
    for _ in 0..130 {
        node.chain.mine(None);
    }
    node.wait_for(&explorer).await;
    let state = ("eth_getBalance", json!([Address::ZERO, format!("{last:#x}")]));
    assert!(node.rpc.answers(&[state]).await[0].is_err(), "the block and its state are not in memory");
    for (transaction, before) in listed.iter().zip(before) {
        assert_eq!(show(transaction).await, before);
    }
}
