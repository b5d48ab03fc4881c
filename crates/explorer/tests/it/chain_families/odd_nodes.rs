//! Nodes that serve valid blocks in other ways than most.

use serde_json::{Value, json};

use super::{on_both_stores, payment};
use crate::support::{Draft, Launch, ReplayNode, eventually};

const EMITTER: &str = "0x00000000000000000000000000000000000000ee";
/// `Swap(address,uint256,uint256,uint256,uint256,address)`
const SWAP: &str = "0xd78ad95fa46c994b6551d0da85fc275fe613ce37657fb8d5e3d130840159d822";

fn word(number: u64) -> String {
    format!("{number:064x}")
}

/// A swap of an exchange that is not known yet.
fn swap() -> Value {
    let party = format!("0x{}", word(0xa1));
    let data = format!("0x{}{}{}{}", word(5), word(0), word(0), word(7));
    json!({"address": EMITTER, "topics": [SWAP, party, party], "data": data})
}

#[tokio::test]
async fn receipts_with_a_status_instead_of_a_root_leave_a_block_unproven() {
    let legacy =
        json!({"type": "0x0", "v": "0x1b", "gasPrice": "0x9", "maxFeePerGas": null, "maxPriorityFeePerGas": null});
    let root = json!({"status": null, "root": alloy_primitives::B256::repeat_byte(9)});
    let drafts: Vec<_> = (0..3)
        .map(|nonce| Draft { transactions: vec![payment(nonce, legacy.clone(), root.clone())], ..Draft::default() })
        .collect();
    let node = ReplayNode::start(1, &drafts).await;
    for (block, status) in [(1, "0x1"), (2, "0x0"), (3, "0x1")] {
        node.serve_receipt(block, 0, json!({"status": status, "root": null}));
    }
    on_both_stores(&node, async |explorer| {
        let list = explorer.json("/api/v1/transactions").await;
        let statuses: Vec<_> = list["transactions"].as_array().unwrap().iter().map(|tx| &tx["status"]).collect();
        assert_eq!(statuses, [true, false, true]);
        explorer.wait_for_log("older than Byzantium").await;
        assert_eq!(explorer.json("/health").await["rejectedBlock"], Value::Null);
    })
    .await;
}

#[tokio::test]
async fn a_node_on_another_branch_leaves_a_header_unknown_and_no_block_missing() {
    let draft = Draft {
        header: json!({"baseFeePerGas": "0x7"}),
        transactions: vec![payment(0, json!({}), json!({}))],
        ..Draft::default()
    };
    let node = ReplayNode::start(1, &[draft]).await;
    let explorer = Launch::run(&node.url()).start().await;
    node.wait_for(&explorer).await;
    let header = "/api/v1/blocks/1/header";
    node.answer("eth_getBlockByNumber", &json!(["0x1", true]), node.block(0));
    let answer = explorer.get(header).await;
    assert_eq!((answer.status, &answer.json["code"]), (503, &json!("node_unavailable")), "{}", answer.text);
    node.answer("eth_getBlockByNumber", &json!(["0x1", true]), node.block(1));
    assert_eq!(explorer.json(header).await["hash"], node.block(1)["hash"]);
}

#[tokio::test]
async fn wrong_indexes_of_logs_are_derived_from_their_order() {
    let log = |data: u64| json!({"address": EMITTER, "topics": [], "data": format!("0x{}", word(data))});
    let of = |nonce: u64, logs: Vec<Value>| payment(nonce, json!({}), json!({"logs": logs}));
    let draft = Draft {
        header: json!({"baseFeePerGas": "0x7"}),
        transactions: vec![of(0, vec![log(1), log(2)]), of(1, vec![log(3)])],
        ..Draft::default()
    };
    let node = ReplayNode::start(1, &[draft.clone(), draft]).await;
    node.number_logs(1, |_| 0);
    node.number_logs(2, |position| 9 - position as u64);
    on_both_stores(&node, async |explorer| {
        for block in [1, 2] {
            let list = explorer.json(&format!("/api/v1/logs?blockFrom={block}&blockTo={block}")).await;
            let logs = list["logs"].as_array().unwrap().iter();
            let seen: Vec<_> = logs.map(|log| (log["logIndex"].as_u64().unwrap(), log["data"].clone())).collect();
            let expected: Vec<_> = (0..3).rev().map(|index| (index, json!(format!("0x{}", word(index + 1))))).collect();
            assert_eq!(seen, expected);
        }
        explorer.wait_for_log("numbers logs wrongly").await;
    })
    .await;
}

#[tokio::test]
async fn contract_calls_that_fail_hold_no_block_and_health_names_them() {
    let swapping = payment(0, json!({}), json!({"logs": [swap()]}));
    let later = payment(1, json!({}), json!({}));
    let drafts = [swapping, later].map(|included| Draft {
        header: json!({"baseFeePerGas": "0x7"}),
        transactions: vec![included],
        ..Draft::default()
    });
    let node = ReplayNode::start(1, &drafts).await;
    node.fail("eth_call");
    let explorer = Launch::run(&node.url()).start().await;
    eventually("a reason", async || {
        let health = explorer.json("/health").await;
        let reason = health["waitingFor"].as_str().map(str::to_owned);
        reason.filter(|reason| reason.contains("eth_call") && health["tip"]["number"] == 0)
    })
    .await;
    node.wait_for(&explorer).await;
    explorer.wait_for_log("trades of new pools are omitted").await;
    node.heal("eth_call");
    eventually("nothing is waited for", async || explorer.json("/health").await["waitingFor"].is_null().then_some(()))
        .await;
}
