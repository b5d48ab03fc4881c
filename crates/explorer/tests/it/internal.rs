//! Internal transactions: every one equals the node's trace, whatever the node offers, after reorgs and kills.

use std::collections::HashMap;

use alloy_primitives::{Address, TxKind, U256, hex};
use devchain::{DevChain, DevChainConfig, ReorgedTransactions};
use serde_json::{Value, json};

use crate::support::{
    Anvil, DevNode, Fault, FaultyNode, Launch, Rpc, Script, TestExplorer, eventually, fixture::lower_hex, read_list,
};

const TRACE: &str = "debug_traceBlockByNumber";
const NO_METHOD: Fault = Fault::Error(-32601, "the method does not exist");

/// The initial code of a contract that pays its value to an address and then runs more code.
fn pays(to: Address, more: &[u8]) -> Vec<u8> {
    // CALL with the value of the transaction.
    [&hex!("5f5f5f5f3473")[..], to.as_slice(), &hex!("5af150"), more].concat()
}

/// Payments, a reverted payment, a creation and a self-destruct inside transactions, one block each.
pub(crate) fn send_everything(chain: &DevChain, round: u8) -> Address {
    let paid = Address::repeat_byte(0x70 + round);
    let create_empty = hex!("5f5f6001f050");
    let destroy = [&[0x73][..], paid.as_slice(), &[0xff]].concat();
    for (value, more) in [
        (1_000 + u64::from(round), &hex!("00")[..]),
        (7, &hex!("5f5ffd")),
        (5, &[&create_empty[..], &hex!("00")].concat()),
        (3, &destroy),
        (0, &hex!("00")),
    ] {
        let draft = chain.draft(0).unwrap().kind(TxKind::Create).value(U256::from(value)).data(pays(paid, more));
        draft.gas_limit(300_000).submit().unwrap();
        chain.mine(None);
    }
    paid
}

/// Depth first: the internal transactions of a call, without the outermost one.
fn walk(call: &Value, error: Option<&Value>, is_outermost: bool, found: &mut Vec<Value>) {
    let error = call.get("error").or(error);
    let kind = call["type"].as_str().unwrap().to_lowercase();
    let value = call["value"].as_str().map_or(U256::ZERO, |value| value.parse().unwrap());
    let is_creation = kind.starts_with("create");
    let counts = is_creation || kind == "selfdestruct" || kind == "call" && !value.is_zero();
    if counts && !is_outermost {
        let to = if is_creation && error.is_some() { Value::Null } else { call["to"].clone() };
        found.push(json!({ "type": kind, "from": call["from"], "to": to, "value": value.to_string(), "error": error }));
    }
    for inner in call["calls"].as_array().into_iter().flatten() {
        walk(inner, error, false, found);
    }
}

/// All internal transactions of a node's chain, newest first, from its traces.
async fn traced(rpc: &Rpc, head: u64) -> Vec<Value> {
    let mut all = Vec::new();
    for number in 1..=head {
        let params = json!([format!("{number:#x}"), { "tracer": "callTracer" }]);
        for trace in rpc.call("debug_traceBlockByNumber", params).await.as_array().unwrap() {
            let mut found = Vec::new();
            walk(&trace["result"], None, true, &mut found);
            for (position, mut entry) in found.into_iter().enumerate() {
                entry["position"] = position.into();
                entry["block"] = number.into();
                entry["tx"] = trace["txHash"].clone();
                all.push(entry);
            }
        }
    }
    all.reverse();
    all
}

async fn listed(explorer: &TestExplorer, filter: &str) -> Vec<Value> {
    let path = format!("/api/v1/internal-transactions?{filter}&");
    let entries = read_list(explorer.client(), &path, "internalTransactions").await;
    let short = |entry: &Value| {
        json!({
            "type": entry["type"], "from": entry["fromAddress"], "to": entry["toAddress"], "value": entry["value"],
            "error": entry["error"], "position": entry["position"], "block": entry["blockNumber"], "tx": entry["txHash"],
        })
    };
    entries.iter().map(short).collect()
}

/// Waits until internal transactions are complete from a block up to the head.
pub(crate) async fn wait_for_traces(explorer: &TestExplorer, from: u64, to: u64) {
    eventually("internal transactions", async || {
        let stats = explorer.json("/api/v1/stats").await;
        let traced_range = (&stats["internalTransactionsFrom"], &stats["internalTransactionsTo"]);
        (traced_range == (&json!(from), &json!(to))).then_some(())
    })
    .await;
}

