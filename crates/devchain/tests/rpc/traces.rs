//! Traces in the formats of geth and Parity.

use alloy_primitives::{Address, B256, Bytes, TxKind, U256, hex};
use alloy_sol_types::{Revert, SolError};
use devchain::DevChainConfig;
use serde_json::{Value, json};

use crate::node::{Node, ether, word};

/// Reverts with its call data.
const ECHO: &[u8] = &hex!("365f5f37365ffd");
/// Never ends.
const LOOP: &[u8] = &hex!("5b5f56");
/// The first call succeeds, later ones revert.
const ONCE: &[u8] = &hex!("5f54600a5760015f55005b5f5ffd");

fn deploy(node: &Node, runtime: &[u8]) -> Address {
    let length = u8::try_from(runtime.len()).unwrap();
    let code = [&[0x60, length, 0x80, 0x60, 0x09, 0x5f, 0x39, 0x5f, 0xf3], runtime].concat();
    let creation = node.chain.send(0, TxKind::Create, U256::ZERO, code).unwrap();
    node.chain.mine(None);
    node.chain.receipt(creation).unwrap().transaction().created.unwrap()
}

fn call(node: &Node, from: usize, to: Address, data: impl Into<Bytes>) -> B256 {
    node.chain.draft(from).unwrap().to(to).data(data).gas_limit(200_000).submit().unwrap()
}

/// Calls a contract with a value and all call data, and ignores the result.
fn calling(to: Address) -> Vec<u8> {
    [&hex!("365f5f375f5f365f600273")[..], to.as_slice(), &hex!("61ea60f15000")].concat()
}

async fn trace(node: &Node, hash: B256) -> Value {
    node.request("debug_traceTransaction", json!([hash, {"tracer": "callTracer"}])).await
}

#[tokio::test]
async fn errors_have_the_words_of_geth() {
    let node = Node::start().await;
    let [echo, endless, invalid, undefined] =
        [ECHO, LOOP, &hex!("fe")[..], &hex!("0c")[..]].map(|code| deploy(&node, code));
    let reason = Revert::from("too late").abi_encode();
    let reverted = call(&node, 0, echo, reason.clone());
    let others = [
        (endless, "out of gas"),
        (invalid, "invalid opcode: INVALID"),
        (undefined, "invalid opcode: opcode 0xc not defined"),
    ];
    let others = others.map(|(to, error)| (call(&node, 0, to, []), error));
    node.chain.mine(None);

    let found = trace(&node, reverted).await;
    assert_eq!(
        (&found["error"], &found["revertReason"]),
        (&json!("execution reverted"), &json!("too late")),
        "{found}"
    );
    assert_eq!((&found["output"], &found["type"]), (&json!(hex::encode_prefixed(&reason)), &json!("CALL")), "{found}");
    for (hash, error) in others {
        let options = json!({"tracer": "callTracer", "tracerConfig": {"onlyTopCall": true}});
        for found in [trace(&node, hash).await, node.request("debug_traceTransaction", json!([hash, options])).await] {
            assert_eq!((&found["error"], &found["gas"]), (&json!(error), &json!("0x30d40")), "{found}");
        }
    }
}

#[tokio::test]
async fn inner_calls_are_in_both_formats() {
    let node = Node::start().await;
    let keeper = node.create_keeper(0);
    let [echo, undefined] = [ECHO, &hex!("0c")[..]].map(|code| deploy(&node, code));
    let targets = [keeper, echo, undefined];
    for (target, error) in
        targets.into_iter().zip([None, Some("execution reverted"), Some("invalid opcode: opcode 0xc not defined")])
    {
        let caller = deploy(&node, &calling(target));
        let hash = node
            .chain
            .draft(0)
            .unwrap()
            .to(caller)
            .value(U256::from(5))
            .data(word(7))
            .gas_limit(300_000)
            .submit()
            .unwrap();
        node.chain.mine(None);
        let options = json!({"tracer": "callTracer", "tracerConfig": {"withLog": true}});
        let found = node.request("debug_traceTransaction", json!([hash, options])).await;
        let inner = &found["calls"][0];
        assert_eq!(
            (&found["value"], &inner["value"], &inner["to"]),
            (&json!("0x5"), &json!("0x2"), &json!(target)),
            "{found}"
        );
        assert_eq!((found.get("error"), inner["error"].as_str()), (None, error), "{found}");
        let logs = inner["logs"].as_array().map_or(0, Vec::len);
        assert_eq!(logs, usize::from(target == keeper), "{found}");

        let flat = node.request("trace_transaction", json!([hash])).await;
        assert_eq!(flat.as_array().unwrap().len(), 2, "{flat}");
        assert_eq!((&flat[0]["traceAddress"], &flat[1]["traceAddress"]), (&json!([]), &json!([0])), "{flat}");
        assert_eq!((&flat[1]["action"]["to"], &flat[1]["action"]["value"]), (&json!(target), &json!("0x2")), "{flat}");
        assert_eq!(flat[1].get("error").is_some(), error.is_some(), "{flat}");
        assert_eq!(
            (&flat[0]["transactionHash"], &flat[0]["blockNumber"]),
            (&json!(hash), &json!(node.chain.head().number))
        );
        assert_eq!(node.request("trace_block", json!(["latest"])).await, flat);
    }
}

