//! Events of a chain, verified with third-party libraries.

use std::{collections::BTreeSet, io::Write};

use alloy_primitives::{Address, TxKind, U256, keccak256};
use serde_json::{Value, json};

use super::{Hook, launch, register};
use crate::support::{
    Anvil, DevNode, Stopwatch, eventually,
    fixture::lower_hex,
    permits,
    receiver::{Received, Receiver},
    wallet_clients::run_client,
};

/// Two libraries verify the messages, and reject them with one letter changed.
async fn assert_libraries_verify(messages: &[(&Hook, &Received)]) {
    assert!(!messages.is_empty());
    let list: Vec<Value> = messages
        .iter()
        .map(|(hook, message)| json!({ "secret": hook.secret, "body": message.body, "headers": message.headers }))
        .collect();
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(json!(list).to_string().as_bytes()).unwrap();
    let verdicts = run_client("verify_webhook.mjs", &[file.path().to_str().unwrap()]).await;
    let right = json!({ "octokit": true, "standard": true, "octokitForged": false, "standardForged": false });
    let verdicts = verdicts.as_array().unwrap();
    assert_eq!(verdicts.len(), messages.len());
    for (verdict, (_, message)) in verdicts.iter().zip(messages) {
        assert_eq!(verdict, &right, "{message:?}");
    }
}

#[tokio::test]
async fn a_payment_sends_one_event_to_each_side_with_all_documented_fields() {
    // Before the messages, which libraries accept for five minutes.
    permits::busy().await;
    let node = DevNode::start().await;
    let explorer = launch(&node.url()).start().await;
    node.wait_for(&explorer).await;
    let receiver = Receiver::start().await;
    let (alice, bob, carol) = (node.account(0), node.account(1), node.account(2));
    let hook = register(&explorer, &receiver.url("/bob"), &lower_hex(bob), &["tx"]).await;
    register(&explorer, &receiver.url("/alice"), &lower_hex(alice), &["tx"]).await;
    register(&explorer, &receiver.url("/carol"), &lower_hex(carol), &["tx", "token_transfer"]).await;

    let hash = node.chain.send(0, TxKind::Call(bob), U256::from(1_000_000_000_000_000_000_u64), []).unwrap();
    let block = node.chain.mine(None);
    let messages = receiver.wait_for("/bob", 1).await;
    let message = &messages[0];
    receiver.wait_for("/alice", 1).await;
    let delivered = message.json();
    assert_eq!(delivered["event"], "tx");
    assert_eq!(
        delivered["data"],
        json!({
            "hash": hash.to_string(),
            "from": lower_hex(alice),
            "to": lower_hex(bob),
            "value": "1000000000000000000",
            "blockNumber": block.number,
            "blockHash": block.hash.to_string(),
        })
    );
    let shown = explorer.json(&format!("/api/v1/transactions/{hash}")).await;
    assert_eq!(delivered["timestamp"], shown["timestamp"]);
    assert_eq!(message.header("content-type"), "application/json");
    assert_eq!(message.header("user-agent"), "Explorer-Webhook/1.0");
    assert_eq!(message.header("x-explorer-event"), "tx");
    assert_eq!(message.header("x-explorer-attempt"), "1");
    assert_eq!(message.header("webhook-id"), message.id());
    assert_libraries_verify(&[(&hook, message)]).await;

    receiver.expect_silence(&explorer, "/bob", 1).await;
    receiver.expect_silence(&explorer, "/carol", 0).await;
    let listed = hook.listed(&explorer, &lower_hex(bob)).await;
    assert_eq!((&listed["failCount"], listed["lastTriggeredAt"].is_string()), (&json!(0), true));
    // A payment to the sender is one event; a payment before the registration sends none.
    node.chain.send(2, TxKind::Call(carol), U256::from(5), []).unwrap();
    node.chain.mine(None);
    receiver.wait_for("/carol", 1).await;
    node.wait_for(&explorer).await;
    register(&explorer, &receiver.url("/late"), &lower_hex(carol), &["tx"]).await;
    node.chain.send(0, TxKind::Create, U256::ZERO, [0]).unwrap();
    node.chain.mine(None);
    let creation = receiver.wait_for("/alice", 2).await;
    assert_eq!(creation[1].json()["data"]["to"], "");
    receiver.expect_silence(&explorer, "/carol", 1).await;
    receiver.expect_silence(&explorer, "/late", 0).await;
}

