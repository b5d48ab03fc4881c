//! What nodes for development change without a block, or by going back.

use serde_json::{Value, json};

use super::Stored;
use crate::support::{Anvil, Stopwatch, TestExplorer, eventually, permits};

/// How long something may be out of date.
const LIMIT_SECONDS: u64 = 1;

/// Waits until a response has what the node has now, which took less than the limit.
async fn soon(what: &str, explorer: &TestExplorer, path: &str, is_current: impl Fn(&Value) -> bool) {
    let watch = Stopwatch::start();
    eventually(what, async || {
        let answer = explorer.get(path).await;
        is_current(&answer.json).then_some(())
    })
    .await;
    watch.assert_within(LIMIT_SECONDS);
}

#[tokio::test]
async fn changes_without_a_block_are_shown_within_a_second_from_a_folder() {
    changes_without_a_block_are_shown_within_a_second(Stored::in_folder()).await;
}

#[tokio::test]
async fn changes_without_a_block_are_shown_within_a_second_from_a_database() {
    changes_without_a_block_are_shown_within_a_second(Stored::in_database().await).await;
}

async fn changes_without_a_block_are_shown_within_a_second(stored: Stored) {
    permits::timely().await;
    let anvil = Anvil::start().await;
    let accounts = anvil.accounts().await;
    for _ in 0..5 {
        anvil.send(json!({ "from": accounts[0], "to": accounts[1], "value": "0x1" })).await;
    }
    // Its own poll of heads, and a pushed one.
    let url = format!("{},{}", anvil.url(), anvil.ws_url());
    let explorer = stored.launch(&url).start().await;
    anvil.wait_for(&explorer).await;
    let detail = format!("/api/v1/addresses/{}", accounts[1]);
    let page = format!("/address/{}", accounts[1]);
    explorer.json(&detail).await;
    explorer.get(&page).await;

    for balance in ["0x2a", "0x2b"] {
        anvil.rpc.call("anvil_setBalance", json!([accounts[1], balance])).await;
        let decimal = u64::from_str_radix(&balance[2..], 16).unwrap().to_string();
        soon("the balance", &explorer, &detail, |detail| detail["balance"] == decimal).await;
    }
    anvil.rpc.call("anvil_setNonce", json!([accounts[1], "0x9"])).await;
    soon("the nonce", &explorer, &detail, |detail| detail["nonce"] == 9).await;
    let code = "0x60016000f3";
    anvil.rpc.call("anvil_setCode", json!([accounts[1], code])).await;
    soon("the code", &explorer, &detail, |detail| detail["isContract"] == true).await;
    let contract = explorer.get(&format!("{page}?tab=contract")).await.text;
    assert!(contract.contains(code), "{contract}");
    anvil.rpc.call("anvil_setCode", json!([accounts[1], "0x"])).await;
    soon("no code", &explorer, &detail, |detail| detail["isContract"] == false).await;

    let snapshot = anvil.rpc.call("evm_snapshot", json!([])).await;
    let before = anvil.rpc.head().await;
    for _ in 0..3 {
        anvil.send(json!({ "from": accounts[0], "to": accounts[2], "value": "0x1" })).await;
    }
    anvil.wait_for(&explorer).await;
    anvil.rpc.call("evm_revert", json!([snapshot])).await;
    assert_eq!(anvil.rpc.head().await, before);
    let is_head = |head: (u64, String)| {
        move |health: &Value| health["tip"]["number"] == head.0 && health["tip"]["hash"] == head.1
    };
    soon("the chain that was rolled back", &explorer, "/health", is_head(before)).await;
    soon("the transactions", &explorer, "/api/v1/transactions", |list| list["total"] == 5).await;

    anvil.rpc.call("anvil_reorg", json!([2, []])).await;
    soon("the other branch", &explorer, "/health", is_head(anvil.rpc.head().await)).await;
    soon("its transactions", &explorer, "/api/v1/transactions", |list| list["total"] == 3).await;
}
