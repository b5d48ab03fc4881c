//! An index that begins in the middle of the chain says so, wherever its numbers depend on it.

use serde_json::{Value, json};

use crate::support::{DevNode, Launch, TestExplorer, eventually};

/// Whether objects of a schema have a field.
fn has_field(document: &Value, schema: &Value, field: &str) -> bool {
    if let Some(reference) = schema["$ref"].as_str() {
        return has_field(document, document.pointer(reference.trim_start_matches('#')).unwrap(), field);
    }
    let parts = ["allOf", "oneOf", "anyOf"].into_iter().filter_map(|parts| schema[parts].as_array()).flatten();
    schema["properties"].get(field).is_some() || parts.into_iter().any(|part| has_field(document, part, field))
}

/// Paths of all resources whose numbers depend on the first indexed block, as the OpenAPI document says.
async fn paths(explorer: &TestExplorer) -> Vec<String> {
    let tokens = explorer.json("/api/v1/tokens?limit=100").await;
    let tokens = tokens["tokens"].as_array().unwrap();
    let token = tokens[0]["address"].as_str().unwrap();
    let is_collection = |token: &&Value| !token["type"].as_str().unwrap().ends_with("20");
    let collection = tokens.iter().find(is_collection).unwrap()["address"].as_str().unwrap();
    let listed = explorer.json(&format!("/api/v1/tokens/{collection}/ids")).await;
    let id = listed["ids"][0]["tokenId"].as_str().unwrap();
    let holders = format!("/api/v1/tokens/{token}/holders");
    let first_holder = async || explorer.json(&holders).await["holders"][0]["address"].as_str().map(str::to_owned);
    let holder = eventually("the token has a holder", first_holder).await;

    let transactions = explorer.json("/api/v1/transactions").await;
    let newest = transactions["transactions"][0]["blockNumber"].to_string();
    let hash = transactions["transactions"][0]["hash"].as_str().unwrap();

    let document = explorer.json("/api/v1/openapi.json").await;
    let says_coverage = |operation: &Value| {
        let schema = &operation["get"]["responses"]["200"]["content"]["application/json"]["schema"];
        has_field(&document, schema, "firstIndexedBlock")
    };
    let operations = document["paths"].as_object().unwrap().iter();
    let templates = operations.filter(|(_, operation)| says_coverage(operation)).map(|(path, _)| path.as_str());
    // Accounts are listed only if the operator wants it.
    let mut paths: Vec<String> = templates.filter(|path| *path != "/api/v1/accounts").map(str::to_owned).collect();
    assert!(paths.len() > 15, "{paths:?}");
    for path in &mut paths {
        *path = path
            .replace("tokens/{address}/ids", &format!("tokens/{collection}/ids"))
            .replace("tokens/{address}", &format!("tokens/{token}"))
            .replace("addresses/{address}", &format!("addresses/{holder}"))
            .replace("{id}", id)
            .replace("{numberOrHash}", &newest)
            .replace("{hash}", hash);
        if path.ends_with("/balance-history") {
            *path += &format!("?token={token}");
        }
    }
    paths
}

#[tokio::test]
async fn numbers_say_since_which_block_they_are() {
    let (node, _) = DevNode::with_traffic(200).await;
    let tip = node.chain.head().number;
    for (first, complete) in [(0, true), (tip / 2, false)] {
        let explorer = Launch::run(&node.url()).argument("--start-block", first).start().await;
        node.wait_for(&explorer).await;
        for path in paths(&explorer).await {
            let answer = explorer.get(&path).await;
            let told = (&answer.json["firstIndexedBlock"], &answer.json["complete"]);
            assert_eq!(told, (&json!(first), &json!(complete)), "{path}");
            assert_eq!(answer.header("x-explorer-block"), tip.to_string(), "{path}");
        }
        let answer = explorer.client().query(json!({ "entity": "token_transfers" })).await;
        assert_eq!((&answer["firstIndexedBlock"], &answer["complete"]), (&json!(first), &json!(complete)));

        let token = explorer.json("/api/v1/tokens").await["tokens"][0]["address"].as_str().unwrap().to_owned();
        for (page, words) in [
            ("/".to_owned(), format!("Indexed since block {first}.")),
            (format!("/token/{token}?tab=holders"), format!("since block {first}<")),
        ] {
            let answer = explorer.get(&page).await;
            assert_eq!((answer.status, answer.text.contains(&words)), (200, !complete), "{page}");
        }
    }
}

#[tokio::test]
async fn lists_in_etherscans_format_say_since_which_block_they_are() {
    let (node, _) = DevNode::with_traffic(200).await;
    let first = node.chain.head().number / 2;
    let explorer = Launch::run(&node.url()).argument("--start-block", first).start().await;
    node.wait_for(&explorer).await;
    let ask = async |query: String| explorer.json(&format!("/api?module={query}")).await;
    let listed = explorer.json("/api/v1/transactions").await;
    let sender = listed["transactions"][0]["fromAddress"].as_str().unwrap();
    let txlist = format!("account&action=txlist&address={sender}");
    let since = ask(txlist.clone()).await;
    assert_eq!((&since["message"], &since["firstIndexedBlock"]), (&json!("OK"), &json!(first)));
    let known = ask(format!("{txlist}&startblock={first}")).await;
    assert_eq!(known, json!({ "status": "1", "message": "OK", "result": since["result"] }), "nothing is missing");

    // What happened before is not known, which is not nothing.
    let nobody = format!("0x{}", "77".repeat(20));
    let unknown = format!("Error! The index begins with block {first}");
    for query in [
        format!("account&action=txlist&address={nobody}"),
        format!("account&action=tokentx&address={nobody}"),
        format!("account&action=tokennfttx&contractaddress={nobody}"),
        format!("account&action=getminedblocks&address={nobody}"),
        format!("account&action=txsBeaconWithdrawal&address={nobody}"),
        format!("token&action=tokenholderlist&contractaddress={nobody}"),
        "block&action=getblocknobytime&timestamp=1&closest=after".to_owned(),
        "block&action=getblocknobytime&timestamp=1&closest=before".to_owned(),
    ] {
        let answer = ask(query.clone()).await;
        assert_eq!((&answer["status"], &answer["message"]), (&json!("0"), &json!("NOTOK")), "{query}: {answer}");
        assert!(answer["result"].as_str().is_some_and(|reason| reason.starts_with(&unknown)), "{query}: {answer}");
    }
    let none = json!({ "status": "0", "message": "No transactions found", "result": [] });
    assert_eq!(ask(format!("account&action=txlist&address={nobody}&startblock={first}")).await, none);
    assert_eq!(
        ask(format!("account&action=txlist&address={nobody}&page=2&offset=10")).await,
        none,
        "the end of a list"
    );
}

#[tokio::test]
async fn an_empty_index_has_no_first_block() {
    let node = DevNode::start().await;
    let explorer = Launch::run(&node.url()).argument("--start-block", 1_000).start().await;
    let stats = explorer.json("/api/v1/stats").await;
    assert_eq!((&stats["firstIndexedBlock"], &stats["complete"]), (&Value::Null, &json!(false)));
    assert!(!explorer.get("/").await.text.contains("Indexed since"));
}
