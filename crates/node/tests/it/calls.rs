//! Contract calls, some of them hostile, at archive and pruning nodes.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use alloy_primitives::Bytes;
use domain::{Address, BlockRef};
use node::{CallBlock, CallResult, ContractCall, NodeError};
use serde_json::{Value, json};

use crate::support::{Chain, FakeNode, Reply};

fn at(chain: &Chain, number: u64) -> CallBlock {
    CallBlock::At(BlockRef { number, hash: chain.hash(number) })
}

fn calls(bytes: impl IntoIterator<Item = u8>) -> Vec<ContractCall> {
    let call = |byte| ContractCall { to: Address::repeat_byte(byte), data: Bytes::from_static(&[1, 2, 3, 4]) };
    bytes.into_iter().map(call).collect()
}

/// The byte that identifies one of [`calls`].
fn callee(params: &Value) -> u8 {
    u8::from_str_radix(&params[0]["to"].as_str().unwrap()[2..4], 16).unwrap()
}

/// Returns the callee's byte, and nothing for the zero address.
fn echo(method: &str, params: &Value) -> Option<Reply> {
    if method != "eth_call" {
        return None;
    }
    let response = match callee(params) {
        0 => json!("0x"),
        byte => json!(format!("{byte:#04x}")),
    };
    Some(Reply::Result(response))
}

fn returned(byte: u8) -> CallResult {
    CallResult::Returned(Bytes::from(vec![byte]))
}

#[tokio::test]
async fn results_are_in_call_order_and_batched() {
    let node = FakeNode::start(Chain::new(10)).await;
    node.behave(|method, params| {
        (method == "eth_call").then(|| {
            assert_eq!(params[1], json!("latest"));
            assert_eq!(params[0]["data"], json!("0x01020304"));
            assert!(params[0]["gas"].is_string());
            echo(method, params).unwrap()
        })
    });
    let client = node.client();
    client.head().await.unwrap();
    let before = node.requests().len();
    let called = client.calls(calls(1..=60), CallBlock::Latest).await.unwrap();
    assert_eq!(called.results, (1..=60).map(returned).collect::<Vec<_>>());
    assert_eq!(called.block, None);
    assert_eq!(node.requests().split_off(before).len(), 3);
    assert_eq!(client.calls(Vec::new(), CallBlock::Latest).await.unwrap().results, []);
}

#[tokio::test]
async fn contracts_are_called_without_batches() {
    let node = FakeNode::start(Chain::new(10)).await;
    node.take_batches_up_to(0);
    node.behave(echo);
    let called = node.client().calls(calls(1..=30), CallBlock::Latest).await.unwrap();
    assert_eq!(called.results, (1..=30).map(returned).collect::<Vec<_>>());
}

#[tokio::test]
async fn failed_executions_are_distinguished_from_results() {
    let node = FakeNode::start(Chain::new(10)).await;
    node.behave(|method, params| {
        if method != "eth_call" {
            return None;
        }
        Some(match callee(params) {
            1 => Reply::Error(3, "execution reverted: rate limit exceeded"),
            2 => Reply::Error(-32000, "invalid opcode: INVALID"),
            3 => Reply::Error(-32000, "out of gas"),
            4 => Reply::Error(-32000, "stack limit reached 1024 (1023)"),
            5 => Reply::Result(json!(format!("0x{}", "00".repeat((64 << 10) + 1)))),
            6 => Reply::Result(json!(format!("0x{}", "ff".repeat(64 << 10)))),
            _ => return echo(method, params),
        })
    });
    let client = node.client();
    let results = client.calls(calls((0..=7).rev()), CallBlock::Latest).await.unwrap().results;
    let longest = CallResult::Returned(Bytes::from(vec![0xff; 64 << 10]));
    assert_eq!(results[..2], [returned(7), longest]);
    assert_eq!(results[2..7], [const { CallResult::Reverted }; 5]);
    assert_eq!(results[7], CallResult::Returned(Bytes::new()));
    let status = client.status();
    assert_eq!((status.retries, status.concurrency_limit), (0, 8), "no contract slows the client down");
}

#[tokio::test]
async fn a_call_with_an_unknown_error_counts_as_reverted_if_others_succeed() {
    let node = FakeNode::start(Chain::new(10)).await;
    node.behave(|method, params| match method {
        "eth_call" if callee(params) == 2 => Some(Reply::Error(-32000, "unknown failure")),
        _ => echo(method, params),
    });
    let results = node.client().calls(calls(1..=3), CallBlock::Latest).await.unwrap().results;
    assert_eq!(results, [returned(1), CallResult::Reverted, returned(3)]);
}

#[tokio::test]
async fn a_node_that_fails_every_call_is_retried() {
    let node = FakeNode::start(Chain::new(10)).await;
    node.behave(|method, _| (method == "eth_call").then_some(Reply::Error(-32000, "unknown failure")));
    let error = node.client().calls(calls(1..=1), CallBlock::Latest).await.unwrap_err();
    assert!(matches!(&error, NodeError::Rpc { .. }) && error.is_transient(), "{error}");

    let requests = Arc::new(AtomicUsize::new(0));
    node.behave(move |method, params| match method {
        "eth_call" if requests.fetch_add(1, Ordering::SeqCst) < 2 => {
            Some(Reply::Error(-32000, "execution aborted (timeout = 5s)"))
        }
        _ => echo(method, params),
    });
    let client = node.client();
    assert_eq!(client.calls(calls(1..=1), CallBlock::Latest).await.unwrap().results, [returned(1)]);
    assert_eq!(client.status().retries, 2);
}

#[tokio::test]
async fn the_block_is_selected_by_hash_or_else_by_number() {
    let chain = Chain::new(10);
    let node = FakeNode::start(chain.clone()).await;
    let hash = chain.hash(7).to_string();
    node.behave(move |method, params| {
        (method == "eth_call").then(|| {
            assert_eq!(params[1]["blockHash"], json!(hash));
            echo(method, params).unwrap()
        })
    });
    assert_eq!(node.client().calls(calls(1..=2), at(&chain, 7)).await.unwrap().block, Some(7));

    node.behave(|method, params| match method {
        "eth_call" if params[1].is_object() => Some(Reply::Error(-32602, "invalid argument 1: cannot unmarshal")),
        "eth_call" => {
            assert_eq!(params[1], json!("0x7"));
            echo(method, params)
        }
        _ => None,
    });
    let called = node.client().calls(calls(1..=2), at(&chain, 7)).await.unwrap();
    assert_eq!((called.results, called.block), (vec![returned(1), returned(2)], Some(7)));
}

#[tokio::test]
async fn unavailable_state_falls_back_to_the_head() {
    let chain = Chain::new(10);
    let node = FakeNode::start(chain.clone()).await;
    let old = chain.hash(3).to_string();
    node.behave(move |method, params| match method {
        "eth_call" if params[1]["blockHash"] == old.as_str() => {
            Some(Reply::Error(-32000, "missing trie node 12ab (path )"))
        }
        _ => echo(method, params),
    });
    let called = node.client().calls(calls(1..=1), at(&chain, 3)).await.unwrap();
    assert_eq!((called.results, called.block), (vec![returned(1)], Some(10)));
}

#[tokio::test]
async fn a_lagging_node_does_not_return_older_state() {
    let chain = Chain::new(10);
    let node = FakeNode::start(chain.clone()).await;
    node.behave(|method, _| (method == "eth_call").then_some(Reply::Error(-32000, "header not found")));
    let error = node.client().calls(calls(1..=1), at(&chain, 11)).await.unwrap_err();
    assert!(matches!(error, NodeError::Rpc { .. }), "{error}");
}
