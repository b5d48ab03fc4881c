use alloy_primitives::{Address, TxKind, U256};
use devchain::DevChainConfig;
use serde_json::json;

use crate::node::{Node, ether, word};

#[tokio::test]
async fn the_state_of_a_past_block_is_available() {
    let node = Node::start().await;
    let payee = Address::repeat_byte(0x44);
    for amount in 1..=5 {
        node.pay(0, payee, ether(amount));
    }
    let balance_at =
        async |block: serde_json::Value| -> U256 { node.request_as("eth_getBalance", json!([payee, block])).await };
    assert_eq!(balance_at(json!("0x0")).await, U256::ZERO);
    assert_eq!(balance_at(json!("0x3")).await, ether(6));
    assert_eq!(balance_at(json!("latest")).await, ether(15));
    let third = node.full_block(3).await.header.hash;
    assert_eq!(balance_at(json!({"blockHash": third})).await, ether(6));
    assert_eq!(balance_at(json!({"blockHash": third, "requireCanonical": true})).await, ether(6));
    assert_eq!(balance_at(json!({"blockNumber": "0x2"})).await, ether(3));
    let count = node.request("eth_getTransactionCount", json!([node.account(0), "0x2"])).await;
    assert_eq!(count, "0x2");
}

#[tokio::test]
async fn storage_and_code_of_past_blocks_are_available() {
    let node = Node::start().await;
    let contract = node.create_keeper(0);
    for value in [7, 0, 9] {
        node.chain.send(0, TxKind::Call(contract), U256::ZERO, word(value)).unwrap();
        node.chain.mine(None);
    }
    let slot_at =
        async |block: &str| -> U256 { node.request_as("eth_getStorageAt", json!([contract, "0x0", block])).await };
    assert_eq!(slot_at("0x1").await, U256::ZERO);
    assert_eq!(slot_at("0x2").await, U256::from(7));
    assert_eq!(slot_at("0x3").await, U256::ZERO);
    assert_eq!(slot_at("latest").await, U256::from(9));
    assert_eq!(node.request("eth_getCode", json!([contract, "0x0"])).await, "0x");
    assert_ne!(node.request("eth_getCode", json!([contract, "0x1"])).await, "0x");
}

#[tokio::test]
async fn state_is_kept_for_the_configured_number_of_blocks_and_then_pruned() {
    let node = Node::with(DevChainConfig { history: 0, ..DevChainConfig::default() }).await;
    for _ in 0..200 {
        node.chain.mine(None);
    }
    let account = node.account(0);
    node.request("eth_getBalance", json!([account, format!("{:#x}", 200 - 128)])).await;
    let error = node.error("eth_getBalance", json!([account, "0x1"])).await;
    assert_eq!(error["code"], -32000);
    assert!(error["message"].as_str().unwrap().contains("pruned"));
    let unknown = node.error("eth_getBalance", json!([account, "0xffff"])).await;
    assert_eq!(unknown["message"], "header not found");
}

#[tokio::test]
async fn fewer_states_are_kept_if_they_need_too_much_memory() {
    let node = Node::with(DevChainConfig { history: 1_000, history_bytes: 0, ..DevChainConfig::default() }).await;
    let hash = node.pay(0, Address::repeat_byte(0x44), ether(1));
    for _ in 1..200 {
        node.chain.mine(None);
    }
    let account = node.account(0);
    node.request("eth_getBalance", json!([account, format!("{:#x}", 200 - 128)])).await;
    let error = node.error("eth_getBalance", json!([account, format!("{:#x}", 200 - 129)])).await;
    assert!(error["message"].as_str().unwrap().contains("pruned"));
    assert_eq!(node.chain.receipt(hash).unwrap().block.number(), 1);
}
