//! Tokens that imitate others, and transfers from addresses that look like known ones.

use alloy_primitives::{Address, Bytes, TxKind, U256, address, keccak256};
use devchain::traffic::Contract;
use serde_json::{Value, json};

use crate::support::{DevNode, TestExplorer, eventually};

const FRIEND: Address = address!("12345678000000000000000000000000deadbeef");
/// With the same first and last digits.
const LOOKALIKE: Address = address!("1234ffffffffffffffffffffffffffffffffbeef");

fn call(node: &DevNode, from: usize, to: Address, signature: &str, words: &[[u8; 32]]) {
    let data = [&keccak256(signature)[..4], &words.concat()].concat();
    node.chain.send(from, TxKind::Call(to), U256::ZERO, Bytes::from(data)).unwrap();
    node.chain.mine(None);
}

fn word(address: Address) -> [u8; 32] {
    address.into_word().0
}

fn number(number: u64) -> [u8; 32] {
    U256::from(number).to_be_bytes()
}

/// A token with two decimals, and as many holders as accounts.
fn token(node: &DevNode, name: &str, symbol: &str, holders: usize) -> Address {
    let code = Contract::PlainToken.creation_with(&(name.to_owned(), symbol.to_owned(), U256::from(2)));
    let creation = node.chain.send(0, TxKind::Create, U256::ZERO, code).unwrap();
    node.chain.mine(None);
    let token = node.chain.receipt(creation).unwrap().transaction().created.unwrap();
    for holder in 0..holders {
        call(node, 0, token, "mint(address,uint256)", &[word(node.account(holder)), number(100_000)]);
    }
    token
}

#[tokio::test]
async fn a_copy_of_a_token_is_told_from_the_original_everywhere() {
    let node = DevNode::start().await;
    let real = token(&node, "USD Coin", "USDC", 3);
    // Nothing but ASCII letters.
    let copy = token(&node, "USD Coin", "USDC", 1);
    let disguised = token(&node, "Something", "\u{405}OON", 4);
    let imitated = token(&node, "Sooner", "SOON", 1);
    let other = token(&node, "Other", "OTHER", 1);
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let client = explorer.client();

    eventually("both imitations are known", async || {
        let found = async |token: Address| client.get(&format!("/api/v1/tokens/{token:#x}")).await.json;
        let (copy, disguised) = (found(copy).await, found(disguised).await);
        (copy["imitates"].is_object() && disguised["imitates"].is_object()).then_some(())
    })
    .await;
    let text = |address: Address| format!("{address:#x}");
    let of_token = |listed: &Value, token: Address| {
        let tokens = listed.as_array().unwrap().iter().map(|entry| entry.get("token").unwrap_or(entry));
        tokens.filter(|entry| entry["address"] == text(token)).map(|entry| entry["imitates"].clone()).next().unwrap()
    };
    let list = client.json("/api/v1/tokens").await["tokens"].clone();
    let query = client.query(json!({ "entity": "tokens" })).await["data"].clone();
    let held = client.json(&format!("/api/v1/addresses/{:#x}/tokens", node.account(0))).await["tokens"].clone();
    for listed in [&list, &query, &held] {
        let expected = json!({ "address": text(real), "name": "USD Coin", "symbol": "USDC", "holderCount": 3, "likeness": "symbol" });
        assert_eq!(of_token(listed, copy), expected);
        assert_eq!(of_token(listed, disguised)["address"], text(imitated), "whatever its holders");
        for honest in [real, imitated, other] {
            assert_eq!(of_token(listed, honest), Value::Null, "{honest}");
        }
    }
    let detail = client.json(&format!("/api/v1/addresses/{copy:#x}")).await;
    assert_eq!(detail["token"]["imitates"]["address"], text(real), "{detail}");

    // One look at the page of the token or of its contract is enough.
    for (token, original) in [(copy, Some(real)), (disguised, Some(imitated)), (real, None), (other, None)] {
        for page in [format!("/token/{token}"), format!("/address/{token}")] {
            let shown = client.get(&page).await.text;
            let link = original.map(|original| format!("<a href=\"/token/{}\"><bdi>", original.to_checksum(None)));
            let is_told = shown.contains("This may be an imitation");
            assert_eq!(is_told, original.is_some(), "{page}: {shown}");
            assert!(link.is_none_or(|link| shown.contains(&link)), "{page}: {shown}");
        }
    }
    // Lists have words for it, and only at the imitations.
    let listed = client.get("/tokens").await.text;
    for (token, is_marked) in [(copy, true), (disguised, true), (real, false), (imitated, false), (other, false)] {
        let link = format!("href=\"/token/{}\"", token.to_checksum(None));
        let row = listed.split("<tr").find(|row| row.contains(&link)).unwrap();
        assert_eq!(row.contains("imitation?"), is_marked, "{row}");
    }
    let found = client.get("/search?q=USDC").await.text;
    let short = |address: Address| address.to_checksum(None)[..8].to_owned();
    assert_eq!(found.matches("Imitation of USDC").count(), 1, "{found}");
    assert!(found.contains(&format!("Imitation of USDC {}", short(real))), "{found}");
    let suggested = client.get("/search/suggest?q=usdc").await.json;
    let warnings: Vec<&str> =
        suggested.as_array().unwrap().iter().map(|entry| entry["warning"].as_str().unwrap()).collect();
    assert_eq!(warnings.iter().filter(|warning| warning.starts_with("Imitation of")).count(), 1, "{suggested}");
}

#[tokio::test]
async fn worthless_transfers_with_a_lookalike_are_hidden_until_asked_for() {
    let node = DevNode::start().await;
    let coin = token(&node, "Coin", "COIN", 2);
    let account = node.account(1);
    let transfer = |to: Address, amount: u64| {
        call(&node, 1, coin, "transfer(address,uint256)", &[word(to), number(amount)]);
    };
    transfer(FRIEND, 50_000);
    transfer(LOOKALIKE, 0);
    transfer(LOOKALIKE, 3);
    // To somebody else, nothing is nothing suspicious.
    transfer(node.account(2), 0);
    // What was really lost is never hidden.
    transfer(LOOKALIKE, 40_000);
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let path = format!("/address/{account}?tab=transfers");
    let page = explorer.get(&path).await.text;
    let rows = |page: &str| page.matches("<tr data-key").count();
    // The mint and five transfers.
    assert!(page.contains("6 total") && page.contains("2 hidden"), "{page}");
    assert_eq!((rows(&page), page.matches("looks like 0x123456…").count()), (4, 1), "{page}");
    let link = page.split("href=\"").find(|rest| rest.contains("lookalikes=shown\">Show them")).unwrap();
    let link = link.split('"').next().unwrap().replace("&amp;", "&").replace("&#38;", "&");
    let all = explorer.get(&link).await.text;
    assert_eq!((rows(&all), all.matches("looks like 0x123456…").count()), (6, 3), "{all}");
    assert!(all.contains("6 total") && all.contains("Hide them"), "{all}");
    let file = explorer.get(&format!("{path}&format=csv")).await.text;
    assert_eq!(file.lines().count(), 1 + 6, "a file has all of them");
    // The others have nobody whom the lookalike imitates.
    let other = explorer.get(&format!("/address/{LOOKALIKE}?tab=transfers")).await.text;
    assert!(rows(&other) == 3 && !other.contains("hidden</span>"), "{other}");
}
