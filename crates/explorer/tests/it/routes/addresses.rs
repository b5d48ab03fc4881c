use alloy_primitives::{Address, TxKind, U256, hex, keccak256};
use devchain::DevChainConfig;
use serde_json::{Value, json};

use crate::support::{
    DevNode, Fixture, TestExplorer, as_listed, eventually,
    fixture::{PAYMENTS, lower_hex},
};

async fn detail(fixture: &Fixture, address: Address) -> Value {
    fixture.explorer.json(&format!("/api/v1/addresses/{}", lower_hex(address))).await
}

#[tokio::test]
async fn an_account_has_the_documented_fields_and_no_others() {
    let fixture = Fixture::shared().await;
    let chain = &fixture.node.chain;
    let payment = as_listed(fixture.explorer.json(&format!("/api/v1/transactions/{}", fixture.payment)).await);
    let call = as_listed(fixture.explorer.json(&format!("/api/v1/transactions/{}", fixture.call)).await);
    let expected = json!({
        "address": lower_hex(fixture.bob),
        "balance": chain.balance(fixture.bob).to_string(),
        "txCount": 2,
        "isContract": false,
        "label": "Treasury of Bob",
        "firstSeen": "2023-11-14T22:13:23.000Z",
        "lastSeen": "2023-11-14T22:13:29.000Z",
        "recentTxs": [call, payment],
        "transferCount": 0,
        "tradeCount": 0,
        "internalTxCount": 0, "logCount": 0,
        "internalTransactionsFrom": 0,
        "nonce": 1,
        "balanceBlock": chain.head().number,
        "contract": null,
        "delegatesTo": null,
        "delegatesSince": null,
        "token": null,
        "firstIndexedBlock": 0,
        "complete": true,
    });
    assert_eq!(detail(&fixture, fixture.bob).await, expected);
}

#[tokio::test]
async fn an_address_is_case_insensitive_and_returned_in_lower_case() {
    let fixture = Fixture::shared().await;
    let expected = detail(&fixture, fixture.bob).await;
    let upper = format!("0x{}", lower_hex(fixture.bob)[2..].to_uppercase());
    for written in [fixture.bob.to_string(), upper] {
        assert_eq!(fixture.explorer.json(&format!("/api/v1/addresses/{written}")).await, expected);
    }
}

#[tokio::test]
async fn a_contract_has_its_creator_and_code_hash() {
    let fixture = Fixture::shared().await;
    let logger = detail(&fixture, fixture.logger).await;
    assert_eq!(logger["isContract"], true);
    let expected = json!({
        "creator": lower_hex(fixture.alice),
        "creationTxHash": fixture.creation,
        "verified": false,
        "name": null,
        "twinOf": null,
        "codeHash": keccak256(fixture.node.chain.code(fixture.logger)),
    });
    assert_eq!(logger["contract"], expected);
    assert_eq!(logger["firstSeen"], "2023-11-14T22:13:26.000Z", "seen since its creation");
    assert_eq!(logger["txCount"], 2);
}

#[tokio::test]
async fn a_contract_without_calls_is_known_and_has_no_transactions() {
    let fixture = Fixture::shared().await;
    let idle = detail(&fixture, fixture.idle).await;
    assert_eq!((&idle["txCount"], &idle["recentTxs"]), (&json!(0), &json!([])));
    assert_eq!((&idle["isContract"], &idle["label"]), (&json!(true), &Value::Null));
}

#[tokio::test]
async fn an_account_with_a_delegation_is_not_a_contract() {
    let fixture = Fixture::shared().await;
    assert!(!fixture.node.chain.code(fixture.dave).is_empty(), "the delegation is in place");
    let dave = detail(&fixture, fixture.dave).await;
    assert_eq!((&dave["isContract"], &dave["contract"]), (&json!(false), &Value::Null));
    assert_eq!(dave["delegatesTo"], lower_hex(fixture.logger));
    assert_eq!(detail(&fixture, fixture.logger).await["delegatesTo"], Value::Null, "a contract");
    let page = fixture.explorer.get(&format!("/address/{}", fixture.dave)).await.text;
    let delegate = page.split("<dt>Delegates to</dt>").nth(1).and_then(|rest| rest.split("</dd>").next()).unwrap();
    assert!(delegate.contains(&format!("href=\"/address/{}\"", fixture.logger)), "{delegate}");
    assert!(!page.contains("user-operations"), "there is no entry point on this chain");
}

#[tokio::test]
async fn the_recent_transactions_are_the_newest_25_and_the_count_is_the_total() {
    let fixture = Fixture::shared().await;
    for address in [fixture.erin, fixture.frank] {
        let detail = detail(&fixture, address).await;
        let list = fixture.explorer.json(&format!("/api/v1/transactions?address={}", lower_hex(address))).await;
        assert_eq!(detail["txCount"], PAYMENTS);
        assert_eq!(detail["txCount"], list["total"]);
        assert_eq!(detail["recentTxs"].as_array().unwrap().len(), 25);
        assert_eq!(detail["recentTxs"], list["transactions"]);
    }
}