/// Compares the whole list, that of each transaction and block, and those of each address in every role.
async fn assert_equals_traces(explorer: &TestExplorer, rpc: &Rpc, head: u64) {
    let expected = traced(rpc, head).await;
    assert!(!expected.is_empty());
    assert_eq!(listed(explorer, "").await, expected);
    let with = |field: &str, value: &Value| -> Vec<Value> {
        expected.iter().filter(|entry| entry[field] == *value).cloned().collect()
    };
    for entry in &expected {
        let hash = entry["tx"].as_str().unwrap();
        assert_eq!(listed(explorer, &format!("txHash={hash}")).await, with("tx", &entry["tx"]));
        let block = &entry["block"];
        assert_eq!(listed(explorer, &format!("blockFrom={block}&blockTo={block}")).await, with("block", block));
        let Some(to) = entry["to"].as_str() else { continue };
        assert_eq!(listed(explorer, &format!("toAddress={to}")).await, with("to", &entry["to"]));
        let touching: Vec<Value> =
            expected.iter().filter(|other| [&other["from"], &other["to"]].contains(&&entry["to"])).cloned().collect();
        assert_eq!(listed(explorer, &format!("address={to}")).await, touching);
        let detail = explorer.json(&format!("/api/v1/addresses/{to}")).await;
        assert_eq!(detail["internalTxCount"], touching.len(), "{detail}");
        assert!(!detail["firstSeen"].is_null() && !detail["lastSeen"].is_null(), "{detail}");
        let from = entry["from"].as_str().unwrap();
        assert_eq!(listed(explorer, &format!("fromAddress={from}")).await, with("from", &entry["from"]));
    }
}

#[tokio::test]
async fn every_internal_transaction_equals_the_trace_before_and_after_reorgs_and_a_kill() {
    let node = DevNode::start().await;
    let paid = send_everything(&node.chain, 0);
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    wait_for_traces(&explorer, 0, node.chain.head().number).await;
    assert_equals_traces(&explorer, &node.rpc, node.chain.head().number).await;
    let page = explorer.get(&format!("/address/{paid}?tab=internal")).await.text;
    assert!(page.contains("complete from block") && page.contains("href=\"/block/0\""), "{page}");
    assert!(page.contains("execution reverted") && page.contains("selfdestruct"), "{page}");
    let hash = explorer.json("/api/v1/internal-transactions").await["internalTransactions"][0]["txHash"].clone();
    let page = explorer.get(&format!("/tx/{}", hash.as_str().unwrap())).await.text;
    assert!(page.contains("id=\"internal\""), "{page}");
    let detail = explorer.json(&format!("/api/v1/addresses/{}", lower_hex(paid))).await;
    assert_eq!((&detail["txCount"], &detail["internalTransactionsFrom"]), (&json!(0), &json!(0)), "{detail}");

    node.chain.reorg(3, 4, ReorgedTransactions::Replay).unwrap();
    send_everything(&node.chain, 1);
    node.wait_for(&explorer).await;
    wait_for_traces(&explorer, 0, node.chain.head().number).await;
    assert_equals_traces(&explorer, &node.rpc, node.chain.head().number).await;

    let data = explorer.kill();
    node.chain.reorg(2, 3, ReorgedTransactions::Drop).unwrap();
    send_everything(&node.chain, 2);
    let explorer = TestExplorer::start_on(&node.url(), &data).await;
    node.wait_for(&explorer).await;
    wait_for_traces(&explorer, 0, node.chain.head().number).await;
    assert_equals_traces(&explorer, &node.rpc, node.chain.head().number).await;
}

#[tokio::test]
async fn kills_while_internal_transactions_are_filled_in_do_not_change_the_result() {
    let chain = DevChain::new(DevChainConfig::default());
    for round in 0..12 {
        send_everything(&chain, round);
    }
    let head = chain.head().number;
    let node = FaultyNode::start(&chain, 5, Script::default()).await;
    let traced = || node.request_counts().methods.get(TRACE).copied().unwrap_or_default();
    let hold_after = |more: usize| {
        let until = traced() + more;
        node.set_behavior(Script { held: Some((TRACE, until)), ..Script::default() });
        until
    };
    let mut until = hold_after(5);
    let mut explorer = TestExplorer::start(&node.url()).await;
    for _ in 0..4 {
        node.wait_for(&explorer).await;
        eventually("a few traces", async || (traced() >= until).then_some(())).await;
        let stats = explorer.json("/api/v1/stats").await;
        assert_ne!(stats["internalTransactionsFrom"], 0, "killed before they are complete");
        let data = explorer.kill();
        until = hold_after(5);
        explorer = TestExplorer::start_on(&node.url(), &data).await;
    }
    node.set_behavior(Script::default());
    node.wait_for(&explorer).await;
    wait_for_traces(&explorer, 0, head).await;
    assert_equals_traces(&explorer, &node.rpc, head).await;
}

