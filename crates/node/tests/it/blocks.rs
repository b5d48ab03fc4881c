//! Blocks from nodes that are slow, rate-limited, incomplete or return false data.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use domain::{B256, BlockRef};
use node::NodeError;
use serde_json::{Value, json};

use crate::support::{Chain, FakeNode, Reply, chain::text, client};

/// Returns the reply for the first calls of a method, and honest responses afterwards.
fn at_first(times: usize, method: &'static str, reply: Reply) -> impl Fn(&str, &Value) -> Option<Reply> {
    let left = AtomicUsize::new(times);
    move |called, _| {
        let taken = called == method
            && left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        taken.then(|| reply.clone())
    }
}

#[tokio::test]
async fn a_block_takes_two_requests() {
    let node = FakeNode::start(Chain::new(10)).await;
    let client = node.client();
    client.head().await.unwrap();
    let before = node.requests().len();
    let fetched = client.find_block(7).await.unwrap().unwrap();
    assert_eq!(node.requests().len() - before, 2);
    let chain = Chain::new(10);
    assert_eq!((fetched.block.number, fetched.block.hash), (7, chain.hash(7)));
    assert_eq!(fetched.block.parent_hash, chain.hash(6));
    assert_eq!((fetched.transactions.len(), fetched.logs.len()), (3, 6));
    assert!(client.status().reachable);
}

#[tokio::test]
async fn a_block_that_the_node_does_not_have_yet_is_none() {
    let node = FakeNode::start(Chain::new(10)).await;
    let client = node.client();
    assert_eq!(client.find_block(11).await.unwrap(), None);
    assert_eq!(client.find_block_ref(11).await.unwrap(), None);
    assert_eq!(client.find_block_ref(10).await.unwrap(), Some(BlockRef { number: 10, hash: Chain::new(10).hash(10) }));
    assert_eq!(client.head().await.unwrap().number, 10);
    assert_eq!(client.finalized().await.unwrap(), Some(8));
    assert_eq!(client.identity().await.unwrap().genesis_hash, Chain::new(10).hash(0));
    assert_eq!(client.status().retries, 0);
}

#[tokio::test]
async fn an_empty_block_needs_no_receipts() {
    let empty = Chain { transactions: 0, ..Chain::new(3) };
    let node = FakeNode::start(empty).await;
    node.behave(|method, _| (method == "eth_getBlockReceipts").then_some(Reply::Result(Value::Null)));
    let fetched = node.client().find_block(3).await.unwrap().unwrap();
    assert!(fetched.transactions.is_empty());
}

#[tokio::test]
async fn a_node_without_finality_has_no_finalized_block() {
    let node = FakeNode::start(Chain::new(3)).await;
    for reply in
        [Reply::Error(-32602, "invalid tag"), Reply::Error(-39001, "Unknown block"), Reply::Result(Value::Null)]
    {
        node.behave(move |_, params| (params[0] == "finalized").then(|| reply.clone()));
        assert_eq!(node.client().finalized().await.unwrap(), None);
    }
}

#[tokio::test]
async fn receipts_of_another_branch_are_refetched_by_hash() {
    let node = FakeNode::start(Chain::new(10)).await;
    let other = Chain { branch: 5, ..Chain::new(10) };
    node.behave(move |method, params| {
        (method == "eth_getBlockReceipts" && params[0] == "0x7").then(|| Reply::Result(other.receipts(7)))
    });
    let client = node.client();
    let fetched = client.find_block(7).await.unwrap().unwrap();
    assert_eq!((fetched.block.hash, fetched.logs.len()), (Chain::new(10).hash(7), 6));
    assert_eq!(client.status().retries, 0);
}