#[tokio::test]
async fn every_transfer_of_every_kind_of_token_sends_an_event_and_nothing_else_does() {
    // Before the messages, which libraries accept for five minutes.
    permits::busy().await;
    let (node, mut traffic) = DevNode::with_traffic(200).await;
    let explorer = launch(&node.url()).start().await;
    node.wait_for(&explorer).await;
    let receiver = Receiver::start().await;
    // Names are read from the contracts after their blocks are indexed.
    let tokens = eventually("the names of all tokens", async || {
        let tokens = explorer.json("/api/v1/tokens?limit=100").await;
        let are_read = tokens["tokens"].as_array().unwrap().iter().all(|token| token["name"].is_string());
        are_read.then_some(tokens)
    })
    .await;
    let (mut hooks, mut kinds) = (Vec::new(), BTreeSet::new());
    for token in tokens["tokens"].as_array().unwrap() {
        let address = token["address"].as_str().unwrap().to_owned();
        let path = format!("/{address}");
        hooks.push((address.clone(), register(&explorer, &receiver.url(&path), &address, &["token_transfer"]).await));
    }
    let (first, mut last) = (node.chain.head().number + 1, 0);
    while kinds.len() < 3 {
        for _ in 0..5 {
            traffic.step().unwrap();
            last = node.chain.mine(None).number;
        }
        node.wait_for(&explorer).await;
        kinds = BTreeSet::new();
        let body = json!({ "entity": "token_transfers", "limit": 100, "filter": { "blockFrom": first } });
        let found = explorer.client().query(body).await;
        for transfer in found["data"].as_array().unwrap() {
            kinds.insert(transfer["tokenType"].as_str().unwrap().to_owned());
        }
    }
    let mut sample: Vec<(&Hook, Received)> = Vec::new();
    let mut seen = BTreeSet::new();
    for (address, hook) in &hooks {
        // A pair is a token and holds others: both transfers send events.
        let place =
            |record: &Value| ["blockNumber", "logIndex", "batchIndex"].map(|field| record[field].as_u64().unwrap());
        let mut expected = Vec::new();
        for role in ["tokenAddress", "address"] {
            let body = json!({
                "entity": "token_transfers", "limit": 100, "filter": { role: address, "blockFrom": first, "blockTo": last }
            });
            let page = explorer.client().query(body).await;
            assert_eq!(page["count"], page["total"], "on one page");
            expected.extend(page["data"].as_array().unwrap().clone());
        }
        expected.sort_by_key(place);
        expected.dedup();
        let path = format!("/{address}");
        let mut delivered = receiver.wait_for(&path, expected.len()).await;
        delivered.sort_by_key(|message| {
            let data = &message.json()["data"];
            ["blockNumber", "logIndex", "batchIndex"].map(|field| data[field].as_u64().unwrap())
        });
        assert_eq!(delivered.len(), expected.len());
        for (message, record) in delivered.iter().zip(&expected) {
            let data = &message.json()["data"];
            for (ours, theirs) in [
                ("hash", "txHash"),
                ("from", "fromAddress"),
                ("to", "toAddress"),
                ("value", "value"),
                ("blockNumber", "blockNumber"),
                ("tokenAddress", "tokenAddress"),
                ("tokenName", "tokenName"),
                ("tokenSymbol", "tokenSymbol"),
                ("tokenDecimals", "tokenDecimals"),
                ("tokenType", "tokenType"),
                ("tokenId", "tokenId"),
                ("logIndex", "logIndex"),
                ("batchIndex", "batchIndex"),
            ] {
                assert_eq!(data[ours], record[theirs], "{ours} of {data} and {record}");
            }
            if seen.insert(data["tokenType"].as_str().unwrap().to_owned()) {
                sample.push((hook, message.clone()));
            }
        }
    }
    assert_eq!(seen, BTreeSet::from(["BEP1155", "BEP20", "BEP721"].map(str::to_owned)));
    let sample: Vec<_> = sample.iter().map(|(hook, message)| (*hook, message)).collect();
    assert_libraries_verify(&sample).await;
}