/// Indexes a chain from a node without some methods. Returns how often each one was called, and the number of blocks.
async fn assert_traced_without(missing: [&'static str; 2]) -> (HashMap<String, usize>, usize) {
    let chain = DevChain::new(DevChainConfig::default());
    send_everything(&chain, 0);
    let head = chain.head().number;
    let faults = missing.map(|method| (method, NO_METHOD, 1.0)).to_vec();
    let node = FaultyNode::start(&chain, 1, Script { faults, ..Script::default() }).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    wait_for_traces(&explorer, 0, head).await;
    let direct = DevNode::serve(chain).await;
    assert_equals_traces(&explorer, &direct.rpc, head).await;
    (node.request_counts().methods, usize::try_from(head).unwrap())
}

#[tokio::test]
async fn a_node_with_the_other_dialect_gives_the_same_internal_transactions() {
    let (counts, blocks) = assert_traced_without(["debug_traceBlockByNumber", "debug_traceTransaction"]).await;
    assert!(counts["trace_block"] <= blocks + 2, "one request per block: {counts:?}");
    assert!(counts["debug_traceBlockByNumber"] <= 8, "found out once: {counts:?}");
}

#[tokio::test]
async fn a_node_that_traces_single_transactions_only_gives_the_same_internal_transactions() {
    let (counts, _) = assert_traced_without(["debug_traceBlockByNumber", "trace_block"]).await;
    assert!(counts["debug_traceTransaction"] <= 8, "one request for each transaction with code: {counts:?}");
}

#[tokio::test]
async fn calls_a_thousand_deep_are_indexed() {
    // Calls itself with a coin as long as it can. A call gets 63 of 64 parts of the gas, so the first one needs a lot.
    const GAS: u64 = 10_000_000_000_000;
    let account_balance = U256::from(10).pow(U256::from(27));
    let chain = DevChain::new(DevChainConfig { block_gas_limit: GAS, account_balance, ..DevChainConfig::default() });
    let init = hex!("6a5f5f5f5f6001305af150005f52600b6015f3");
    let created = chain.draft(0).unwrap().kind(TxKind::Create).value(U256::from(1)).data(init.to_vec());
    let address = chain.accounts()[0].address().create(0);
    created.gas_limit(300_000).submit().unwrap();
    chain.mine(None);
    let hash = chain.draft(0).unwrap().kind(TxKind::Call(address)).gas_limit(GAS).submit().unwrap();
    chain.mine(None);
    let head = chain.head().number;
    let node = DevNode::serve(chain).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    wait_for_traces(&explorer, 0, head).await;
    let found = listed(&explorer, &format!("txHash={hash}")).await;
    let succeeded: Vec<&Value> = found.iter().filter(|entry| entry["error"].is_null()).collect();
    assert_eq!(succeeded.len(), 1_024, "as deep as the chain allows: {found:?}");
    assert!(succeeded.iter().all(|entry| entry["from"] == lower_hex(address) && entry["to"] == lower_hex(address)));
}

#[tokio::test]
async fn slow_traces_hold_up_no_block() {
    let chain = DevChain::new(DevChainConfig::default());
    send_everything(&chain, 0);
    let node = FaultyNode::start(&chain, 1, Script { held: Some((TRACE, 0)), ..Script::default() }).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let stats = explorer.json("/api/v1/stats").await;
    assert_eq!(stats["internalTransactionsTo"], Value::Null, "blocks are indexed before their traces: {stats}");
    node.set_behavior(Script::default());
    wait_for_traces(&explorer, 0, chain.head().number).await;
    let direct = DevNode::serve(chain).await;
    assert_equals_traces(&explorer, &direct.rpc, direct.chain.head().number).await;
}

#[tokio::test]
async fn without_traces_no_answer_claims_to_know_internal_transactions() {
    let node = DevNode::with(DevChainConfig { traces: false, ..DevChainConfig::default() }).await;
    send_everything(&node.chain, 0);
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    explorer.wait_for_log("internal transactions stay unknown").await;
    let list = explorer.json("/api/v1/internal-transactions").await;
    assert_eq!((&list["total"], &list["completeFrom"], &list["completeTo"]), (&json!(0), &Value::Null, &Value::Null));

    let halted = Launch::run(&node.url()).argument("--traces", "required").start().await;
    eventually("the halt", async || (halted.get("/health").await.json["phase"] == "halted").then_some(())).await;
    assert!(halted.log().contains("--traces required"), "{}", halted.log());
    let untraced = Launch::run(&node.url()).argument("--traces", "off").start().await;
    node.wait_for(&untraced).await;
    assert_eq!(untraced.json("/api/v1/stats").await["internalTransactionsFrom"], Value::Null);
}

#[tokio::test]
async fn a_node_that_has_only_recent_states_gives_the_internal_transactions_of_recent_blocks() {
    let chain = DevChain::new(DevChainConfig { history: 128, ..DevChainConfig::default() });
    for round in 0..40 {
        send_everything(&chain, round);
    }
    let head = chain.head().number;
    let node = DevNode::serve(chain).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let from = eventually("internal transactions", async || {
        let stats = explorer.json("/api/v1/stats").await;
        (stats["internalTransactionsTo"] == head).then(|| stats["internalTransactionsFrom"].as_u64().unwrap())
    })
    .await;
    // The search for the first one skips a few.
    assert!(from > head - 130 && from < head - 90, "{from} of {head}");
    let list = explorer.json("/api/v1/internal-transactions").await;
    assert_eq!(list["completeFrom"], from);
    let known = listed(&explorer, &format!("blockFrom={from}")).await;
    assert!(known.len() > 3, "{known:?}");
}

#[tokio::test]
async fn anvil_gives_the_same_internal_transactions_as_its_traces() {
    let anvil = Anvil::start().await;
    let paid = Address::repeat_byte(0x66);
    for (value, more) in [(9_u64, hex!("00").to_vec()), (8, hex!("5f5ffd").to_vec())] {
        let accounts = anvil.rpc.call("eth_accounts", json!([])).await;
        let data = format!("0x{}", hex::encode(pays(paid, &more)));
        let transaction =
            json!({ "from": accounts[0], "value": format!("{value:#x}"), "data": data, "gas": "0x493e0" });
        anvil.submit(transaction).await;
        anvil.mine(1).await;
    }
    let head = anvil.rpc.call("eth_blockNumber", json!([])).await;
    let head = u64::from_str_radix(head.as_str().unwrap().trim_start_matches("0x"), 16).unwrap();
    let explorer = TestExplorer::start(anvil.rpc.url()).await;
    wait_for_traces(&explorer, 0, head).await;
    assert_equals_traces(&explorer, &anvil.rpc, head).await;
}

#[tokio::test]
async fn ten_thousand_internal_calls_in_a_transaction_do_not_delay_the_index() {
    let chain = DevChain::new(DevChainConfig { block_gas_limit: 200_000_000, ..DevChainConfig::default() });
    let paid = Address::repeat_byte(0x67);
    // Pays 1 wei in a loop that counts down from 10,000.
    let code = [&hex!("6127105b5f5f5f5f600173")[..], paid.as_slice(), &hex!("5af150600190038060035700")].concat();
    let draft = chain.draft(0).unwrap().kind(TxKind::Create).value(U256::from(10_000)).data(code);
    let hash = draft.gas_limit(150_000_000).submit().unwrap();
    chain.mine(None);
    chain.mine(None);
    let head = chain.head().number;
    let node = DevNode::serve(chain).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    wait_for_traces(&explorer, 0, head).await;
    let path = format!("/api/v1/internal-transactions?txHash={hash}&limit=100");
    let last = explorer.json(&format!("{path}&page=100")).await;
    assert_eq!((&last["total"], last["internalTransactions"].as_array().unwrap().len()), (&json!(10_000), 100));
    assert_eq!(last["internalTransactions"][99]["position"], 0);
    assert_eq!(explorer.json(&format!("{path}&page=1")).await["internalTransactions"][0]["position"], 9_999);
    let detail = explorer.json(&format!("/api/v1/addresses/{}", lower_hex(paid))).await;
    assert_eq!((&detail["internalTxCount"], &detail["balance"]), (&json!(10_000), &json!("10000")));
}
