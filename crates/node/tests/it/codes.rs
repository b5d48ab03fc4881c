//! The code of many accounts from archive and pruning nodes.

use std::sync::atomic::{AtomicUsize, Ordering};

use domain::{Address, BlockRef, Bytes};

use crate::support::{Chain, FakeNode, Reply};

fn at(chain: &Chain, number: u64) -> BlockRef {
    BlockRef { number, hash: chain.hash(number) }
}

fn addresses(count: u8) -> Vec<Address> {
    (0..count).map(Address::repeat_byte).collect()
}

#[tokio::test]
async fn codes_are_batched_and_in_order() {
    let chain = Chain::new(10);
    let node = FakeNode::start(chain.clone()).await;
    node.behave(|method, params| {
        let own = method == "eth_getCode" && params[0] == format!("{:#x}", Address::repeat_byte(7));
        own.then(|| Reply::Result("0x6007".into()))
    });
    let client = node.client();
    client.head().await.unwrap();
    let before = node.requests().len();
    let found = client.codes(addresses(60), at(&chain, 7)).await.unwrap();
    assert_eq!(node.requests().split_off(before), [25, 25, 10]);
    assert_eq!((found.codes.len(), found.block), (60, 7));
    for (place, code) in found.codes.iter().enumerate() {
        assert_eq!(*code, Bytes::from(vec![0x60, if place == 7 { 7 } else { 1 }]), "{place}");
    }
    assert_eq!(client.codes(Vec::new(), at(&chain, 7)).await.unwrap().codes, Vec::<Bytes>::new());
}

#[tokio::test]
async fn a_failed_batch_is_repeated_and_the_others_are_not() {
    const FAILURES: [Reply; 3] = [
        Reply::Raw(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"internal error"}}"#),
        Reply::Status(502),
        Reply::Status(500),
    ];
    let chain = Chain::new(10);
    for failure in FAILURES {
        let node = FakeNode::start(chain.clone()).await;
        let failures = AtomicUsize::new(0);
        let second = format!("{:#x}", Address::repeat_byte(25));
        node.behave(move |method, params| {
            let fails = method == "eth_getCode" && params[0] == second.as_str();
            (fails && failures.fetch_add(1, Ordering::SeqCst) < 2).then(|| failure.clone())
        });
        let client = node.client();
        client.head().await.unwrap();
        let before = node.requests().len();
        assert_eq!(client.codes(addresses(60), at(&chain, 7)).await.unwrap().codes.len(), 60);
        assert_eq!(node.requests().split_off(before), [25, 25, 25, 25, 10]);
    }
}

#[tokio::test]
async fn without_batches_only_failed_calls_are_repeated() {
    let chain = Chain::new(10);
    let node = FakeNode::start(chain.clone()).await;
    node.take_batches_up_to(0);
    let client = node.client();
    client.codes(addresses(25), at(&chain, 7)).await.unwrap();
    let before = node.request_count("eth_getCode");
    let failures = AtomicUsize::new(0);
    node.behave(move |method, _| {
        let fails = method == "eth_getCode" && failures.fetch_add(1, Ordering::SeqCst) < 5;
        fails.then_some(Reply::Status(502))
    });
    client.codes(addresses(25), at(&chain, 7)).await.unwrap();
    assert_eq!(node.request_count("eth_getCode") - before, 30);
}

#[tokio::test]
async fn unavailable_state_falls_back_to_the_head() {
    let chain = Chain::new(10);
    let node = FakeNode::start(chain.clone()).await;
    let old = chain.hash(3).to_string();
    node.behave(move |_, params| {
        (params[1]["blockHash"] == old.as_str()).then_some(Reply::Error(-32000, "missing trie node 12ab (path )"))
    });
    assert_eq!(node.client().codes(addresses(2), at(&chain, 3)).await.unwrap().block, 10);
    // A node behind the index may not have the contracts yet.
    assert!(node.client().codes(addresses(2), at(&chain, 11)).await.is_err());
}
