use serde_json::json;

use super::assert_equals_node;
use crate::support::{Anvil, TestExplorer, expected_state};

/// Payments, one per block.
async fn pay(anvil: &Anvil, accounts: &[String], count: usize) {
    for number in 0..count {
        let (from, to) = (&accounts[number % 3], &accounts[(number + 1) % 4]);
        anvil.send(json!({"from": from, "to": to, "value": format!("{:#x}", number + 1)})).await;
    }
}

#[tokio::test]
async fn reorgs_of_anvil_leave_no_orphaned_data() {
    let anvil = Anvil::start().await;
    let accounts = anvil.accounts().await;
    pay(&anvil, &accounts, 20).await;
    let explorer = TestExplorer::start(anvil.url()).await;
    anvil.wait_for(&explorer).await;
    let mut api_state = expected_state(&anvil.rpc, 0, []).await;
    for depth in [1, 3, 10] {
        // The new branch has one new transaction; its other blocks are empty.
        let payment = json!([{"from": accounts[5], "to": accounts[6], "value": "0x7"}, 0]);
        anvil.rpc.call("anvil_reorg", json!([depth, [payment]])).await;
        anvil.wait_for(&explorer).await;
        api_state = assert_equals_node(&explorer, &anvil.rpc, &api_state, &format!("depth {depth}")).await;
    }

    let before = anvil.block_number().await;
    anvil.rpc.call("anvil_rollback", json!([4])).await;
    assert_eq!(anvil.block_number().await, before - 4);
    anvil.wait_for(&explorer).await;
    api_state = assert_equals_node(&explorer, &anvil.rpc, &api_state, "rolled back").await;

    pay(&anvil, &accounts, 2).await;
    anvil.wait_for(&explorer).await;
    assert_equals_node(&explorer, &anvil.rpc, &api_state, "gone on").await;
}
