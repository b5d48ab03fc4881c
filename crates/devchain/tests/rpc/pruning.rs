use alloy_primitives::Address;

use crate::node::{Node, ether};

const PAYEE: Address = Address::repeat_byte(0x33);

#[tokio::test]
async fn pruning_keeps_headers_state_and_recent_transactions() {
    let node = Node::start().await;
    let old = node.pay(0, PAYEE, ether(1));
    let before = node.full_block(1).await.header.hash;
    // Older than any state that is kept.
    for _ in 0..600 {
        node.chain.mine(None);
    }
    let recent = node.pay(1, PAYEE, ether(1));
    node.chain.prune_transactions_below(u64::MAX);
    assert!(node.chain.receipt(old).is_none());
    assert!(node.chain.receipt(recent).is_some());
    assert_eq!(node.full_block(1).await.header.hash, before);
    assert_eq!(node.balance(PAYEE).await, ether(2));
}
