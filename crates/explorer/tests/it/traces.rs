//! Traces of the dev chain: the same as those of another node, and used by the explorer.

use alloy_primitives::{Address, B256, Bytes, TxKind, U256, hex};
use devchain::{DevChain, DevChainConfig};
use serde_json::{Value, json};

use crate::support::{Anvil, DevNode, TestExplorer, fixture::lower_hex};

/// The creation code of a contract with this code.
fn creation_of(runtime: &[u8]) -> Vec<u8> {
    let [high, low] = u16::try_from(runtime.len()).unwrap().to_be_bytes();
    [&[0x61, high, low, 0x80, 0x60, 0x0a, 0x5f, 0x39, 0x5f, 0xf3], runtime].concat()
}

/// `Error("too late")`
fn reason() -> Vec<u8> {
    let text = format!("08c379a0{:064x}{:064x}{:0<64}", 32, 8, hex::encode("too late"));
    hex::decode(text).unwrap()
}

const PUSH1: u8 = 0x60;
const CALL: u8 = 0xf1;
const DELEGATECALL: u8 = 0xf4;
const STATICCALL: u8 = 0xfa;

/// Calls with all call data as input, and ignores the result.
fn call(kind: u8, to: Address, value: u8) -> Vec<u8> {
    let value = if kind == CALL { vec![PUSH1, value] } else { Vec::new() };
    // 20,000 gas, so that a call that uses it up does not use up all.
    [&hex!("5f5f365f")[..], &value, &[0x73], to.as_slice(), &hex!("614e20"), &[kind, 0x50]].concat()
}

/// Creates with a value; `kind` is CREATE or CREATE2.
fn create(kind: u8, init: &[u8], value: u8) -> Vec<u8> {
    let length = u8::try_from(init.len()).unwrap();
    let salt: &[u8] = if kind == 0xf5 { &[PUSH1, 7] } else { &[] };
    let stored = [&[0x5f + length][..], init, &hex!("5f52")].concat();
    [&stored[..], salt, &[PUSH1, length, PUSH1, 32 - length, PUSH1, value, kind, 0x50]].concat()
}

/// The same transactions, sent by the same account to both chains.
struct Pair {
    dev: DevNode,
    anvil: Anvil,
    sender: Address,
}

impl Pair {
    async fn start() -> Self {
        let dev = DevNode::start().await;
        let anvil = Anvil::with(&["--hardfork", "prague"]).await;
        let sender = dev.account(0);
        anvil.rpc.call("anvil_autoImpersonateAccount", json!([true])).await;
        anvil.rpc.call("anvil_setBalance", json!([sender, "0x21e19e0c9bab2400000"])).await;
        Self { dev, anvil, sender }
    }

    /// Mines the transaction on both chains and returns its hash on each.
    async fn send(&self, to: TxKind, value: u64, data: impl Into<Bytes>, gas: u64) -> (B256, String) {
        let data = data.into();
        let draft = self.dev.chain.draft(0).unwrap().kind(to).value(U256::from(value)).data(data.clone());
        let hash = draft.gas_limit(gas).submit().unwrap();
        self.dev.chain.mine(None);
        let transaction = json!({
            "from": self.sender, "to": to.to(), "value": U256::from(value), "data": data, "gas": format!("{gas:#x}"),
        });
        let receipt = self.anvil.send(transaction).await;
        (hash, receipt["transactionHash"].as_str().unwrap().to_owned())
    }

    async fn deploy(&self, runtime: &[u8]) -> Address {
        let (hash, _) = self.send(TxKind::Create, 0, creation_of(runtime), 500_000).await;
        self.dev.chain.receipt(hash).unwrap().transaction().created.unwrap()
    }

