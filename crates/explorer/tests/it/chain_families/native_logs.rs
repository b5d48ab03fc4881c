//! Logs of the chain's coin (EIP-7708).

use serde_json::{Value, json};

use super::{ALICE, BOB, on_both_stores, payment};
use crate::{
    internal::wait_for_traces,
    support::{Draft, Included, Launch, ReplayNode, TestExplorer, admin::Metrics},
};

const SYSTEM: &str = "0xfffffffffffffffffffffffffffffffffffffffe";
const CONTRACT: &str = "0x00000000000000000000000000000000000000cc";
const CAROL: &str = "0x00000000000000000000000000000000000000c4";
/// `Transfer(address,address,uint256)`
const TRANSFER: &str = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

fn moved(from: &str, to: &str, value: u64) -> Value {
    let topic = |address: &str| format!("0x{:0>64}", &address[2..]);
    json!({"address": SYSTEM, "topics": [TRANSFER, topic(from), topic(to)], "data": format!("0x{value:064x}")})
}

/// A payment of 100 wei to a contract, which passes 70 on.
fn passing(nonce: u64) -> Included {
    let logs = [moved(ALICE, CONTRACT, 100), moved(CONTRACT, CAROL, 70)];
    payment(nonce, json!({"to": CONTRACT}), json!({"gasUsed": "0x9000", "logs": logs}))
}

fn block(included: Included) -> Draft {
    Draft { header: json!({"baseFeePerGas": "0x7"}), transactions: vec![included], ..Draft::default() }
}

/// A block before the fork, and two after it.
async fn node() -> ReplayNode {
    let plain = payment(2, json!({}), json!({"logs": [moved(ALICE, BOB, 100)]}));
    ReplayNode::start(1, &[block(payment(0, json!({}), json!({}))), block(passing(1)), block(plain)]).await
}

async fn assert_payment(explorer: &TestExplorer, kind: &str, gas: &Value) {
    let list = explorer.json(&format!("/api/v1/internal-transactions?address={CAROL}")).await;
    assert_eq!(list["total"], 1, "{list}");
    let paid = &list["internalTransactions"][0];
    let seen = (&paid["type"], &paid["fromAddress"], &paid["value"], &paid["gas"], &paid["blockNumber"]);
    assert_eq!(seen, (&json!(kind), &json!(CONTRACT), &json!("70"), gas, &json!(2)));
}

#[tokio::test]
async fn the_coin_is_no_token_and_its_logs_tell_internal_payments_without_traces() {
    let node = node().await;
    node.answer_all("eth_getBalance", json!("0x46"));
    // Before the first payment.
    node.answer("eth_getBalance", &json!([CAROL, {"blockHash": node.block(1)["hash"]}]), json!("0x0"));
    on_both_stores(&node, async |explorer| {
        // The block before the first such log stays unknown.
        wait_for_traces(explorer, 2, 3).await;
        assert_payment(explorer, "transfer", &Value::Null).await;
        for (path, list) in [
            ("/api/v1/tokens", "tokens"),
            (&format!("/api/v1/addresses/{CAROL}/tokens"), "tokens"),
            (&format!("/api/v1/addresses/{CAROL}/approvals"), "approvals"),
        ] {
            let found = explorer.json(path).await;
            assert_eq!((&found["total"], &found[list]), (&json!(0), &json!([])), "{path}");
        }
        let transfers = explorer.json(&format!("/api/v1/transactions/{}/transfers", node.hash(2, 0))).await;
        assert_eq!(transfers["total"], 0, "{transfers}");
        let logs = explorer.json(&format!("/api/v1/logs?address={SYSTEM}")).await;
        assert_eq!(logs["total"], 3, "they are logs: {logs}");
        let history = explorer.json(&format!("/api/v1/addresses/{CAROL}/balance-history")).await;
        let last = &history["points"].as_array().unwrap().last().unwrap()["balance"];
        assert_eq!((last, &history["exact"]), (&json!("70"), &json!(true)), "{history}");
        let page = explorer.get(&format!("/tx/{}", node.hash(2, 0))).await.text;
        assert!(page.contains("id=\"moved\"") && !page.contains("href=\"/token/"), "{page}");
        let rows =
            explorer.json(&format!("/api?module=account&action=txlistinternal&address={CAROL}&startblock=2")).await;
        let row = &rows["result"][0];
        assert_eq!(
            (&row["type"], &row["gas"], &row["value"]),
            (&json!("transfer"), &json!(""), &json!("70")),
            "{rows}"
        );
    })
    .await;
}

#[tokio::test]
async fn a_trace_has_to_agree_with_the_logs() {
    for (value, kind, gas, disagreements) in [("0x46", "call", json!("9"), 0), ("0x47", "transfer", Value::Null, 1)] {
        let node = node().await;
        let traced = |block: usize, to: &str, calls: Value| {
            let outer = json!({
                "type": "CALL", "from": ALICE, "to": to, "value": "0x64", "gas": "0x9", "gasUsed": "0x9", "input": "0x",
                "calls": calls,
            });
            let params = json!([format!("{block:#x}"), { "tracer": "callTracer" }]);
            let trace = json!([{ "txHash": node.hash(block, 0), "result": outer }]);
            node.answer("debug_traceBlockByNumber", &params, trace);
        };
        let inner = json!({
            "type": "CALL", "from": CONTRACT, "to": CAROL, "value": value, "gas": "0x9", "gasUsed": "0x9", "input": "0x",
        });
        traced(1, BOB, json!([]));
        traced(2, CONTRACT, json!([inner]));
        traced(3, BOB, json!([]));
        let explorer = Launch::run(&node.url()).start().await;
        node.wait_for(&explorer).await;
        wait_for_traces(&explorer, 0, 3).await;
        assert_payment(&explorer, kind, &gas).await;
        let metrics = Metrics::of(explorer.data().path()).await;
        assert_eq!(metrics.get("explorer_native_log_disagreements_total"), f64::from(disagreements));
        assert_eq!(explorer.log().contains("does not move the same coins"), disagreements > 0, "{}", explorer.log());
    }
}