#[tokio::test]
async fn invalid_blocks_are_never_returned() {
    let chain = Chain::new(10);
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut receipts = chain.receipts(7);
        change(&mut receipts);
        Reply::Result(receipts)
    };
    let mut other_block = chain.block(7);
    other_block["number"] = json!("0x8");
    let mut stray = chain.block(7);
    stray["transactions"][1]["blockHash"] = json!(text(B256::repeat_byte(3)));
    let mut orphan = chain.block(7);
    orphan.as_object_mut().unwrap().remove("parentHash");
    let invalid = [
        ("eth_getBlockReceipts", changed(&|all| all[1]["blockHash"] = json!(text(B256::repeat_byte(3))))),
        ("eth_getBlockReceipts", changed(&|all| all[1]["transactionHash"] = json!(text(B256::repeat_byte(3))))),
        ("eth_getBlockReceipts", changed(&|all| drop(all.as_array_mut().unwrap().pop()))),
        ("eth_getBlockReceipts", changed(&|all| all[2]["logs"][0]["removed"] = json!(true))),
        ("eth_getBlockReceipts", changed(&|all| all[2]["logs"][0]["blockHash"] = json!(text(B256::repeat_byte(3))))),
        ("eth_getBlockReceipts", Reply::Result(Value::Null)),
        ("eth_getBlockByNumber", Reply::Result(other_block)),
        ("eth_getBlockByNumber", Reply::Result(stray)),
        ("eth_getBlockByNumber", Reply::Result(orphan)),
        ("eth_getBlockReceipts", Reply::Raw("<html>busy</html>")),
        ("eth_getBlockByNumber", Reply::Raw(r#"{"jsonrpc":"2.0","id":1,"result":{"number":"0x7","ha"#)),
    ];
    for (method, reply) in invalid {
        let node = FakeNode::start(chain.clone()).await;
        let client = node.client();
        client.head().await.unwrap();
        let scripted = reply.clone();
        let on_block_7 = move |called: &str, params: &Value| {
            let full = method == "eth_getBlockReceipts" || params[1] == json!(true);
            (called == method && full).then(|| scripted.clone())
        };
        node.behave(on_block_7);
        let error = client.find_block(7).await.unwrap_err();
        assert!(
            matches!(&error, NodeError::InvalidResponse { method: found, .. } if *found == method),
            "{reply:?}: {error}"
        );
        assert_eq!(client.status().rejected_responses, 6, "{reply:?}");

        node.behave(|_, _| None);
        assert!(client.find_block(7).await.unwrap().is_some(), "a valid block is accepted after {reply:?}");
    }
}

/// No hash covers log indexes: the order of the logs, which one covers, tells them.
#[tokio::test]
async fn wrong_log_indexes_are_replaced_and_need_no_second_request() {
    let (node, chain) = (FakeNode::start(Chain::new(10)).await, Chain::new(10));
    let mut receipts = chain.receipts(7);
    receipts[2]["logs"][0]["logIndex"] = json!("0x0");
    node.behave(move |method, _| (method == "eth_getBlockReceipts").then(|| Reply::Result(receipts.clone())));
    let client = node.client();
    let logs = client.find_block(7).await.unwrap().unwrap().logs;
    assert_eq!(logs.iter().map(|log| log.log_index).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
    assert_eq!(client.status().rejected_responses, 0);
}

#[tokio::test]
async fn an_invalid_response_is_retried() {
    let node = FakeNode::start(Chain::new(10)).await;
    node.behave(at_first(2, "eth_getBlockReceipts", Reply::Result(json!([]))));
    let client = node.client();
    assert_eq!(client.find_block(7).await.unwrap().unwrap().transactions.len(), 3);
    assert_eq!((client.status().rejected_responses, client.status().retries), (1, 1));
}

#[tokio::test]
async fn without_block_receipts_single_ones_are_batched() {
    let node = FakeNode::start(Chain { transactions: 120, ..Chain::new(4) }).await;
    node.behave(|method, _| {
        (method == "eth_getBlockReceipts")
            .then_some(Reply::Error(-32601, "the method eth_getBlockReceipts does not exist"))
    });
    let client = node.client();
    for number in 1..=4 {
        let fetched = client.find_block(number).await.unwrap().unwrap();
        assert_eq!((fetched.transactions.len(), fetched.logs.len()), (120, 240));
    }
    assert_eq!(node.request_count("eth_getBlockReceipts"), 1);
    let batches: Vec<usize> = node.requests().into_iter().filter(|calls| *calls > 1).collect();
    assert_eq!(batches.iter().sum::<usize>(), 4 * 120);
    assert_eq!(batches.len(), 4 * 3);
}

#[tokio::test]
async fn failing_block_receipts_are_replaced_by_single_ones() {
    let ways = [
        Reply::Status(403),
        Reply::Error(-32000, "method not allowed"),
        Reply::Status(500),
        Reply::Late(Duration::from_secs(60), Value::Null),
    ];
    for reply in ways {
        let node = FakeNode::start(Chain::new(40)).await;
        let scripted = reply.clone();
        node.behave(move |method, _| (method == "eth_getBlockReceipts").then(|| scripted.clone()));
        let mut config = crate::support::config([node.endpoint()]);
        config.request_timeout = Duration::from_millis(500);
        let client = node::NodeClient::new(config).unwrap();
        for number in 1..=40 {
            let fetched = client.find_block(number).await;
            assert_eq!(fetched.unwrap().unwrap().logs.len(), 6, "{reply:?}");
        }
        assert!(
            node.request_count("eth_getBlockReceipts") < 40,
            "{reply:?}: {}",
            node.request_count("eth_getBlockReceipts")
        );
    }
}

#[tokio::test]
async fn batches_shrink_to_the_limit_of_the_node() {
    for (largest, single) in [(13, 0), (0, 60)] {
        let node = FakeNode::start(Chain { transactions: 60, ..Chain::new(2) }).await;
        node.behave(|method, _| {
            (method == "eth_getBlockReceipts").then_some(Reply::Error(-32000, "Method is not supported"))
        });
        node.take_batches_up_to(largest);
        let client = node.client();
        client.find_block(1).await.unwrap().unwrap();
        let before = node.requests().len();
        assert_eq!(client.find_block(2).await.unwrap().unwrap().logs.len(), 120);
        let requests = node.requests().split_off(before);
        assert!(requests.iter().all(|calls| *calls <= largest.max(1)), "{requests:?}");
        assert_eq!(requests.iter().filter(|calls| **calls == 1).count(), single + 1, "with the block itself");
        assert_eq!(client.status().retries, 0);
    }
}

#[tokio::test]
async fn a_partially_failed_batch_is_retried() {
    let node = FakeNode::start(Chain { transactions: 10, ..Chain::new(2) }).await;
    let requests = AtomicUsize::new(0);
    node.behave(move |method, _| match method {
        "eth_getBlockReceipts" => Some(Reply::Error(-32601, "no such method")),
        "eth_getTransactionReceipt" => match requests.fetch_add(1, Ordering::SeqCst) {
            earlier @ 0..10 if earlier % 2 == 0 => Some(Reply::Error(-32603, "internal error")),
            10..15 => Some(Reply::Result(Value::Null)),
            _ => None,
        },
        _ => None,
    });
    let client = node.client();
    assert_eq!(client.find_block(1).await.unwrap().unwrap().transactions.len(), 10);
    assert_eq!(client.status().retries, 2);
}

#[tokio::test]
async fn retry_after_and_the_rate_limit_are_respected() {
    let node = FakeNode::start(Chain::new(10)).await;
    let client = node.client();
    client.head().await.unwrap();
    node.behave(at_first(4, "eth_getBlockByNumber", Reply::RetryAfter(60)));
    let start = Instant::now();
    client.head().await.unwrap();
    assert!(start.elapsed() >= Duration::from_millis(300), "Retry-After is respected up to the configured bound");
    let status = client.status();
    assert_eq!((status.retries, status.concurrency_limit), (4, 8));
}

#[tokio::test]
async fn one_rejection_delays_only_its_request() {
    // The quickest of a few: other work on the machine may delay one.
    let mut quickest = Duration::MAX;
    for _ in 0..8 {
        let node = FakeNode::start(Chain::new(10)).await;
        let client = node.client();
        client.head().await.unwrap();
        node.behave(at_first(1, "eth_getBlockReceipts", Reply::RetryAfter(60)));
        let start = Instant::now();
        client.find_block(7).await.unwrap().unwrap();
        quickest = quickest.min(start.elapsed());
        let status = client.status();
        assert_eq!((status.retries, status.requests_per_second), (1, None), "{status:?}");
    }
    assert!(quickest < Duration::from_millis(250), "{quickest:?}");
}

#[tokio::test]
async fn rate_limits_in_error_messages_are_recognised() {
    for reply in [Reply::Error(-32005, "limit"), Reply::Error(-32000, "rate limit exceeded"), Reply::Status(429)] {
        let node = FakeNode::start(Chain::new(10)).await;
        let client = node.client();
        client.head().await.unwrap();
        node.behave(at_first(4, "eth_getBlockByNumber", reply.clone()));
        client.head().await.unwrap();
        assert!(client.status().requests_per_second.is_some(), "{reply:?}");
    }
}

#[tokio::test]
async fn a_permanent_rate_limit_is_reported_as_such() {
    let node = FakeNode::start(Chain::new(10)).await;
    let client = node.client();
    client.head().await.unwrap();
    node.behave(|_, _| Some(Reply::Status(429)));
    let error = client.find_block(7).await.unwrap_err();
    assert!(matches!(error, NodeError::Limited { .. }), "{error}");
    assert!(error.is_transient());
}

#[tokio::test]
async fn server_errors_are_retried_and_client_errors_are_not() {
    let node = FakeNode::start(Chain::new(10)).await;
    let client = node.client();
    for transient in [Reply::Status(502), Reply::Status(503), Reply::Error(-32603, "internal error")] {
        node.behave(at_first(2, "eth_getBlockByNumber", transient));
        assert_eq!(client.head().await.unwrap().number, 10);
    }
    let before = node.request_count("eth_getBlockByNumber");
    node.behave(at_first(1, "eth_getBlockByNumber", Reply::Error(-32602, "invalid params")));
    let error = client.head().await.unwrap_err();
    assert!(matches!(error, NodeError::Rpc { code: -32602, .. }), "{error}");
    assert_eq!(node.request_count("eth_getBlockByNumber") - before, 1);
}

#[tokio::test]
async fn a_timed_out_request_is_retried() {
    let node = FakeNode::start(Chain::new(10)).await;
    let mut config = crate::support::config([node.endpoint()]);
    config.request_timeout = Duration::from_secs(2);
    let client = node::NodeClient::new(config).unwrap();
    client.head().await.unwrap();
    node.behave(at_first(1, "eth_getBlockByNumber", Reply::Late(Duration::from_secs(60), Value::Null)));
    assert!(client.find_block(7).await.unwrap().is_some());
    assert_eq!((client.status().retries, client.status().concurrency_limit), (1, 8));

    node.behave(|_, _| Some(Reply::Late(Duration::from_secs(60), Value::Null)));
    let mut config = crate::support::config([node.endpoint()]);
    config.request_timeout = Duration::from_millis(20);
    let error = node::NodeClient::new(config).unwrap().head().await.unwrap_err();
    assert!(matches!(error, NodeError::TimedOut { .. }), "{error}");
}

#[tokio::test]
async fn a_response_longer_than_allowed_is_rejected() {
    let node = FakeNode::start(Chain::new(10)).await;
    let mut config = crate::support::config([node.endpoint()]);
    config.max_response_bytes = 1_500;
    config.retry.tries = 1;
    let client = node::NodeClient::new(config).unwrap();
    assert!(client.head().await.is_ok());
    assert!(matches!(client.find_block(7).await, Err(NodeError::InvalidResponse { .. })));
}

#[tokio::test]
async fn concurrency_adapts_to_the_node() {
    let node = FakeNode::start(Chain::new(400)).await;
    let client = node.client();
    client.head().await.unwrap();
    let under_way = Arc::new(AtomicUsize::new(0));
    let blocks = (1..=400).map(|number| {
        let (client, under_way) = (client.clone(), Arc::clone(&under_way));
        tokio::spawn(async move {
            let fetched = client.find_block(number).await.unwrap().unwrap();
            under_way.fetch_add(1, Ordering::Relaxed);
            fetched.block.number
        })
    });
    let blocks: Vec<_> = blocks.collect();
    for (expected, block) in (1..).zip(blocks) {
        assert_eq!(block.await.unwrap(), expected);
    }
    assert!(client.status().concurrency_limit > 8, "it grew: {:?}", client.status());
    assert_eq!(client.status().rejected_responses, 0);
}

#[tokio::test]
async fn a_block_of_many_megabytes_is_decoded() {
    let node = FakeNode::start(Chain { transactions: 1_000, logs_each: 5, ..Chain::new(1) }).await;
    let mut config = crate::support::config([node.endpoint()]);
    config.request_timeout = Duration::from_secs(10);
    let fetched = node::NodeClient::new(config).unwrap().find_block(1).await.unwrap().unwrap();
    assert_eq!(fetched.logs.len(), 5_000);
    assert!(fetched.logs.windows(2).all(|pair| pair[0].log_index < pair[1].log_index));
}

#[tokio::test]
async fn without_any_endpoint_there_is_no_client() {
    assert!(matches!(node::NodeClient::new(crate::support::config([])), Err(NodeError::NoEndpoint)));
    let down = client([crate::support::dead_endpoint().await]);
    assert!(!down.status().reachable);
    let error = down.head().await.unwrap_err();
    assert!(matches!(error, NodeError::Unreachable { .. }) && error.is_transient(), "{error}");
}
