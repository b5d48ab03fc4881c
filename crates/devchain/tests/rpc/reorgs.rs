use alloy_primitives::{Address, B256, U256};
use devchain::{
    ReorgError,
    ReorgedTransactions::{Drop, Replay},
};
use serde_json::{Value, json};

use crate::node::{Node, ether};

const PAYEE: Address = Address::repeat_byte(0x33);

/// Twelve blocks with one payment of 1 ether each.
async fn paid_node() -> (Node, Vec<B256>) {
    let node = Node::start().await;
    let payments = (0..12).map(|index| node.pay(index % 4, PAYEE, ether(1))).collect();
    (node, payments)
}

async fn hashes(node: &Node) -> Vec<B256> {
    let mut hashes = Vec::new();
    for number in 0..=node.chain.head().number {
        hashes.push(node.full_block(number).await.header.hash);
    }
    hashes
}

async fn assert_linked(node: &Node) {
    for number in 1..=node.chain.head().number {
        let (parent, block) = (node.full_block(number - 1).await, node.full_block(number).await);
        assert_eq!(block.header.parent_hash, parent.header.hash);
        assert!(block.header.timestamp > parent.header.timestamp);
    }
}

#[tokio::test]
async fn a_reorg_with_replay_has_new_blocks_and_the_same_payments() {
    for depth in [1, 3, 10] {
        let (node, payments) = paid_node().await;
        let before = hashes(&node).await;
        let head = node.chain.reorg(depth, depth, Replay).unwrap();
        assert_eq!(head.number, 12);
        let after = hashes(&node).await;
        let fork = usize::try_from(12 - depth).unwrap();
        assert_eq!(before[..=fork], after[..=fork]);
        for number in fork + 1..=12 {
            assert_ne!(before[number], after[number]);
            let old = node.request("eth_getBlockByHash", json!([before[number], false])).await;
            assert_eq!(old, Value::Null);
        }
        assert_linked(&node).await;
        assert_eq!(node.balance(PAYEE).await, ether(12));
        for payment in payments {
            let receipt = node.request("eth_getTransactionReceipt", json!([payment])).await;
            assert_eq!(receipt["status"], "0x1");
        }
    }
}

#[tokio::test]
async fn a_replay_distributes_the_transactions_differently() {
    let (node, _) = paid_node().await;
    node.chain.reorg(6, 6, Replay).unwrap();
    let mut counts = Vec::new();
    for number in 7..=12 {
        counts.push(node.full_block(number).await.transactions.len());
    }
    assert_eq!(counts.iter().sum::<usize>(), 6);
    assert_ne!(counts, [1; 6]);
}

#[tokio::test]
async fn dropped_transactions_have_no_effect() {
    let (node, payments) = paid_node().await;
    node.chain.reorg(3, 4, Drop).unwrap();
    assert_eq!(node.chain.head().number, 13);
    assert_eq!(node.balance(PAYEE).await, ether(9));
    assert_eq!(node.request("eth_getTransactionByHash", json!([payments[10]])).await, Value::Null);
    assert_eq!(node.request("eth_getTransactionReceipt", json!([payments[10]])).await, Value::Null);
    assert_linked(&node).await;
}

#[tokio::test]
async fn a_new_branch_can_be_shorter_or_empty() {
    let (node, _) = paid_node().await;
    let head = node.chain.reorg(5, 2, Replay).unwrap();
    assert_eq!(head.number, 9);
    assert_eq!(node.request("eth_blockNumber", json!([])).await, "0x9");
    assert_eq!(node.balance(PAYEE).await, ether(12));
    assert_eq!(node.request("eth_getBlockByNumber", json!(["0xa", false])).await, Value::Null);
    let hash = node.request("dev_reorg", json!(["0x4", 0])).await;
    assert_eq!(hash, json!(node.chain.head().hash));
    assert_eq!(node.chain.head().number, 5);
    assert_eq!(node.balance(PAYEE).await, ether(5));
    assert_eq!(node.chain.pool_size(), 7, "transactions without a block are pending again");
    node.chain.mine(None);
    assert_eq!(node.balance(PAYEE).await, ether(12));
    assert_linked(&node).await;
}

#[tokio::test]
async fn the_state_after_a_reorg_is_that_of_the_new_branch() {
    let (node, _) = paid_node().await;
    node.chain.reorg(4, 4, Drop).unwrap();
    let at: U256 = node.request_as("eth_getBalance", json!([PAYEE, "0xa"])).await;
    assert_eq!(at, ether(8));
    let nonce = node.request("eth_getTransactionCount", json!([node.account(0), "latest"])).await;
    assert_eq!(nonce, "0x2");
    node.pay(0, PAYEE, ether(1));
    assert_eq!(node.balance(PAYEE).await, ether(9));
}

#[tokio::test]
async fn the_same_reorg_twice_gives_two_branches() {
    let (node, _) = paid_node().await;
    let first = node.chain.reorg(2, 2, Drop).unwrap();
    let second = node.chain.reorg(2, 2, Drop).unwrap();
    assert_ne!(first.hash, second.hash);
}

#[tokio::test]
async fn a_reorg_that_is_too_deep_changes_nothing() {
    let (node, _) = paid_node().await;
    let head = node.chain.head();
    assert_eq!(node.chain.reorg(0, 1, Replay), Err(ReorgError::NothingToReplace));
    let too_deep = ReorgError::TooDeep { depth: 13, kept: 12 };
    assert_eq!(node.chain.reorg(13, 1, Replay), Err(too_deep));
    assert_eq!(node.error("dev_reorg", json!([13, 1])).await["code"], -32602);
    assert_eq!(node.chain.head(), head);
}