fn word(number: u64) -> String {
    format!("{number:064x}")
}

/// Creation code that emits one log and deploys no contract.
fn logging_code(topics: &[String], data: &[String]) -> String {
    let mut code = String::from("0x");
    for (place, word) in data.iter().enumerate() {
        code += &format!("7f{word}60{:02x}52", place * 32);
    }
    for topic in topics.iter().rev() {
        code += &format!("7f{topic}");
    }
    code + &format!("60{:02x}6000a{}00", data.len() * 32, topics.len())
}

#[tokio::test]
async fn payments_and_token_transfers_of_anvil_send_verifiable_events() {
    // Before the messages, which libraries accept for five minutes.
    permits::busy().await;
    let anvil = Anvil::start().await;
    let explorer = launch(anvil.url()).start().await;
    anvil.wait_for(&explorer).await;
    let receiver = Receiver::start().await;
    let accounts = anvil.accounts().await;
    let (alice, bob) = (&accounts[0], &accounts[1]);
    let hook = register(&explorer, &receiver.url("/hook"), bob, &["tx", "token_transfer"]).await;

    let topic = |event: &str| keccak256(event).to_string()[2..].to_owned();
    let party = |address: &str| format!("{:0>64}", &address[2..]);
    let transfer = topic("Transfer(address,address,uint256)");
    let single = topic("TransferSingle(address,address,address,uint256,uint256)");
    anvil.send(json!({"from": alice, "to": bob, "value": "0x7"})).await;
    for code in [
        logging_code(&[transfer.clone(), party(alice), party(bob)], &[word(1_000)]),
        logging_code(&[transfer, party(bob), party(alice), word(42)], &[]),
        logging_code(&[single, party(alice), party(alice), party(bob)], &[word(9), word(3)]),
    ] {
        let receipt = anvil.send(json!({"from": alice, "data": code, "gas": "0x4c4b40"})).await;
        assert_eq!(receipt["logs"].as_array().unwrap().len(), 1, "{receipt}");
    }
    let messages = receiver.wait_for("/hook", 4).await;
    let delivered: Vec<Value> = messages.iter().map(Received::json).collect();
    let summary = |delivered: &Value| {
        let data = &delivered["data"];
        [&delivered["event"], &data["value"], &data["tokenType"], &data["tokenId"]].map(Value::clone)
    };
    let mut summaries: Vec<String> = delivered.iter().map(|delivered| json!(summary(delivered)).to_string()).collect();
    summaries.sort();
    assert_eq!(
        summaries,
        [
            r#"["token_transfer","1","BEP721","42"]"#,
            r#"["token_transfer","1000","BEP20",null]"#,
            r#"["token_transfer","3","BEP1155","9"]"#,
            r#"["tx","7",null,null]"#,
        ]
    );
    let messages: Vec<_> = messages.iter().map(|message| (&hook, message)).collect();
    assert_libraries_verify(&messages).await;
}

#[tokio::test]
async fn thousands_of_watched_addresses_do_not_delay_an_event() {
    permits::timely().await;
    let node = DevNode::start().await;
    let explorer = launch(&node.url()).start().await;
    node.wait_for(&explorer).await;
    let receiver = Receiver::start().await;
    let client = explorer.client().with_keep_alive();
    for number in 0..300_u64 {
        let watched = lower_hex(Address::left_padding_from(&(number + 1).to_be_bytes()));
        let body = json!({ "ownerAddress": watched, "url": receiver.url("/nobody") });
        assert_eq!(super::send(&client, "POST", "/api/v1/webhooks", Some(body)).await.status, 201);
    }
    let bob = node.account(1);
    register(&explorer, &receiver.url("/bob"), &lower_hex(bob), &["tx"]).await;
    node.chain.send(0, TxKind::Call(bob), U256::from(1), []).unwrap();
    let block = node.chain.mine(None);
    let committed = eventually("the block", async || {
        (explorer.json("/health").await["tip"]["number"] == block.number).then(Stopwatch::start)
    })
    .await;
    receiver.wait_for("/bob", 1).await;
    committed.assert_within(1);
    receiver.expect_silence(&explorer, "/nobody", 0).await;
}
