//! Code that used less gas than a payment costs.

use serde_json::{Value, json};

use super::{ALICE, BOB, on_both_stores, payment};
use crate::{
    internal::wait_for_traces,
    support::{Draft, ReplayNode, TestExplorer},
};

const CONTRACT: &str = "0x00000000000000000000000000000000000000cc";
const CREATED: &str = "0x00000000000000000000000000000000000000dd";
const FIVE: u64 = 5_000_000_000_000_000_000;

/// The trace of one transaction that calls the contract.
fn trace(hash: &str, inner: &Value) -> Value {
    json!([{ "txHash": hash, "result": {
        "type": "CALL", "from": ALICE, "to": CONTRACT, "value": "0x0", "gas": "0x5208", "gasUsed": "0x32ca", "input": "0x",
        "calls": [inner],
    }}])
}

async fn internal(explorer: &TestExplorer, address: &str) -> Value {
    explorer.json(&format!("/api/v1/internal-transactions?address={address}")).await
}

#[tokio::test]
async fn payments_of_transactions_that_got_gas_back_are_indexed() {
    // A self-destruct before London refunded more than a payment costs.
    let refunded = payment(0, json!({"to": CONTRACT, "value": "0x0"}), json!({"gasUsed": "0x32ca"}));
    let creating = payment(1, json!({"to": CONTRACT, "value": "0x0"}), json!({"gasUsed": "0x5208"}));
    let drafts = [refunded, creating].map(|included| Draft { transactions: vec![included], ..Draft::default() });
    let node = ReplayNode::start(1, &drafts).await;
    let destroyed = json!({
        "type": "SELFDESTRUCT", "from": CONTRACT, "to": BOB, "value": format!("{FIVE:#x}"), "gas": "0x0", "gasUsed": "0x0",
        "input": "0x",
    });
    let created = json!({
        "type": "CREATE", "from": CONTRACT, "to": CREATED, "value": "0x0", "gas": "0x9", "gasUsed": "0x1", "input": "0x60",
    });
    for (block, inner) in [(1, destroyed), (2, created)] {
        let params = json!([format!("{block:#x}"), { "tracer": "callTracer" }]);
        node.answer("debug_traceBlockByNumber", &params, trace(&node.hash(block, 0), &inner));
    }
    node.answer("debug_traceBlockByNumber", &json!(["0x0", { "tracer": "callTracer" }]), json!([]));
    node.answer_all("eth_getBalance", json!(format!("{FIVE:#x}")));
    node.answer("eth_getBalance", &json!([BOB, {"blockHash": node.block(0)["hash"]}]), json!("0x0"));
    node.answer_all("eth_getCode", json!("0x6001"));
    on_both_stores(&node, async |explorer| {
        wait_for_traces(explorer, 0, 2).await;
        let list = internal(explorer, BOB).await;
        assert_eq!((&list["total"], &list["completeFrom"], &list["completeTo"]), (&json!(1), &json!(0), &json!(2)));
        let paid = &list["internalTransactions"][0];
        assert_eq!(
            (&paid["type"], &paid["value"], &paid["gas"]),
            (&json!("selfdestruct"), &json!(FIVE.to_string()), &json!("0"))
        );
        let history = explorer.json(&format!("/api/v1/addresses/{BOB}/balance-history")).await;
        assert_eq!(history["exact"], true, "{history}");
        let points: Vec<_> = history["points"].as_array().unwrap().iter().map(|point| &point["balance"]).collect();
        assert_eq!((points.first(), points.last()), (Some(&&json!("0")), Some(&&json!(FIVE.to_string()))), "{history}");
        let contract = explorer.json(&format!("/api/v1/addresses/{CREATED}")).await;
        assert_eq!(contract["contract"]["creator"], CONTRACT, "{contract}");
        assert_eq!(explorer.json("/api/v1/stats").await["untracedBlocks"], 0);
    })
    .await;
}

#[tokio::test]
async fn without_traces_little_gas_proves_nothing() {
    let refunded = payment(0, json!({"to": CONTRACT}), json!({"gasUsed": "0x32ca"}));
    let node = ReplayNode::start(1, &[Draft { transactions: vec![refunded], ..Draft::default() }]).await;
    on_both_stores(&node, async |explorer| {
        let stats = explorer.json("/api/v1/stats").await;
        assert_eq!(stats["untracedBlocks"], 1, "{stats}");
        assert_eq!(internal(explorer, BOB).await["completeTo"].as_u64().filter(|to| *to >= 1), None);
        let history = explorer.json(&format!("/api/v1/addresses/{CONTRACT}/balance-history")).await;
        assert_eq!(history["exact"], false, "{history}");
        assert!(history["inexactReasons"].to_string().contains("no_internal_transactions"), "{history}");
    })
    .await;
}
