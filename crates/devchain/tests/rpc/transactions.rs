use alloy_primitives::{Address, TxKind, U256};
use alloy_rpc_types_eth::{Transaction, TransactionReceipt};
use devchain::TransactionType;
use serde_json::{Value, json};

use crate::node::{KEEPER_RUNTIME, Node, ether, keeper, word};

#[tokio::test]
async fn a_payment_transfers_the_value_and_costs_gas() {
    let node = Node::start().await;
    let payee = Address::repeat_byte(0x55);
    let before = node.balance(node.account(0)).await;
    let hash = node.pay(0, payee, ether(3));
    let receipt: TransactionReceipt = node.request_as("eth_getTransactionReceipt", json!([hash])).await;
    assert_eq!(receipt.gas_used, 21_000);
    assert!(receipt.status());
    assert_eq!(receipt.to, Some(payee));
    assert_eq!(receipt.contract_address, None);
    let fee = U256::from(receipt.gas_used) * U256::from(receipt.effective_gas_price);
    assert_eq!(node.balance(payee).await, ether(3));
    assert_eq!(node.balance(node.account(0)).await, before - ether(3) - fee);
    let count = node.request("eth_getTransactionCount", json!([node.account(0), "latest"])).await;
    assert_eq!(count, "0x1");
}

#[tokio::test]
async fn the_beneficiary_earns_the_tips_and_the_base_fee_is_burnt() {
    let node = Node::start().await;
    let hash = node.pay(0, node.account(1), ether(1));
    let block = node.full_block(1).await;
    let receipt: TransactionReceipt = node.request_as("eth_getTransactionReceipt", json!([hash])).await;
    let base_fee = u128::from(block.header.base_fee_per_gas.unwrap());
    let tip = receipt.effective_gas_price - base_fee;
    let earned = U256::from(tip) * U256::from(receipt.gas_used);
    assert_eq!(node.balance(block.header.beneficiary).await, earned);
    assert!(!earned.is_zero());
}

#[tokio::test]
async fn a_creation_has_the_contract_address_and_stores_its_code() {
    let node = Node::start().await;
    let hash = node.chain.send(0, TxKind::Create, U256::ZERO, keeper()).unwrap();
    node.chain.mine(None);
    let receipt: TransactionReceipt = node.request_as("eth_getTransactionReceipt", json!([hash])).await;
    let contract = receipt.contract_address.unwrap();
    assert_eq!(contract, node.account(0).create(0));
    assert_eq!(receipt.to, None);
    let code = node.request("eth_getCode", json!([contract, "latest"])).await;
    assert_eq!(code, alloy_primitives::hex::encode_prefixed(KEEPER_RUNTIME));
}

#[tokio::test]
async fn a_failing_transaction_is_mined_with_status_zero_and_pays() {
    let node = Node::start().await;
    let contract = node.create_keeper(0);
    let before = node.balance(node.account(1)).await;
    let hash = node.pay(1, contract, ether(1));
    let receipt: TransactionReceipt = node.request_as("eth_getTransactionReceipt", json!([hash])).await;
    assert!(!receipt.status());
    assert!(receipt.logs().is_empty());
    let fee = U256::from(receipt.gas_used) * U256::from(receipt.effective_gas_price);
    assert_eq!(node.balance(node.account(1)).await, before - fee);
    assert_eq!(node.balance(contract).await, U256::ZERO);
    assert_eq!(node.chain.nonce(node.account(1)), 1);
}

#[tokio::test]
async fn each_transaction_type_is_served() {
    let node = Node::start().await;
    let contract = node.create_keeper(0);
    let authorization = node.chain.authorize(3, contract).unwrap();
    let types = [
        (TransactionType::Legacy, "0x0"),
        (TransactionType::AccessList(Default::default()), "0x1"),
        (TransactionType::DynamicFee, "0x2"),
        (TransactionType::SetCode(vec![authorization]), "0x4"),
    ];
    for (tx_type, number) in types {
        let draft = node.chain.draft(1).unwrap().tx_type(tx_type);
        let hash = draft.to(contract).data(word(1)).submit().unwrap();
        node.chain.mine(None);
        let transaction = node.request("eth_getTransactionByHash", json!([hash])).await;
        assert_eq!(transaction["type"], number);
        assert_eq!(transaction["from"], json!(node.account(1)));
        assert_ne!(transaction["gasPrice"], Value::Null);
        let receipt = node.request("eth_getTransactionReceipt", json!([hash])).await;
        assert_eq!(receipt["type"], number);
        assert_eq!(receipt["status"], "0x1");
    }
    let delegated = node.request("eth_getCode", json!([node.account(3), "latest"])).await;
    assert!(delegated.as_str().unwrap().starts_with("0xef0100"));
}

#[tokio::test]
async fn a_transaction_is_found_while_pending_and_by_position_when_mined() {
    let node = Node::start().await;
    let hash = node.chain.send(0, TxKind::Call(node.account(1)), ether(1), []).unwrap();
    let waiting: Transaction = node.request_as("eth_getTransactionByHash", json!([hash])).await;
    assert_eq!(waiting.block_hash, None);
    assert_eq!(node.request("eth_getTransactionReceipt", json!([hash])).await, Value::Null);
    node.chain.mine(None);
    let mined = node.request("eth_getTransactionByHash", json!([hash])).await;
    assert_eq!(mined["blockNumber"], "0x1");
    let by_number = node.request("eth_getTransactionByBlockNumberAndIndex", json!(["0x1", "0x0"])).await;
    let head = node.chain.head().hash;
    let by_hash = node.request("eth_getTransactionByBlockHashAndIndex", json!([head, "0x0"])).await;
    assert_eq!(by_number, mined);
    assert_eq!(by_hash, mined);
    let beyond = node.request("eth_getTransactionByBlockNumberAndIndex", json!(["0x1", "0x1"])).await;
    assert_eq!(beyond, Value::Null);
    let count = node.request("eth_getBlockTransactionCountByNumber", json!(["0x1"])).await;
    assert_eq!(count, "0x1");
}

#[tokio::test]
async fn log_indexes_are_consecutive_in_a_block() {
    let node = Node::start().await;
    let contract = node.create_keeper(0);
    for from in 0..3 {
        node.chain.send(from, TxKind::Call(contract), U256::ZERO, word(5)).unwrap();
    }
    node.chain.mine(None);
    let indexes: Vec<_> = node
        .receipts(2)
        .await
        .iter()
        .flat_map(|receipt| receipt.logs().to_vec())
        .map(|log| (log.log_index, log.transaction_index))
        .collect();
    assert_eq!(indexes, [(Some(0), Some(0)), (Some(1), Some(1)), (Some(2), Some(2))]);
}
