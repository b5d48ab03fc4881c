//! User operations of account abstraction, from the logs of the entry points.

use alloy_primitives::{U256, hex, keccak256};
use serde_json::{Value, json};

use super::{ALICE, BOB, on_both_stores, payment};
use crate::support::{Draft, Included, ReplayNode, TestExplorer};

const V6: &str = "0x5ff137d4b0fdcd49dca30c7cf57e578a026d2789";
const V7: &str = "0x0000000071727de22e5e9d8baf0edac6f37da032";
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
        bundle(4, V7, vec![executed(V7, 5, None, None)]),
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
    })
    .await;
}
