//! User operations of account abstraction, from the logs of the entry points.

use alloy_primitives::{U256, hex, keccak256};
use serde_json::{Value, json};

use super::{ALICE, BOB, on_both_stores, payment};
use crate::support::{Draft, Included, ReplayNode, TestExplorer};

const V6: &str = "0x5ff137d4b0fdcd49dca30c7cf57e578a026d2789";
const V7: &str = "0x0000000071727de22e5e9d8baf0edac6f37da032";
/// Of the version 0.8.
const V8: &str = "0x4337084d9e255ff0702461cf8895ce9e3b5ff108";
const SMART: &str = "0x000000000000000000000000000000000000acc0";
const PAYMASTER: &str = "0x00000000000000000000000000000000000003a7";

fn topic(address: &str) -> String {
    format!("0x{:0>64}", &address[2..])
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| U256::from(*word).to_be_bytes::<32>()).collect()
}

/// An operation that an entry point executed, and its reason if it failed.
fn executed(entry_point: &str, number: u8, paymaster: Option<&str>, reason: Option<&str>) -> Vec<Value> {
    let hash = format!("0x{:064x}", number);
    let signature = "UserOperationEvent(bytes32,address,address,uint256,bool,uint256,uint256)";
    let mut logs = vec![json!({
        "address": entry_point,
        "topics": [keccak256(signature), hash, topic(SMART), paymaster.map_or_else(|| format!("0x{:064x}", 0), topic)],
        "data": hex::encode_prefixed(words(&[number.into(), reason.is_none().into(), 5_000, 70])),
    })];
    if let Some(reason) = reason {
        let text = [words(&[32, reason.len() as u64]), reason.as_bytes().to_vec()].concat();
        let error = [vec![0x08, 0xc3, 0x79, 0xa0], text].concat();
        let mut data = words(&[number.into(), 64, error.len() as u64]);
        data.extend(error);
        data.resize(data.len().next_multiple_of(32), 0);
        logs.push(json!({
            "address": entry_point,
            "topics": [keccak256("UserOperationRevertReason(bytes32,address,uint256,bytes)"), hash, topic(SMART)],
            "data": hex::encode_prefixed(data),
        }));
    }
    logs
}

fn bundle(nonce: u64, entry_point: &str, logs: Vec<Vec<Value>>) -> Included {
    payment(nonce, json!({"to": entry_point, "input": "0x765e827f", "gas": "0xf4240"}), json!({"logs": logs.concat()}))
}

async fn numbers(explorer: &TestExplorer, query: &str) -> (Vec<u64>, u64) {
    let list = explorer.json(&format!("/api/v1/addresses/{query}")).await;
    let number = |operation: &Value| operation["nonce"].as_str().unwrap().parse().unwrap();
    let found = list["userOperations"].as_array().unwrap().iter().map(number).collect();
    (found, list["total"].as_u64().unwrap())
}

