//! Balances of many accounts from nodes with different limits. The program for many runs on real nodes in the tests of
//! `explorer`.

use alloy_primitives::hex;
use domain::{Address, BlockRef, U256};

use crate::support::{Chain, FakeNode, Reply};

fn at(chain: &Chain, number: u64) -> BlockRef {
    BlockRef { number, hash: chain.hash(number) }
}

fn addresses(count: u16) -> Vec<Address> {
    (1..=count).map(|number| Address::left_padding_from(&number.to_be_bytes())).collect()
}

/// What the program returns for accounts that have as many wei as their number.
fn packed(count: u16) -> Reply {
    let mut returned = vec![0];
    for number in 1..=count {
        returned.extend(u128::from(number).to_be_bytes());
    }
    Reply::Result(hex::encode_prefixed(returned).into())
}

/// A balance by `eth_getBalance`.
const SINGLE: u64 = 10u64.pow(18);

#[tokio::test]
async fn many_balances_are_one_request_by_block_hash() {
    let chain = Chain::new(10);
    let node = FakeNode::start(chain.clone()).await;
    node.run_programs();
    let hash = chain.hash(7).to_string();
    node.behave(move |method, params| {
        (method == "eth_call" && params[1]["blockHash"] == hash.as_str()).then(|| packed(1_535))
    });
    let client = node.client();
    client.head().await.unwrap();
    let before = node.requests().len();
    let balances = client.balances(&addresses(1_535), at(&chain, 7)).await.unwrap();
    assert_eq!(node.requests().split_off(before), [1]);
    assert_eq!(balances, (1..=1_535).map(U256::from).collect::<Vec<_>>());
    assert_eq!(client.balances(&[], at(&chain, 7)).await.unwrap(), Vec::<U256>::new());
}

#[tokio::test]
async fn a_node_that_refuses_the_program_is_asked_for_each_balance_from_then_on() {
    const REFUSALS: [Reply; 4] = [
        Reply::Error(-32000, "out of gas"),
        Reply::Error(-32602, "missing value for required argument to"),
        Reply::Result(serde_json::Value::Null),
        Reply::Error(-32600, "invalid request"),
    ];
    let chain = Chain::new(10);
    for refusal in REFUSALS {
        let node = FakeNode::start(chain.clone()).await;
        node.run_programs();
        let reply = refusal.clone();
        node.behave(move |method, _| (method == "eth_call").then(|| reply.clone()));
        let client = node.client();
        for _ in 0..3 {
            let balances = client.balances(&addresses(250), at(&chain, 7)).await.unwrap();
            assert_eq!(balances, vec![U256::from(SINGLE); 250]);
        }
        assert_eq!(node.request_count("eth_call"), 1, "{refusal:?}");
        assert_eq!(node.request_count("eth_getBalance"), 750, "{refusal:?}");
    }
}

#[tokio::test]
async fn a_node_without_block_hash_support_still_runs_the_program() {
    let chain = Chain::new(10);
    let node = FakeNode::start(chain.clone()).await;
    node.run_programs();
    node.behave(|method, params| match method {
        _ if params[1].is_object() => Some(Reply::Error(-32602, "invalid argument 1: json: cannot unmarshal object")),
        "eth_call" => Some(packed(2)),
        _ => None,
    });
    let client = node.client();
    assert_eq!(client.balances(&addresses(2), at(&chain, 7)).await.unwrap(), [U256::from(1), U256::from(2)]);
    let before = node.request_count("eth_getBalance");
    assert_eq!(client.balances(&addresses(2), at(&chain, 7)).await.unwrap(), [U256::from(1), U256::from(2)]);
    assert_eq!(node.request_count("eth_getBalance"), before, "once is enough");
}

#[tokio::test]
async fn balances_of_another_block_are_never_returned() {
    let chain = Chain::new(10);
    let node = FakeNode::start(chain.clone()).await;
    node.run_programs();
    node.behave(|method, params| {
        let gone = Reply::Error(-32000, "missing trie node 12ab (path )");
        (matches!(method, "eth_call" | "eth_getBalance") && params[1].is_object()).then_some(gone)
    });
    let client = node.client();
    assert!(client.balances(&addresses(2), at(&chain, 3)).await.is_err());
    assert!(client.balances(&addresses(1), at(&chain, 3)).await.is_err());
    node.behave(|method, _| (method == "eth_call").then(|| packed(2)));
    assert_eq!(client.balances(&addresses(2), at(&chain, 3)).await.unwrap().len(), 2, "the program was not given up");
}
