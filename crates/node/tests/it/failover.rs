//! Several endpoints, some of them down, wrong or on another chain.

use domain::{Address, BlockRef};
use node::NodeError;
use serde_json::json;

use crate::support::{Chain, FakeNode, Reply, client, dead_endpoint, eventually};

#[tokio::test]
async fn a_dead_first_endpoint_is_skipped_and_used_again_when_it_is_back() {
    let second = FakeNode::start(Chain::new(10)).await;
    let first = FakeNode::start(Chain::new(10)).await;
    let (first_endpoint, second_endpoint) = (first.endpoint(), second.endpoint());
    let client = client([first_endpoint.clone(), second_endpoint.clone()]);
    client.head().await.unwrap();
    assert_eq!(client.status().endpoint, first_endpoint.to_string());

    let address = first.stop().await;
    for _ in 0..3 {
        client.find_block(7).await.unwrap().unwrap();
    }
    assert_eq!(client.status().endpoint, second_endpoint.to_string());
    assert!(client.status().reachable);

    let _first = FakeNode::start_at(address, Chain::new(10)).await;
    eventually("the first endpoint is used again", async || {
        client.head().await.unwrap();
        client.status().endpoint == first_endpoint.to_string()
    })
    .await;
}

#[tokio::test]
async fn an_endpoint_that_was_never_up_costs_one_attempt() {
    let second = FakeNode::start(Chain::new(10)).await;
    let client = client([dead_endpoint().await, second.endpoint()]);
    assert_eq!(client.head().await.unwrap().number, 10);
    assert_eq!(client.status().retries, 1);
}

#[tokio::test]
async fn an_invalid_response_is_retried_elsewhere() {
    let liar = FakeNode::start(Chain::new(10)).await;
    let honest = FakeNode::start(Chain::new(10)).await;
    liar.behave(|method, _| (method == "eth_getBlockReceipts").then_some(Reply::Result(json!([]))));
    let client = client([liar.endpoint(), honest.endpoint()]);
    assert_eq!(client.find_block(7).await.unwrap().unwrap().transactions.len(), 3);
    assert_eq!(honest.request_count("eth_getBlockReceipts"), 1);
    assert_eq!(
        client.status().endpoint,
        liar.endpoint().to_string(),
        "one invalid response does not suspend the endpoint"
    );
}

#[tokio::test]
async fn an_endpoint_of_another_chain_is_never_used() {
    let first = FakeNode::start(Chain::new(10)).await;
    let foreign = FakeNode::start(Chain { id: 5, ..Chain::new(99) }).await;
    let client = client([first.endpoint(), foreign.endpoint()]);
    assert_eq!(client.head().await.unwrap().number, 10);
    first.behave(|_, _| Some(Reply::Status(500)));
    let error = client.head().await.unwrap_err();
    assert!(!matches!(error, NodeError::Rpc { .. }), "{error}");
    assert_eq!(foreign.request_count("eth_getBlockReceipts"), 0);
    first.behave(|_, _| None);
    eventually("the first endpoint is used again", async || client.head().await.is_ok_and(|head| head.number == 10))
        .await;
}

#[tokio::test]
async fn a_node_that_comes_back_on_another_chain_is_rejected() {
    let node = FakeNode::start(Chain::new(10)).await;
    let client = node.client();
    let identity = client.identity().await.unwrap();
    let address = node.stop().await;
    assert!(matches!(client.head().await, Err(NodeError::Unreachable { .. })));
    assert!(!client.status().reachable);

    let node = FakeNode::start_at(address, Chain { id: 5, ..Chain::new(10) }).await;
    let error = client.find_block(7).await.unwrap_err();
    assert!(matches!(&error, NodeError::WrongChain { expected, .. } if *expected == identity), "{error}");
    node.serve(Chain::new(12));
    eventually("the right chain is used again", async || client.head().await.is_ok_and(|head| head.number == 12)).await;
}