#[tokio::test]
async fn operations_of_all_entry_points_are_one_list() {
    let header = json!({ "baseFeePerGas": "0x7" });
    // Somebody else's contract with the same events is no entry point.
    let fake = bundle(0, BOB, vec![executed(BOB, 99, None, None)]);
    let first = vec![bundle(1, V6, vec![executed(V6, 1, None, None), executed(V6, 2, Some(PAYMASTER), None)]), fake];
    let second = vec![
        bundle(2, V7, vec![executed(V7, 3, Some(PAYMASTER), Some("too late"))]),
        bundle(3, V6, vec![executed(V6, 4, None, None)]),
        bundle(4, V8, vec![executed(V8, 5, None, None)]),
    ];
    let draft = |transactions| Draft { header: header.clone(), transactions, ..Draft::default() };
    let node = ReplayNode::start(1, &[draft(first), draft(Vec::new()), draft(second)]).await;
    on_both_stores(&node, async |explorer| {
        let all = format!("{SMART}/user-operations");
        assert_eq!(numbers(explorer, &all).await, (vec![5, 4, 3, 2, 1], 5));
        for page in 1..=5 {
            let one = numbers(explorer, &format!("{all}?limit=1&page={page}")).await;
            assert_eq!(one, (vec![6 - page], 5), "page {page}");
            let two: Vec<u64> = (1..=5).rev().skip(2 * (usize::try_from(page).unwrap() - 1)).take(2).collect();
            assert_eq!(numbers(explorer, &format!("{all}?limit=2&page={page}")).await, (two, 5), "page {page}");
        }
        assert_eq!(numbers(explorer, &format!("{PAYMASTER}/user-operations?role=paymaster")).await, (vec![3, 2], 2));
        assert_eq!(numbers(explorer, &format!("{PAYMASTER}/user-operations")).await, (vec![], 0));
        assert_eq!(explorer.get(&format!("/api/v1/addresses/{SMART}/user-operations?role=bundler")).await.status, 400);

        let tx = node.hash(3, 0);
        let of_transaction = explorer.json(&format!("/api/v1/transactions/{tx}/user-operations")).await;
        let block = explorer.json("/api/v1/blocks/3").await;
        let expected = json!({
            "userOpHash": format!("0x{:064x}", 3), "entryPoint": V7, "sender": SMART, "paymaster": PAYMASTER,
            "bundler": ALICE, "nonce": "3", "success": false, "actualGasCost": "5000", "actualGasUsed": "70",
            "reason": "too late", "txHash": tx, "blockNumber": 3, "timestamp": block["timestamp"], "logIndex": 0,
        });
        assert_eq!((&of_transaction["userOperations"], &of_transaction["total"]), (&json!([expected]), &json!(1)));

        let page = async |path: String| explorer.get(&path).await.text.to_lowercase();
        let failed = page(format!("/tx/{tx}")).await;
        assert!(failed.contains("<h2 id=\"user-operations\">") && failed.contains("too late"), "{failed}");
        assert!(failed.contains(&format!("/address/{SMART}")) && failed.contains(&format!("/address/{PAYMASTER}")));
        assert!(failed.contains("(5000 wei)") && failed.contains(&format!("data-copy=\"0x{:064x}\"", 3)), "{failed}");
        let both = page(format!("/tx/{}", node.hash(1, 0))).await;
        assert_eq!(both.matches("<td data-label=\"operation\">").count(), 2, "{both}");
        assert!(!page(format!("/tx/{}", node.hash(1, 1))).await.contains("user-operations"), "no entry point");

        let sent = page(format!("/address/{SMART}?tab=user-operations")).await;
        assert!(sent.contains("5 total") && sent.contains("too late"), "{sent}");
        assert_eq!(sent.matches("<td data-label=\"bundler\">").count(), 5, "{sent}");
        let paid = page(format!("/address/{PAYMASTER}?tab=sponsored-operations")).await;
        assert!(paid.contains("2 total") && paid.contains(&format!("/address/{SMART}")), "{paid}");
        let none = page(format!("/address/{PAYMASTER}?tab=user-operations")).await;
        assert!(none.contains("0 total") && none.contains("no user operations: what this account asks"), "{none}");
        assert!(page(format!("/address/{BOB}")).await.contains("?tab=user-operations"), "anybody may have some");
    })
    .await;
}

#[tokio::test]
async fn many_operations_of_a_transaction_have_pages() {
    let header = json!({ "baseFeePerGas": "0x7" });
    let transactions = vec![bundle(0, V7, (1..=30).map(|number| executed(V7, number, None, None)).collect())];
    let node = ReplayNode::start(1, &[Draft { header, transactions, ..Draft::default() }]).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let hash = node.hash(1, 0);
    for (path, text, cell, rows) in [
        (format!("/tx/{hash}"), "User operations 1 to 25 of 30", "Operation", 25),
        (format!("/tx/{hash}?operations=2"), "User operations 26 to 30 of 30", "Operation", 5),
        (format!("/tx/{hash}?operations=9"), "There are only 2 pages", "Operation", 0),
        (format!("/address/{SMART}?tab=user-operations"), "30 total, page 1 of 2", "Bundler", 25),
        (format!("/address/{SMART}?tab=user-operations&page=2"), "30 total, page 2 of 2", "Bundler", 5),
    ] {
        let page = explorer.get(&path).await.text;
        assert!(page.contains(text), "{text} in {path}: {page}");
        assert_eq!(page.matches(&format!("<td data-label=\"{cell}\">")).count(), rows, "{path}");
    }
}