#[tokio::test]
async fn a_block_is_executed_again_in_order_on_the_state_before_it() {
    let node = Node::start().await;
    let once = deploy(&node, ONCE);
    let sent = [0, 1, 2].map(|from| call(&node, from, once, []));
    let head = node.chain.mine(None);
    // Later blocks do not matter.
    node.pay(3, once, U256::ZERO);
    let options = json!({"tracer": "callTracer"});
    let traced = node.request("debug_traceBlockByNumber", json!([format!("{:#x}", head.number), options])).await;
    assert_eq!(traced, node.request("debug_traceBlockByHash", json!([head.hash, options])).await);
    for (index, hash) in sent.into_iter().enumerate() {
        assert_eq!(traced[index], json!({"txHash": hash, "result": trace(&node, hash).await}));
        assert_eq!(traced[index]["result"].get("error").is_some(), index > 0, "{traced}");
        let gas_used = node.chain.receipt(hash).unwrap().transaction().gas_used;
        assert_eq!(traced[index]["result"]["gasUsed"], format!("{gas_used:#x}"));
    }
}

#[tokio::test]
async fn the_prestate_has_what_the_transaction_read_and_its_difference_what_it_changed() {
    let node = Node::start().await;
    let keeper = node.create_keeper(0);
    call(&node, 0, keeper, word(3));
    node.chain.mine(None);
    let before = node.chain.balance(node.account(1));
    let hash = call(&node, 1, keeper, word(8));
    node.chain.mine(None);
    let slot = |value: u64| json!({B256::ZERO.to_string(): B256::from(U256::from(value))});
    let options = json!({"tracer": "prestateTracer"});
    let found = node.request("debug_traceTransaction", json!([hash, options])).await;
    let key = |address: Address| format!("{address:#x}");
    assert_eq!(found[key(keeper)]["storage"], slot(3), "{found}");
    assert!(found[key(keeper)]["code"].as_str().unwrap().len() > 2, "{found}");
    assert_eq!(found[key(node.account(1))]["balance"], format!("{before:#x}"), "{found}");

    let options = json!({"tracer": "prestateTracer", "tracerConfig": {"diffMode": true}});
    let found = node.request("debug_traceTransaction", json!([hash, options])).await;
    assert_eq!(found["pre"][key(keeper)]["storage"], slot(3), "{found}");
    assert_eq!(found["post"][key(keeper)]["storage"], slot(8), "{found}");
    let after = node.chain.balance(node.account(1));
    assert_eq!(found["post"][key(node.account(1))]["balance"], format!("{after:#x}"), "{found}");
    assert_eq!(found["post"][key(node.account(1))]["nonce"], 1, "{found}");
}

#[tokio::test]
async fn what_cannot_be_traced_is_refused_with_the_reason() {
    let node = Node::with(DevChainConfig { history: 128, ..DevChainConfig::default() }).await;
    let old = node.pay(0, Address::repeat_byte(3), ether(1));
    for _ in 0..127 {
        node.chain.mine(None);
    }
    let calls = json!({"tracer": "callTracer"});
    let message = async |method, params| node.error(method, params).await["message"].as_str().unwrap().to_owned();
    assert!(trace(&node, old).await.is_object(), "the last state that is kept is the one before block 1");
    node.chain.mine(None);
    let gone = "required historical state unavailable (reexec=128)";
    assert_eq!(message("debug_traceTransaction", json!([old, calls])).await, gone);
    assert_eq!(message("debug_traceBlockByNumber", json!(["0x1", calls])).await, gone);
    assert_eq!(message("trace_block", json!(["0x1"])).await, gone);
    assert_eq!(message("debug_traceBlockByNumber", json!(["0x0", calls])).await, "genesis is not traceable");
    assert_eq!(message("debug_traceTransaction", json!([B256::ZERO, calls])).await, "transaction not found");
    assert!(message("debug_traceTransaction", json!([old])).await.starts_with("struct logs are not supported"));
    let other = json!({"tracer": "opcodeTracer"});
    assert!(
        message("debug_traceTransaction", json!([old, other]))
            .await
            .starts_with("tracer \"opcodeTracer\" is not supported")
    );
    assert_eq!(node.request("trace_block", json!(["0x0"])).await, json!([]));
    assert_eq!(node.request("trace_block", json!(["0xfffff"])).await, Value::Null);
    assert_eq!(node.request("trace_transaction", json!([B256::ZERO])).await, Value::Null);
}

#[tokio::test]
async fn traces_can_be_left_out() {
    let node = Node::with(DevChainConfig { traces: false, ..DevChainConfig::default() }).await;
    for method in [
        "debug_traceTransaction",
        "debug_traceBlockByNumber",
        "debug_traceBlockByHash",
        "trace_block",
        "trace_transaction",
    ] {
        assert_eq!(node.error(method, json!([])).await["code"], -32601, "{method}");
    }
}
