//! Transactions that the node has in its pool.

use alloy_primitives::{Address, U256, hex};
use serde_json::{Value, json};

use crate::support::{Anvil, DevNode, TestExplorer, client::Answer, fixture::lower_hex};

async fn pending(explorer: &TestExplorer, hash: &str) -> Answer {
    explorer.get(&format!("/api/v1/transactions/{hash}?pending=true")).await
}

#[tokio::test]
async fn a_pending_transaction_turns_into_the_mined_one() {
    let mut node = DevNode::start().await;
    node.chain.mine(None);
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let to = Address::repeat_byte(0x42);
    let data = hex!("a9059cbb00");
    let sent = node.chain.draft(0).unwrap().to(to).value(U256::from(12)).data(data).gas_limit(90_000).submit().unwrap();
    let hash = sent.to_string();

    let found = pending(&explorer, &hash).await;
    assert_eq!((found.status, found.header("cache-control")), (200, "no-store"), "{}", found.text);
    let found = found.json;
    let expected = [
        ("hash", json!(hash)),
        ("blockNumber", Value::Null),
        ("pending", json!(true)),
        ("fromAddress", json!(lower_hex(node.account(0)))),
        ("toAddress", json!(lower_hex(to))),
        ("value", json!("12")),
        ("nonce", json!(0)),
        ("gasLimit", json!("90000")),
        ("method", json!("0xa9059cbb")),
        ("input", json!("0xa9059cbb00")),
    ];
    for (name, value) in expected {
        assert_eq!(found.get(name), Some(&value), "{name}: {found}");
    }
    assert!(found["gasPrice"].as_str().is_some_and(|price| price != "0"), "{found}");
    for query in ["", "?pending=false"] {
        let answer = explorer.get(&format!("/api/v1/transactions/{hash}{query}")).await;
        assert_eq!((answer.status, &answer.json["code"]), (404, &json!("transaction_not_found")), "{query}");
    }
    let invalid = explorer.get(&format!("/api/v1/transactions/{hash}?pending=yes")).await;
    assert_eq!((invalid.status, &invalid.json["field"]), (400, &json!("pending")));
    let page = explorer.get(&format!("/tx/{hash}")).await;
    assert_eq!(page.status, 200);
    for part in
        ["Pending", "data-stream", "data-pending", "90,000", "<span class=\"method\">transfer</span>", &to.to_string()]
    {
        assert!(page.text.contains(part), "{part}: {}", page.text);
    }

    node.chain.mine(None);
    node.wait_for(&explorer).await;
    let mined = pending(&explorer, &hash).await.ok();
    assert_eq!((&mined["blockNumber"], mined.get("pending")), (&json!(2), None), "{mined}");
    assert_eq!(mined, explorer.json(&format!("/api/v1/transactions/{hash}")).await);
    let page = explorer.get(&format!("/tx/{hash}")).await.text;
    assert!(page.contains("Gas used") && !page.contains("data-pending"), "{page}");

    // Without the node nobody knows what is in its pool.
    let unknown = format!("0x{}", "ab".repeat(32));
    assert_eq!(pending(&explorer, &unknown).await.status, 404);
    node.stop_serving().await;
    let answer = pending(&explorer, &unknown).await;
    assert_eq!((answer.status, &answer.json["code"]), (503, &json!("node_unavailable")));
    assert!(explorer.get(&format!("/tx/{unknown}")).await.text.contains("may still be pending"));
}

#[tokio::test]
async fn a_replaced_or_dropped_transaction_is_unknown_to_the_node() {
    let anvil = Anvil::with(&["--no-mining"]).await;
    let accounts = anvil.accounts().await;
    let (from, to) = (&accounts[0], &accounts[1]);
    let transaction = |price: &str, nonce: &str| json!({ "from": from, "to": to, "value": "0x1", "gas": "0x5208", "gasPrice": price, "nonce": nonce });
    let first = anvil.submit(transaction("0x77359400", "0x0")).await;
    let dropped = anvil.submit(transaction("0x77359400", "0x1")).await;
    let explorer = TestExplorer::start(anvil.url()).await;
    anvil.wait_for(&explorer).await;
    for hash in [&first, &dropped] {
        let found = pending(&explorer, hash).await.ok();
        assert_eq!((&found["pending"], &found["gasPrice"]), (&json!(true), &json!("2000000000")), "{found}");
        assert!(explorer.get(&format!("/tx/{hash}")).await.text.contains("data-pending"));
    }

    let second = anvil.submit(transaction("0xee6b2800", "0x0")).await;
    anvil.rpc.call("anvil_dropTransaction", json!([dropped])).await;
    for hash in [&first, &dropped] {
        assert_eq!(pending(&explorer, hash).await.status, 404);
        let page = explorer.get(&format!("/tx/{hash}")).await;
        assert_eq!(page.status, 404);
        assert!(page.text.contains("the node does not know it"), "{}", page.text);
    }
    assert_eq!(pending(&explorer, &second).await.ok()["pending"], true);
    anvil.mine(1).await;
    anvil.wait_for(&explorer).await;
    assert_eq!(pending(&explorer, &second).await.ok()["blockNumber"], 1);
}
