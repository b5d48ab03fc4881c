use alloy_consensus::{SignableTransaction, TxEip1559, TxEnvelope};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, Bytes, TxKind, hex};
use devchain::Signer;
use serde_json::{Value, json};

use crate::node::{Node, ether};

fn payment(nonce: u64) -> TxEip1559 {
    TxEip1559 {
        chain_id: 31_337,
        nonce,
        gas_limit: 21_000,
        max_fee_per_gas: 3_000_000_000,
        max_priority_fee_per_gas: 1_000_000_000,
        to: TxKind::Call(Address::repeat_byte(9)),
        value: ether(1),
        ..TxEip1559::default()
    }
}

fn signed(signer: &Signer, transaction: TxEip1559) -> Bytes {
    let signature = signer.sign_hash(&transaction.signature_hash()).unwrap();
    TxEnvelope::from(transaction.into_signed(signature)).encoded_2718().into()
}

async fn rejection(node: &Node, transaction: TxEip1559) -> String {
    let raw = signed(&node.chain.accounts()[0], transaction);
    let error = node.error("eth_sendRawTransaction", json!([raw])).await;
    assert_eq!(error["code"], -32000);
    error["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_raw_transaction_of_a_wallet_is_mined() {
    let node = Node::start().await;
    let raw = signed(&node.chain.accounts()[0], payment(0));
    let hash = node.request("eth_sendRawTransaction", json!([raw])).await;
    let count = node.request("eth_getTransactionCount", json!([node.account(0), "pending"])).await;
    assert_eq!(count, "0x1");
    assert_eq!(node.request("evm_mine", json!([])).await, "0x0");
    let receipt = node.request("eth_getTransactionReceipt", json!([hash])).await;
    assert_eq!(receipt["status"], "0x1");
}

#[tokio::test]
async fn an_invalid_transaction_is_rejected_with_the_reason() {
    let node = Node::start().await;
    node.pay(0, node.account(1), ether(1));
    let mut wrong_chain = payment(1);
    wrong_chain.chain_id = 1;
    assert!(rejection(&node, wrong_chain).await.contains("invalid chain id"));
    assert!(rejection(&node, payment(0)).await.contains("nonce too low"));
    let mut rich = payment(1);
    rich.value = ether(1_000_000);
    assert!(rejection(&node, rich).await.contains("insufficient funds"));
    let mut little_gas = payment(1);
    little_gas.gas_limit = 20_999;
    assert!(rejection(&node, little_gas).await.contains("intrinsic gas too low"));
    let mut much_gas = payment(1);
    much_gas.gas_limit = 30_000_001;
    assert!(rejection(&node, much_gas).await.contains("exceeds block gas limit"));
    let mut tip = payment(1);
    tip.max_priority_fee_per_gas = tip.max_fee_per_gas + 1;
    assert!(rejection(&node, tip).await.contains("max priority fee"));
    let mut long = payment(1);
    long.to = TxKind::Create;
    long.input = vec![0; 49_153].into();
    long.gas_limit = 5_000_000;
    assert!(rejection(&node, long).await.contains("initcode"));
    let garbage = node.error("eth_sendRawTransaction", json!(["0x02c0ffee"])).await;
    assert!(garbage["message"].as_str().unwrap().contains("decoded"));
    assert_eq!(node.chain.pool_size(), 0);
}

#[tokio::test]
async fn the_balance_must_cover_all_pending_transactions() {
    let node = Node::start().await;
    let raw = |transaction| signed(&node.chain.accounts()[0], transaction);
    let mut most = payment(0);
    most.value = ether(9_999);
    node.request("eth_sendRawTransaction", json!([raw(most)])).await;
    assert!(rejection(&node, payment(1)).await.contains("insufficient funds"));
}

#[tokio::test]
async fn a_transaction_with_a_nonce_gap_waits() {
    let node = Node::start().await;
    let raw = |nonce| signed(&node.chain.accounts()[0], payment(nonce));
    let ahead = node.request("eth_sendRawTransaction", json!([raw(1)])).await;
    node.chain.mine(None);
    assert_eq!(node.request("eth_getTransactionReceipt", json!([ahead])).await, Value::Null);
    node.request("eth_sendRawTransaction", json!([raw(0)])).await;
    node.chain.mine(None);
    let receipt = node.request("eth_getTransactionReceipt", json!([ahead])).await;
    assert_eq!(receipt["transactionIndex"], "0x1");
}

#[tokio::test]
async fn a_pending_transaction_is_replaced_only_by_one_that_pays_more() {
    let node = Node::start().await;
    let raw = |transaction| signed(&node.chain.accounts()[0], transaction);
    let first = node.request("eth_sendRawTransaction", json!([raw(payment(0))])).await;
    assert!(rejection(&node, payment(0)).await.contains("already known"));
    let mut same_price = payment(0);
    same_price.value = ether(2);
    assert!(rejection(&node, same_price.clone()).await.contains("underpriced"));
    same_price.max_fee_per_gas *= 2;
    same_price.max_priority_fee_per_gas *= 2;
    let second = node.request("eth_sendRawTransaction", json!([raw(same_price)])).await;
    node.chain.mine(None);
    assert_eq!(node.request("eth_getTransactionReceipt", json!([first])).await, Value::Null);
    assert_ne!(node.request("eth_getTransactionReceipt", json!([second])).await, Value::Null);
}

#[tokio::test]
async fn a_block_takes_no_more_than_its_gas_limit() {
    let node = Node::start().await;
    for _ in 0..3 {
        // An endless loop uses all its gas.
        let draft = node.chain.draft(0).unwrap().data(hex!("5b600056"));
        draft.gas_limit(16_000_000).submit().unwrap();
    }
    let first = node.chain.mine(None).number;
    let block = node.full_block(first).await;
    assert_eq!(block.transactions.len(), 1);
    assert_eq!(node.chain.pool_size(), 2);
}

#[tokio::test]
async fn a_transaction_below_the_base_fee_waits() {
    let node = Node::start().await;
    let mut cheap = payment(0);
    cheap.max_fee_per_gas = 100_000_000;
    cheap.max_priority_fee_per_gas = 0;
    let raw = signed(&node.chain.accounts()[0], cheap);
    let hash = node.request("eth_sendRawTransaction", json!([raw])).await;
    node.chain.mine(None);
    assert_eq!(node.chain.pool_size(), 1);
    // The base fee falls by an eighth with every empty block.
    for _ in 0..25 {
        node.chain.mine(None);
    }
    assert_eq!(node.chain.pool_size(), 0);
    let receipt = node.request("eth_getTransactionReceipt", json!([hash])).await;
    assert_eq!(receipt["status"], "0x1");
    assert_eq!(node.balance(Address::repeat_byte(9)).await, ether(1));
}
