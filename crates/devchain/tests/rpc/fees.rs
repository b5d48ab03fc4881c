use alloy_primitives::{Bytes, U64, hex};
use alloy_rpc_types_eth::FeeHistory;
use devchain::{BaseFee, DevChainConfig};
use serde_json::json;

use crate::node::{Node, ether};

#[tokio::test]
async fn the_base_fee_falls_while_blocks_are_empty_and_stops_at_the_floor() {
    let node = Node::start().await;
    for _ in 0..40 {
        node.chain.mine(None);
    }
    let fee_of = async |number| node.full_block(number).await.header.base_fee_per_gas.unwrap();
    assert_eq!(fee_of(0).await, 1_000_000_000);
    assert_eq!(fee_of(1).await, 875_000_000);
    assert_eq!(fee_of(40).await, 50_000_000);
}

#[tokio::test]
async fn the_base_fee_rises_after_a_full_block() {
    let node = Node::with(DevChainConfig {
        block_gas_limit: 1_000_000,
        base_fee: BaseFee { genesis: 1_000_000_000, floor: 0 },
        ..DevChainConfig::default()
    })
    .await;
    // An endless loop uses all its gas.
    let endless = Bytes::from(hex!("5b600056"));
    node.chain.draft(0).unwrap().data(endless).gas_limit(1_000_000).submit().unwrap();
    node.chain.mine(None);
    node.chain.mine(None);
    let full = node.full_block(1).await.header.base_fee_per_gas.unwrap();
    let after = node.full_block(2).await.header.base_fee_per_gas.unwrap();
    assert_eq!(after, full + full / 8);
}

#[tokio::test]
async fn the_fee_history_has_one_fee_more_than_blocks() {
    let node = Node::start().await;
    for _ in 0..5 {
        node.pay(0, node.account(1), ether(1));
    }
    let history: FeeHistory = node.request_as("eth_feeHistory", json!(["0x3", "latest", [0.0, 50.0, 100.0]])).await;
    assert_eq!(history.oldest_block, 3);
    assert_eq!(history.gas_used_ratio.len(), 3);
    assert_eq!(history.base_fee_per_gas.len(), 4);
    assert_eq!(history.base_fee_per_gas[3], u128::from(node.chain.next_base_fee()));
    assert_eq!(history.reward.unwrap(), vec![vec![1_000_000_000; 3]; 3]);
    let all: FeeHistory = node.request_as("eth_feeHistory", json!([1000, "latest", null])).await;
    assert_eq!(all.oldest_block, 0);
    let error = node.error("eth_feeHistory", json!(["0x1", "latest", [50.0, 10.0]])).await;
    assert_eq!(error["code"], -32602);
}

#[tokio::test]
async fn the_suggested_price_covers_the_next_base_fee_and_a_tip() {
    let node = Node::start().await;
    let price: U64 = node.request_as("eth_gasPrice", json!([])).await;
    let tip: U64 = node.request_as("eth_maxPriorityFeePerGas", json!([])).await;
    assert_eq!(price.to::<u64>(), node.chain.next_base_fee() + tip.to::<u64>());
}
