//! Init code from nodes with call traces, flat traces or no tracing.

use domain::{Address, B256, Bytes, CreationId};
use serde_json::{Value, json};

use crate::support::{Chain, FakeNode, Reply};

const TX: B256 = B256::repeat_byte(0x77);
const BLOCK: B256 = B256::repeat_byte(0xbb);
const CREATION: CreationId = CreationId { tx_hash: TX, block_hash: BLOCK };

fn text(address: Address) -> String {
    format!("{address:#x}")
}

fn factory() -> Address {
    Address::repeat_byte(1)
}

fn child() -> Address {
    Address::repeat_byte(2)
}

fn create(created: Address, init: &str, calls: Value) -> Value {
    json!({ "type": "CREATE", "from": text(factory()), "to": text(created), "input": init, "calls": calls })
}

/// A transaction that created the factory, which created a child in its constructor.
fn answer(method: &str, block: B256, trace: Option<&Reply>) -> Option<Reply> {
    match method {
        "eth_getTransactionByHash" => Some(Reply::Result(
            json!({ "hash": TX.to_string(), "blockHash": block.to_string(), "to": null, "input": "0x6001" }),
        )),
        "eth_getTransactionReceipt" => Some(Reply::Result(json!({
            "transactionHash": TX.to_string(), "blockHash": block.to_string(), "status": "0x1",
            "contractAddress": text(factory()), "logs": [],
        }))),
        "debug_traceTransaction" => trace.cloned(),
        _ => None,
    }
}

async fn node(block: B256, trace: Option<Reply>) -> FakeNode {
    let node = FakeNode::start(Chain::new(10)).await;
    node.behave(move |method, _| answer(method, block, trace.as_ref()));
    node
}

fn code(bytes: &'static [u8]) -> Option<Bytes> {
    Some(Bytes::from_static(bytes))
}

#[tokio::test]
async fn the_input_of_a_transaction_is_the_init_code_of_the_contract_in_its_receipt_only() {
    let trace = create(factory(), "0x6001", json!([create(child(), "0x6002", json!([]))]));
    let node = node(BLOCK, Some(Reply::Result(trace))).await;
    let client = node.client();
    assert_eq!(client.find_creation_code(factory(), CREATION).await.unwrap(), code(&[0x60, 1]));
    assert_eq!(client.find_creation_code(child(), CREATION).await.unwrap(), code(&[0x60, 2]));
    assert_eq!(client.find_creation_code(Address::repeat_byte(3), CREATION).await.unwrap(), None);
}

#[tokio::test]
async fn without_tracing_the_init_code_of_an_inner_creation_is_unknown() {
    for trace in [
        None,
        Some(Reply::Error(-32601, "the method debug_traceTransaction does not exist")),
        Some(Reply::Error(-32000, "required historical state unavailable (reexec=128)")),
        Some(Reply::Error(-32000, "execution timeout")),
        Some(Reply::Result(Value::Null)),
        Some(Reply::Result(json!([1, 2]))),
        Some(Reply::Status(403)),
    ] {
        let node = node(BLOCK, trace).await;
        let client = node.client();
        assert_eq!(client.find_creation_code(child(), CREATION).await.unwrap(), None);
        assert_eq!(client.find_creation_code(factory(), CREATION).await.unwrap(), code(&[0x60, 1]));
    }
}

#[tokio::test]
async fn flat_traces_are_used_without_call_traces() {
    let node = FakeNode::start(Chain::new(10)).await;
    node.behave(move |method, _| match method {
        "trace_transaction" => Some(Reply::Result(json!([
            { "type": "create", "action": { "init": "0x6001" }, "result": { "address": text(factory()) }, "traceAddress": [] },
            { "type": "create", "action": { "init": "0x6002" }, "result": { "address": text(child()) }, "traceAddress": [0] },
        ]))),
        method => answer(method, BLOCK, None),
    });
    assert_eq!(node.client().find_creation_code(child(), CREATION).await.unwrap(), code(&[0x60, 2]));
}

#[tokio::test]
async fn a_contract_created_twice_has_no_init_code() {
    let failed = json!({ "type": "CALL", "from": text(factory()), "to": text(factory()), "error": "execution reverted",
        "calls": [create(child(), "0x6003", json!([]))] });
    let once = create(factory(), "0x6001", json!([failed, create(child(), "0x6002", json!([]))]));
    let twice = create(
        factory(),
        "0x6001",
        json!([create(child(), "0x6003", json!([])), create(child(), "0x6002", json!([]))]),
    );
    for (trace, expected) in [(once, code(&[0x60, 2])), (twice, None)] {
        let node = node(BLOCK, Some(Reply::Result(trace))).await;
        assert_eq!(node.client().find_creation_code(child(), CREATION).await.unwrap(), expected);
    }
}

#[tokio::test]
async fn a_transaction_in_another_block_gives_no_init_code() {
    let trace = create(factory(), "0x6001", json!([create(child(), "0x6002", json!([]))]));
    let node = node(B256::repeat_byte(0xcc), Some(Reply::Result(trace))).await;
    for contract in [factory(), child()] {
        assert_eq!(node.client().find_creation_code(contract, CREATION).await.unwrap(), None);
    }
}

#[tokio::test]
async fn a_failed_transaction_gives_no_init_code() {
    let node = FakeNode::start(Chain::new(10)).await;
    node.behave(move |method, _| match answer(method, BLOCK, None)? {
        Reply::Result(mut outcome) if method == "eth_getTransactionReceipt" => {
            outcome["status"] = json!("0x0");
            Some(Reply::Result(outcome))
        }
        reply => Some(reply),
    });
    assert_eq!(node.client().find_creation_code(factory(), CREATION).await.unwrap(), None);
}
