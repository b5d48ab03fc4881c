//! Balance, nonce and code from archive and pruning nodes.

use domain::{Address, BlockRef, Code, U256};

use crate::support::{Chain, FakeNode, Reply};

fn at(chain: &Chain, number: u64) -> BlockRef {
    BlockRef { number, hash: chain.hash(number) }
}

#[tokio::test]
async fn an_account_is_fetched_in_one_request_by_block_hash() {
    let chain = Chain::new(10);
    let node = FakeNode::start(chain.clone()).await;
    node.behave(|method, params| {
        let by_number = method == "eth_getBalance" && params[1].is_string();
        by_number.then_some(Reply::Error(-32000, "by number"))
    });
    let client = node.client();
    client.head().await.unwrap();
    let before = node.requests().len();
    let account = client.account(Address::repeat_byte(1), at(&chain, 7)).await.unwrap();
    assert_eq!(node.requests().split_off(before), [3]);
    assert_eq!((account.balance, account.nonce), (U256::from(10u64.pow(18)), 7));
    assert!(matches!(account.code, Code::Contract { .. }));
    assert_eq!(account.block, 7);
}

#[tokio::test]
async fn a_node_without_block_hash_support_is_queried_by_number() {
    let chain = Chain::new(10);
    let node = FakeNode::start(chain.clone()).await;
    node.behave(|_, params| {
        params[1].is_object().then_some(Reply::Error(-32602, "invalid argument 1: json: cannot unmarshal object"))
    });
    let client = node.client();
    assert_eq!(client.account(Address::repeat_byte(1), at(&chain, 7)).await.unwrap().block, 7);
    let before = node.request_count("eth_getBalance");
    assert_eq!(client.account(Address::repeat_byte(1), at(&chain, 8)).await.unwrap().block, 8);
    assert_eq!(node.request_count("eth_getBalance") - before, 1);
}

#[tokio::test]
async fn unavailable_state_falls_back_to_the_head() {
    let chain = Chain::new(10);
    let node = FakeNode::start(chain.clone()).await;
    let old = chain.hash(3).to_string();
    node.behave(move |_, params| {
        (params[1]["blockHash"] == old.as_str()).then_some(Reply::Error(-32000, "missing trie node 12ab (path )"))
    });
    assert_eq!(node.client().account(Address::repeat_byte(1), at(&chain, 3)).await.unwrap().block, 10);
    // A block that the node does not have yet, or no longer has after a reorg.
    assert_eq!(node.client().account(Address::repeat_byte(1), at(&chain, 11)).await.unwrap().block, 10);
}

#[tokio::test]
async fn accounts_are_fetched_without_batches() {
    let chain = Chain::new(10);
    let node = FakeNode::start(chain.clone()).await;
    node.take_batches_up_to(0);
    assert_eq!(node.client().account(Address::repeat_byte(1), at(&chain, 7)).await.unwrap().nonce, 7);
}