    async fn assert_same_traces(&self, what: &str, (dev, anvil): &(B256, String)) -> Value {
        for config in [json!({}), json!({ "withLog": true }), json!({ "onlyTopCall": true })] {
            let options = json!({ "tracer": "callTracer", "tracerConfig": config });
            let found = self.dev.rpc.call("debug_traceTransaction", json!([dev, options])).await;
            let mut expected = self.anvil.rpc.call("debug_traceTransaction", json!([anvil, options])).await;
            // Anvil leaves out the gas of the transaction itself, geth does not.
            expected["gas"] = self.anvil.rpc.call("eth_getTransactionByHash", json!([anvil])).await["gas"].take();
            if config["onlyTopCall"] == true {
                // Anvil still has a selfdestruct.
                expected.as_object_mut().unwrap().remove("calls");
            }
            assert_eq!(comparable(found.clone()), comparable(expected.clone()), "{what} {config}: {found} {expected}");
        }
        self.dev.rpc.call("debug_traceTransaction", json!([dev, { "tracer": "callTracer" }])).await
    }
}

impl Pair {
    async fn assert_same_flat_traces(&self, what: &str, (dev, anvil): &(B256, String)) {
        let found = self.dev.rpc.call("trace_transaction", json!([dev])).await;
        let expected = self.anvil.rpc.call("trace_transaction", json!([anvil])).await;
        assert_eq!(comparable(found.clone()), comparable(expected.clone()), "{what}: {found} {expected}");
    }
}

