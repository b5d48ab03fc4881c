//! Transactions before Byzantium: receipts had the root of the state instead of a status.

use alloy_primitives::B256;
use serde_json::{Value, json};

use super::{ALICE, BOB, on_both_stores, payment};
use crate::support::{Draft, Included, ReplayNode, TestExplorer};

const CREATED: &str = "0x00000000000000000000000000000000000000dd";

/// A legacy transaction, and its receipt with a root.
fn frontier(nonce: u64, transaction: Value, receipt: Value) -> Included {
    let mut included = payment(nonce, transaction, receipt);
    let legacy =
        json!({"type": "0x0", "v": "0x1b", "gasPrice": "0x9", "maxFeePerGas": null, "maxPriorityFeePerGas": null});
    for (name, value) in legacy.as_object().unwrap() {
        included.transaction[name] = value.clone();
    }
    included.receipt["status"] = Value::Null;
    included.receipt["root"] = json!(B256::repeat_byte(u8::try_from(nonce).unwrap() + 1));
    included
}

/// A payment of 100 wei, and the creation of a contract; both failed, as only a trace tells.
async fn node() -> ReplayNode {
    let creation =
        frontier(1, json!({"to": null, "value": "0x0", "input": "0x60"}), json!({"contractAddress": CREATED}));
    let draft = Draft { transactions: vec![frontier(0, json!({}), json!({})), creation], ..Draft::default() };
    ReplayNode::start(1, &[draft]).await
}

fn trace(node: &ReplayNode) {
    let call = |index: usize, kind: &str, to: &str| {
        json!({ "txHash": node.hash(1, index), "result": {
            "type": kind, "from": ALICE, "to": to, "value": "0x0", "gas": "0x1", "gasUsed": "0x1", "input": "0x",
            "error": "out of gas",
        }})
    };
    let traced = json!([call(0, "CALL", BOB), call(1, "CREATE", CREATED)]);
    node.answer("debug_traceBlockByNumber", &json!(["0x1", { "tracer": "callTracer" }]), traced);
}

async fn statuses(explorer: &TestExplorer) -> Vec<(Value, Value, Value)> {
    let list = explorer.json("/api/v1/transactions").await;
    let of = |tx: &Value| (tx["status"].clone(), tx["statusKnown"].clone(), tx["contractAddress"].clone());
    list["transactions"].as_array().unwrap().iter().map(of).collect()
}

async fn new_contracts(explorer: &TestExplorer) -> Value {
    explorer.json("/api/v1/stats/days").await["days"][0]["newContracts"].clone()
}

#[tokio::test]
async fn a_trace_tells_that_a_transaction_failed() {
    let node = node().await;
    trace(&node);
    on_both_stores(&node, async |explorer| {
        assert_eq!(statuses(explorer).await, vec![(json!(false), json!(true), Value::Null); 2]);
        assert_eq!(new_contracts(explorer).await, 0);
        let page = explorer.get(&format!("/tx/{}", node.hash(1, 0))).await.text;
        assert!(page.contains("data-outcome=\"failed\"") && page.contains("Failed to send"), "{page}");
        let page = explorer.get(&format!("/tx/{}", node.hash(1, 1))).await.text;
        assert!(page.contains("Failed to create a contract"), "{page}");
        let rows = explorer.json(&format!("/api?module=account&action=txlist&address={ALICE}")).await;
        let errors: Vec<_> = rows["result"].as_array().unwrap().iter().map(|row| &row["isError"]).collect();
        assert_eq!(errors, ["1", "1"]);
    })
    .await;
}

#[tokio::test]
async fn without_a_trace_the_outcome_is_unknown() {
    let node = node().await;
    on_both_stores(&node, async |explorer| {
        assert_eq!(statuses(explorer).await, vec![(json!(true), json!(false), Value::Null); 2]);
        assert_eq!(new_contracts(explorer).await, 0);
        let page = explorer.get(&format!("/tx/{}", node.hash(1, 0))).await.text;
        assert!(page.contains("data-outcome=\"unknown\"") && page.contains("with an unknown outcome"), "{page}");
        let list = explorer.get(&format!("/address/{ALICE}")).await.text;
        assert!(list.contains(">Unknown</span>"), "{list}");
        let history = explorer.json(&format!("/api/v1/addresses/{BOB}/balance-history")).await;
        assert_eq!(history["exact"], false);
        assert!(history["inexactReasons"].to_string().contains("unknown_outcome"), "{history}");
        let rows = explorer.json(&format!("/api?module=account&action=txlist&address={ALICE}")).await;
        let row = &rows["result"][0];
        assert_eq!((&row["txreceipt_status"], &row["statusKnown"]), (&json!(""), &json!(false)));
        assert_eq!(row["isError"], "");
        let hash = node.hash(1, 0);
        let status = explorer.json(&format!("/api?module=transaction&action=getstatus&txhash={hash}")).await;
        assert_eq!(status["result"], json!({ "isError": "", "errDescription": "" }));
    })
    .await;
}

#[tokio::test]
async fn code_proves_that_a_contract_was_created() {
    let node = node().await;
    node.answer_all("eth_getCode", json!("0x6001"));
    on_both_stores(&node, async |explorer| {
        let found = statuses(explorer).await;
        assert_eq!(found[0], (json!(true), json!(true), json!(CREATED)));
        assert_eq!(found[1], (json!(true), json!(false), Value::Null), "a payment");
        assert_eq!(new_contracts(explorer).await, 1);
    })
    .await;
}