#[tokio::test]
async fn an_endpoint_that_is_behind_does_not_have_the_block() {
    let behind = FakeNode::start(Chain::new(5)).await;
    let ahead = FakeNode::start(Chain::new(10)).await;
    let client = client([behind.endpoint(), ahead.endpoint()]);
    assert_eq!(client.find_block(7).await.unwrap(), None);
}

#[tokio::test]
async fn a_stalled_endpoint_is_skipped_until_it_has_caught_up() {
    let stuck = FakeNode::start(Chain::new(50)).await;
    let well = FakeNode::start(Chain::new(90)).await;
    let client = client([stuck.endpoint(), well.endpoint()]);
    eventually("the endpoint that is ahead is in use", async || client.head().await.unwrap().number == 90).await;
    assert!(client.find_block(80).await.unwrap().is_some());
    let survey = client.survey_heads().await;
    assert_eq!((survey.best.map(|head| head.number), survey.is_complete), (Some(90), true));

    stuck.serve(Chain::new(91));
    eventually("the first endpoint is in use again", async || client.head().await.unwrap().number == 91).await;
}

#[tokio::test]
async fn a_failing_method_is_called_elsewhere_and_the_others_are_not() {
    let first = FakeNode::start(Chain::new(10)).await;
    let second = FakeNode::start(Chain::new(10)).await;
    first.behave(|method, _| (method == "eth_getCode").then_some(Reply::Status(500)));
    let client = client([first.endpoint(), second.endpoint()]);
    let at = BlockRef { number: 10, hash: Chain::new(10).hash(10) };
    for _ in 0..10 {
        client.codes(vec![Address::repeat_byte(1), Address::repeat_byte(2)], at).await.unwrap();
    }
    let status = client.status();
    assert_eq!(status.endpoint, first.endpoint().to_string(), "for heads and blocks");
    assert!(first.request_count("eth_getCode") <= 2 * 8, "{}", first.request_count("eth_getCode"));
    assert!(second.request_count("eth_getCode") >= 2 * 10);
}

#[tokio::test]
async fn a_forbidden_method_is_tried_at_another_endpoint() {
    let locked = FakeNode::start(Chain::new(10)).await;
    locked.behave(|_, _| Some(Reply::Status(401)));
    let open = FakeNode::start(Chain::new(10)).await;
    assert_eq!(client([locked.endpoint(), open.endpoint()]).head().await.unwrap().number, 10);
    let error = locked.client().head().await.unwrap_err();
    assert!(matches!(error, NodeError::HttpStatus { status: 401, .. }) && !error.is_transient(), "{error}");
}

#[tokio::test]
async fn a_node_with_another_block_and_the_same_genesis_is_refused() {
    let fork = || Chain { branch: 1, ..Chain::new(10) };
    let (forked, right) = (FakeNode::start(fork()).await, FakeNode::start(Chain::new(10)).await);
    let block = |number| BlockRef { number, hash: Chain::new(10).hash(number) };
    let one = forked.client();
    let identity = one.identity().await.unwrap();
    one.expect_block(Some(block(5)));
    let error = one.head().await.unwrap_err();
    assert!(matches!(error, NodeError::WrongBlock { number: 5, .. }), "{error}");
    assert!(one.refuses_all());

    let both = client([forked.endpoint(), right.endpoint()]);
    both.expect_chain(identity);
    both.expect_block(Some(block(5)));
    assert_eq!(both.find_block_ref(7).await.unwrap(), Some(block(7)));
    assert!(!both.refuses_all());

    // A node that lacks the block says nothing about it.
    one.expect_block(Some(block(11)));
    assert_eq!(one.head().await.unwrap().number, 10);
    // Another node at the same address is compared when it is asked to be.
    one.expect_block(Some(block(5)));
    one.confirm_chain().await;
    assert!(one.refuses_all());
    forked.serve(Chain::new(10));
    one.confirm_chain().await;
    assert!(!one.refuses_all());
    assert_eq!(one.find_block_ref(7).await.unwrap(), Some(block(7)));
}