/// Without what identifies the block, and with the first words of errors: the dev chain names an undefined opcode and no
/// kinds of missing gas, as geth does. Anvil has names of its own for two errors.
fn comparable(mut trace: Value) -> Value {
    match &mut trace {
        Value::Object(fields) => {
            for name in ["blockHash", "blockNumber", "transactionHash", "transactionPosition"] {
                fields.remove(name);
            }
            if let Some(Value::String(error)) = fields.get_mut("error") {
                error.truncate(error.find(':').unwrap_or(error.len()));
                match error.as_str() {
                    "StateChangeDuringStaticCall" => *error = "write protection".to_owned(),
                    "CreateCollision" => *error = "contract address collision".to_owned(),
                    _ => {}
                }
            }
            for value in fields.values_mut() {
                *value = comparable(value.take());
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| *value = comparable(value.take())),
        _ => {}
    }
    trace
}

#[tokio::test]
async fn call_traces_equal_those_of_anvil() {
    let pair = Pair::start().await;
    let stop = pair.deploy(&hex!("00")).await;
    let echo = pair.deploy(&hex!("365f5f37365ffd")).await;
    let endless = pair.deploy(&hex!("5b5f56")).await;
    let invalid = pair.deploy(&hex!("fe")).await;
    let undefined = pair.deploy(&hex!("0c")).await;
    let logger = pair.deploy(&hex!("602a5f5fa100")).await;
    let ending = pair.deploy(&hex!("33ff")).await;
    let nested = pair.deploy(&[call(CALL, stop, 1), call(CALL, echo, 0), call(DELEGATECALL, logger, 0)].concat()).await;
    let identity = Address::with_last_byte(4);
    let child = creation_of(&[0x00]);
    let all = [
        hex!("365f5f37").to_vec(),
        call(CALL, stop, 3),
        call(CALL, echo, 1),
        call(CALL, endless, 0),
        call(CALL, invalid, 0),
        call(CALL, undefined, 0),
        call(CALL, nested, 5),
        call(CALL, ending, 2),
        call(DELEGATECALL, logger, 0),
        call(STATICCALL, stop, 0),
        call(STATICCALL, logger, 0),
        call(STATICCALL, identity, 0),
        create(0xf0, &child, 4),
        create(0xf5, &child, 0),
        create(0xf0, &hex!("5f5ffd"), 0),
        // More than it has.
        call(CALL, stop, 0xff),
        // The contract exists by now, which uses up nearly all gas.
        create(0xf5, &child, 0),
    ];
    let all = pair.deploy(&all.concat()).await;

    let cases = [
        ("every kind of call", pair.send(TxKind::Call(all), 100, reason(), 2_000_000).await),
        ("a revert with a reason", pair.send(TxKind::Call(echo), 0, reason(), 100_000).await),
        ("out of gas", pair.send(TxKind::Call(endless), 0, [], 100_000).await),
        ("an invalid opcode", pair.send(TxKind::Call(invalid), 0, [], 100_000).await),
        ("a payment", pair.send(TxKind::Call(Address::repeat_byte(0x55)), 9, [], 21_000).await),
        ("a creation", pair.send(TxKind::Create, 8, creation_of(&[0x00]), 200_000).await),
        ("a failed creation", pair.send(TxKind::Create, 0, hex!("5f5ffd"), 200_000).await),
        ("a selfdestruct", pair.send(TxKind::Call(ending), 6, [], 100_000).await),
        ("a precompile", pair.send(TxKind::Call(identity), 0, reason(), 100_000).await),
    ];
    let traced = pair.assert_same_traces(cases[0].0, &cases[0].1).await;
    let kinds: Vec<&str> =
        traced["calls"].as_array().unwrap().iter().map(|call| call["type"].as_str().unwrap()).collect();
    for kind in ["CALL", "DELEGATECALL", "STATICCALL", "CREATE", "CREATE2"] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    let text = traced.to_string();
    for part in ["SELFDESTRUCT", "too late", "out of gas", "invalid opcode: opcode 0xc not defined", "write protection"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    for (what, hashes) in &cases[1..] {
        pair.assert_same_traces(what, hashes).await;
        // Anvil lists calls of precompiles, which Parity leaves out, and an address for a creation that failed.
        if !["a failed creation", "a precompile"].contains(what) {
            pair.assert_same_flat_traces(what, hashes).await;
        }
    }
}

/// Creates a contract inside a call, and returns the factory and the contract.
fn create_inside_call(chain: &DevChain) -> (Address, Address) {
    let sent = chain.send(0, TxKind::Create, U256::ZERO, creation_of(&create(0xf0, &creation_of(&[0x00]), 0))).unwrap();
    chain.mine(None);
    let factory = chain.receipt(sent).unwrap().transaction().created.unwrap();
    chain.draft(1).unwrap().to(factory).gas_limit(200_000).submit().unwrap();
    chain.mine(None);
    // The nonce of a contract starts at 1.
    (factory, factory.create(1))
}

#[tokio::test]
async fn contracts_created_inside_calls_have_their_creator_as_far_as_the_node_has_states() {
    let config = DevChainConfig { history: 128, ..DevChainConfig::default() };
    let [traced, untraced] = [true, false].map(|traces| DevChain::new(DevChainConfig { traces, ..config.clone() }));
    for chain in [traced, untraced] {
        let (_, old) = create_inside_call(&chain);
        let reached = 300;
        while chain.head().number < reached {
            // Each block executes code, so that it is traced.
            chain.draft(2).unwrap().to(old).data([1]).gas_limit(100_000).submit().unwrap();
            chain.mine(None);
        }
        let (factory, new) = create_inside_call(&chain);
        let node = DevNode::serve(chain).await;
        let has_traces = node.rpc.answers(&[("trace_block", json!(["latest"]))]).await[0].is_ok();
        let explorer = TestExplorer::start(&node.url()).await;
        node.wait_for(&explorer).await;
        let creator = async |address| {
            let detail = explorer.json(&format!("/api/v1/addresses/{}", lower_hex(address))).await;
            assert_eq!(detail["isContract"], true, "{detail}");
            detail["contract"]["creator"].clone()
        };
        assert_eq!(creator(old).await, Value::Null, "its state is gone");
        let untraced_blocks = explorer.json("/api/v1/stats").await["untracedBlocks"].as_u64().unwrap();
        if has_traces {
            assert_eq!(creator(new).await, lower_hex(factory));
            // States of 128 blocks, of which the search for the first one skips a few.
            assert!((170..210).contains(&untraced_blocks), "{untraced_blocks}");
            assert!(!explorer.log().contains("tracing failed"), "{}", explorer.log());
        } else {
            assert_eq!(
                explorer.get(&format!("/api/v1/addresses/{}", lower_hex(new))).await.json["firstSeen"],
                Value::Null
            );
            assert!(untraced_blocks >= 300, "{untraced_blocks}");
        }
    }
}
