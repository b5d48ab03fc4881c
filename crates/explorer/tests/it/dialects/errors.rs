//! Errors in the shapes that clients of Etherscan expect.

use serde_json::{Value, json};

use super::ask;
use crate::support::{DevNode, Fixture, TestExplorer, fixture::lower_hex};

/// An envelope has these members and no others.
#[track_caller]
fn expect(answer: &Value, message: &str, result: &Value) {
    assert_eq!(*answer, json!({ "status": "0", "message": message, "result": result }));
}

#[track_caller]
fn expect_reason(answer: &Value, reason: &str) {
    let found = answer["result"].as_str().unwrap_or_else(|| panic!("no text: {answer}"));
    assert!(found.starts_with(reason), "{answer}");
    expect(answer, "NOTOK", &json!(found));
}

#[tokio::test]
async fn each_kind_of_error_has_its_shape() {
    let fixture = Fixture::shared().await;
    let client = fixture.explorer.client();
    let nobody = format!("0x{}", "77".repeat(20));
    // Refused, with a reason.
    for (query, reason) in [
        ("module=nonsense&action=balance".to_owned(), "Error! Missing Or invalid Module name"),
        ("action=balance".to_owned(), "Error! Missing Or invalid Module name"),
        ("module=account&action=nonsense".to_owned(), "Error! Missing Or invalid Action name"),
        ("module=account".to_owned(), "Error! Missing Or invalid Action name"),
        ("module=account&action=balance".to_owned(), "Error! Missing address"),
        ("module=account&action=balance&address=0x12".to_owned(), "Error! Invalid address"),
        ("module=proxy&action=eth_getcode&address=0x12".to_owned(), "Error! Invalid address"),
        (format!("module=account&action=txlist&address={nobody}&sort=up"), "Error! Invalid sort"),
        (format!("module=contract&action=getabi&address={nobody}"), "Contract source code not verified"),
        ("module=contract&action=checkverifystatus&guid=nonsense".to_owned(), "Unknown UID"),
        ("module=stats&action=ethprice&apikey=expl_wrong".to_owned(), "Invalid API Key"),
        (format!("module=account&action=balance&address={nobody}&chainid=7"), "Error! chainid 7"),
    ] {
        expect_reason(&ask(client, &query).await, reason);
    }
    // An empty list is not an error, but has the same status.
    for (query, message) in [
        (format!("module=account&action=txlist&address={nobody}"), "No transactions found"),
        (format!("module=account&action=tokentx&address={nobody}"), "No transactions found"),
        (format!("module=account&action=txlistinternal&address={nobody}"), "No transactions found"),
        (format!("module=account&action=getminedblocks&address={nobody}"), "No transactions found"),
        (format!("module=logs&action=getLogs&address={nobody}"), "No records found"),
    ] {
        expect(&ask(client, &query).await, message, &json!([]));
    }
    // Neither is a single thing that does not exist.
    for (query, message) in [
        (format!("module=contract&action=getcontractcreation&contractaddresses={nobody}"), "No data found"),
        (format!("module=token&action=tokeninfo&contractaddress={nobody}"), "No data found"),
        ("module=block&action=getblockreward&blockno=99999999".to_owned(), "No record found"),
    ] {
        expect(&ask(client, &query).await, message, &Value::Null);
    }
    // A call that the node refuses has the shape of JSON-RPC.
    let call = format!("/api?module=proxy&action=eth_call&to={}&tag=latest", lower_hex(fixture.logger));
    let reverted = client.get(&call).await;
    assert_eq!((reverted.status, &reverted.json["jsonrpc"], &reverted.json["id"]), (200, &json!("2.0"), &json!(1)));
    let error = &reverted.json["error"];
    assert!(error["code"].is_i64() && error["message"].as_str().unwrap().contains("revert"), "{}", reverted.text);
    assert!(reverted.json.get("result").is_none() && reverted.json.get("status").is_none(), "{}", reverted.text);
    let unknown =
        client.get(&format!("/api?module=proxy&action=eth_getTransactionByHash&txhash=0x{}", "7".repeat(64))).await;
    assert_eq!(unknown.json, json!({ "jsonrpc": "2.0", "id": 1, "result": null }));
}

#[tokio::test]
async fn a_silent_node_is_an_error_and_not_a_balance() {
    let mut node = DevNode::start().await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    // The balance at an older block is stored: the API returns it with its block, for which there is no place here.
    let known = format!("module=account&action=balance&address={}", lower_hex(node.account(1)));
    assert_eq!(ask(explorer.client(), &known).await["message"], "OK");
    node.chain.mine(None);
    node.wait_for(&explorer).await;
    node.stop_serving().await;
    let nobody = format!("0x{}", "77".repeat(20));
    for query in [
        known,
        format!("module=account&action=balance&address={nobody}"),
        format!("module=account&action=balancemulti&address={nobody}"),
        format!("module=account&action=tokenbalance&contractaddress={nobody}&address={nobody}"),
        "module=proxy&action=eth_gasPrice".to_owned(),
    ] {
        expect_reason(&ask(explorer.client(), &query).await, "Error! The node is unavailable");
    }
}