#[tokio::test]
async fn a_block_producer_is_known() {
    let fixture = Fixture::shared().await;
    let miner = fixture.node.chain.block(1).unwrap().header.beneficiary;
    let detail = detail(&fixture, miner).await;
    assert_eq!(detail["balance"], fixture.node.chain.balance(miner).to_string());
    assert_eq!(detail["txCount"], 0);
}

#[tokio::test]
async fn the_counts_of_an_address_are_the_totals_of_its_lists() {
    let (node, _) = DevNode::with_traffic(300).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let mut all_trades = Vec::new();
    loop {
        let body = json!({ "entity": "dex_trades", "limit": 100, "offset": all_trades.len() });
        match explorer.client().query(body).await["data"].take() {
            Value::Array(trades) if !trades.is_empty() => all_trades.extend(trades),
            _ => break,
        }
    }
    let mut addresses: Vec<(String, &str)> = (0..8).map(|index| (lower_hex(node.account(index)), "maker")).collect();
    addresses.push((all_trades[0]["pairAddress"].as_str().unwrap().to_owned(), "pairAddress"));
    let (mut transfers_of_all, mut trades_of_all) = (0, 0);
    for (address, role) in addresses {
        let detail = explorer.json(&format!("/api/v1/addresses/{address}")).await;
        let body = json!({ "entity": "token_transfers", "filter": { "address": address }, "limit": 1 });
        let transfers = explorer.client().query(body).await["total"].as_u64().unwrap();
        let trades = all_trades.iter().filter(|trade| trade[role] == *address).count();
        assert_eq!((&detail["transferCount"], &detail["tradeCount"]), (&json!(transfers), &json!(trades)), "{address}");
        let page = explorer.get(&format!("/address/{address}")).await.text;
        assert!(page.contains(&format!("Token transfers <span class=\"muted num\">{transfers}</span>")), "{page}");
        assert!(page.contains(&format!("Trades <span class=\"muted num\">{trades}</span>")), "{page}");
        (transfers_of_all, trades_of_all) = (transfers_of_all + transfers, trades_of_all + trades);
    }
    assert!(transfers_of_all > 0 && trades_of_all > 0);
}

#[tokio::test]
async fn an_address_outside_the_index_has_what_the_node_knows() {
    let mut node = DevNode::with(DevChainConfig { traces: false, ..DevChainConfig::default() }).await;
    let paid = Address::repeat_byte(0x77);
    // Pays the address inside a call, which no indexed list has: CALL with the value, to the address.
    let code = [&hex!("5f5f5f5f3473")[..], paid.as_slice(), &hex!("5af100")].concat();
    node.chain.send(0, TxKind::Create, U256::from(1_500), code).unwrap();
    node.chain.mine(None);
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let path = format!("/api/v1/addresses/{}", lower_hex(paid));
    let expected = json!({
        "address": lower_hex(paid), "balance": "1500", "txCount": 0, "isContract": false, "label": null,
        "firstSeen": null, "lastSeen": null, "recentTxs": [], "transferCount": 0, "tradeCount": 0,
        "internalTxCount": 0, "logCount": 0, "internalTransactionsFrom": null, "nonce": 0,
        "balanceBlock": 1, "contract": null, "delegatesTo": null, "delegatesSince": null,
        "token": null, "firstIndexedBlock": 0,
        "complete": true,
    });
    assert_eq!(explorer.json(&path).await, expected);
    let page = explorer.get(&format!("/address/{paid}")).await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains("In no indexed block.") && page.text.contains("(1500 wei)"), "{}", page.text);

    // The page of an address that nobody used is shown, too.
    let unused = Address::repeat_byte(0x78);
    let unused_path = format!("/api/v1/addresses/{}", lower_hex(unused));
    assert_eq!(explorer.get(&unused_path).await.status, 404);
    for tab in ["", "?tab=transfers", "?tab=tokens", "?tab=trades"] {
        let page = explorer.get(&format!("/address/{unused}{tab}")).await;
        assert_eq!(page.status, 200, "{tab}");
        assert!(page.text.contains("In no indexed block."), "{}", page.text);
    }

    // Without the node, a stored account is returned, and nothing is claimed about the others.
    node.stop_serving().await;
    let stored = explorer.json(&path).await;
    assert_eq!((&stored["balance"], &stored["balanceBlock"]), (&json!("1500"), &json!(1)));
    let other = lower_hex(Address::repeat_byte(0x79));
    let unknown = eventually("an answer without the node", async || {
        let answer = explorer.get(&format!("/api/v1/addresses/{other}")).await;
        (answer.status != 404).then_some(answer)
    })
    .await;
    assert_eq!((unknown.status, &unknown.json["code"]), (503, &json!("node_unavailable")));
    let page = explorer.get(&format!("/address/{other}")).await;
    assert!(page.status == 200 && page.text.contains("there is no answer from the node"), "{}", page.text);
}

#[tokio::test]
async fn an_unused_address_is_not_found() {
    let fixture = Fixture::shared().await;
    let answer = fixture.explorer.get(&format!("/api/v1/addresses/{}", lower_hex(Address::repeat_byte(0xfe)))).await;
    assert_eq!((answer.status, &answer.json["code"]), (404, &json!("address_not_found")));
    assert_eq!(answer.header("content-type"), "application/problem+json");
}
