//! What a transaction did, in words, also without a verified contract.

use alloy_primitives::{TxKind, U256, hex};
use serde_json::json;

use crate::support::{DevNode, Fixture, TestExplorer, eventually};

async fn summary(explorer: &TestExplorer, hash: &str) -> String {
    let page = explorer.get(&format!("/tx/{hash}")).await.text;
    let html = page.split("<p class=\"summary\">").nth(1).and_then(|rest| rest.split("</p>").next()).unwrap();
    text_of(html)
}

/// What a reader sees: no tags, and of an address the short form.
fn text_of(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some((before, after)) = rest.split_once('<') {
        text.push_str(before);
        let (tag, after) = after.split_once('>').unwrap();
        rest = match tag {
            mark if mark.starts_with("span class=\"mark") => after.split_once("</span>").unwrap().1,
            "span class=\"long\"" => after.split_once("</span>").unwrap().1,
            _ => after,
        };
    }
    text + rest
}

#[tokio::test]
async fn payments_creations_and_failures_have_a_summary() {
    let fixture = Fixture::shared().await;
    let summary = async |hash: alloy_primitives::B256| summary(&fixture.explorer, &hash.to_string()).await;
    assert_eq!(summary(fixture.payment).await, "Sent 1 ETH to Treasury of Bob");
    assert!(summary(fixture.creation).await.starts_with("Created the contract 0x"));
    assert!(summary(fixture.call).await.starts_with("Called 0xa9a9a9a9 on 0x"));
    assert_eq!(summary(fixture.failed_creation).await, "Failed to create a contract");
    assert!(summary(fixture.failed_call).await.starts_with("Failed to send 0 ETH to 0x"));
}

#[tokio::test]
async fn tokens_swaps_and_approvals_are_told_without_a_verified_contract() {
    let (node, _) = DevNode::with_traffic(600).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let client = explorer.client();

    let trades = client.query(json!({ "entity": "dex_trades", "limit": 1 })).await;
    let swap = summary(&explorer, trades["data"][0]["txHash"].as_str().unwrap()).await;
    assert!(swap.starts_with("Swapped ") && swap.contains(" for ") && swap.contains(" on "), "{swap}");

    // The address and the symbol of a token.
    let token = async |kind: &str| {
        eventually("a token with a symbol", async || {
            let tokens = explorer.json("/api/v1/tokens").await;
            let mut tokens = tokens["tokens"].as_array().unwrap().iter();
            let found = tokens.find(|token| token["type"] == kind && token["symbol"] != "")?;
            let text = |name: &str| found[name].as_str().unwrap().to_owned();
            Some((text("address"), text("symbol")))
        })
        .await
    };
    let spender = node.account(3);
    let call = async |token: &str, selector: &str, given: U256| {
        let data = hex::decode(format!("{selector}{:0>64}{given:064x}", hex::encode(spender))).unwrap();
        let hash = node.chain.send(0, TxKind::Call(token.parse().unwrap()), U256::ZERO, data).unwrap();
        node.chain.mine(None);
        node.wait_for(&explorer).await;
        hash.to_string()
    };
    let (coin, symbol) = token("BEP20").await;
    let unlimited = call(&coin, "095ea7b3", U256::MAX).await;
    let told = summary(&explorer, &unlimited).await;
    assert!(told.starts_with(&format!("Approved unlimited {symbol} for 0x")), "{told}");
    let told = summary(&explorer, &call(&coin, "095ea7b3", U256::ZERO).await).await;
    assert!(told.starts_with(&format!("Revoked the approval of {symbol} for 0x")), "{told}");

    let (collection, symbol) = token("BEP721").await;
    for (given, begins) in [(U256::ONE, "Allowed 0x"), (U256::ZERO, "No longer allows 0x")] {
        let told = summary(&explorer, &call(&collection, "a22cb465", given).await).await;
        assert!(told.starts_with(begins) && told.ends_with(&format!(" to transfer all {symbol}")), "{told}");
    }

    let page = explorer.get(&format!("/tx/{unlimited}")).await.text;
    assert!(page.contains("approve(address,uint256)") && page.contains("amountOrTokenId"), "{page}");
    assert!(page.contains("Approval(address,address,uint256)"), "{page}");
    assert_eq!(page.matches("guessed: the contract is not verified").count(), 2, "{page}");
}
