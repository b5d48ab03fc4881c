//! Hostile token names, from a real contract to the pages that show them.

use alloy_primitives::{Address, Bytes, TxKind, U256, keccak256};
use devchain::traffic::Contract;

use crate::support::{DevNode, TestExplorer, eventually};

/// Must not appear on any page.
const NEVER: [&str; 9] =
    ["<script>", "</script ", "<img", "onerror=\"", "\u{202e}", "\u{200b}", "\0", "\u{1b}", "javascript:\""];

fn names() -> [(String, String); 7] {
    let pair = |name: &str, symbol: &str| (name.to_owned(), symbol.to_owned());
    [
        pair("<script>alert(1)</script>", "<script>alert(2)</script>"),
        pair("\" onmouseover=\"alert(1)", "'><img src=x onerror=\"alert(1)\">"),
        pair("USD\u{202e}niaga rehto", "\u{202e}TDSU"),
        pair("Nul\0l\u{1b}[31m", "N\0L"),
        pair("\u{1f984} Einhorn \u{4ee3}\u{5e01}", "\u{1f984}"),
        (format!("long{}", "x".repeat(1_020)), format!("LONG{}", "y".repeat(1_020))),
        pair("\u{200b}\u{feff}", ""),
    ]
}

/// Deploys an NFT collection with this name, mints one token and returns the address.
fn make(node: &DevNode, (name, symbol): &(String, String), owner: Address) -> Address {
    let code = Contract::Collectible.creation_with(&(name.clone(), symbol.clone()));
    let creation = node.chain.send(0, TxKind::Create, U256::ZERO, code).unwrap();
    node.chain.mine(None);
    let collection = node.chain.receipt(creation).unwrap().transaction().created.unwrap();
    let mint = [&keccak256("mint(address)")[..4], &[0; 12], owner.as_slice()].concat();
    node.chain.send(0, TxKind::Call(collection), U256::ZERO, Bytes::from(mint)).unwrap();
    node.chain.mine(None);
    collection
}

#[tokio::test]
async fn hostile_token_names_are_escaped_on_every_page() {
    let node = DevNode::start().await;
    let owner = node.account(3);
    let names = names();
    let tokens: Vec<Address> = names.iter().map(|name| make(&node, name, owner)).collect();
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let client = explorer.client();
    // Token names lag behind the tip; emoji are kept.
    eventually("the names of the tokens", async || {
        client.get("/tokens").await.text.contains("\u{1f984} Einhorn \u{4ee3}\u{5e01}").then_some(())
    })
    .await;
    eventually("the long name", async || client.get("/tokens").await.text.contains("longxxx").then_some(())).await;

    let mut pages = vec![
        "/".to_owned(),
        "/tokens".to_owned(),
        "/transfers".to_owned(),
        format!("/address/{owner}?tab=tokens"),
        format!("/address/{owner}?tab=transfers"),
        "/search?q=l".to_owned(),
        "/search?q=%3Cscript%3Ealert(2)%3C%2Fscript%3E".to_owned(),
        "/search?q=%E2%80%AETDSU".to_owned(),
    ];
    for token in &tokens {
        pages.extend(["", "?tab=holders"].map(|tab| format!("/token/{token}{tab}")));
        pages.push(format!("/address/{token}"));
        let hash = client.json(&format!("/api/v1/transactions?address={token:#x}")).await;
        pages.push(format!("/tx/{}", hash["transactions"][0]["hash"].as_str().unwrap()));
    }
    for path in &pages {
        let answer = client.get(path).await;
        assert_eq!(answer.status, 200, "{path}");
        for never in NEVER {
            assert!(!answer.text.contains(never), "{never:?} on {path}:\n{}", answer.text);
        }
        assert!(!answer.text.contains(&"x".repeat(64)), "{path} is flooded by a long name");
    }

    let list = client.get("/tokens").await.text;
    for shown in ["&#60;script&#62;alert(2)&#60;/script&#62;", "USDniaga rehto", "TDSU", "Null[31m", "\u{1f984}"] {
        assert!(list.contains(shown), "{shown} is missing:\n{list}");
    }
    let nameless = client.get(&format!("/token/{}", tokens[6])).await.text;
    assert!(nameless.contains("Unnamed token"), "{nameless}");
    let suggested = client.get("/search/suggest?q=%3Cscript").await;
    assert!(suggested.header("content-type").starts_with("application/json"), "never to be taken for a page");
    assert_eq!(suggested.header("x-content-type-options"), "nosniff");
    assert_eq!(suggested.json[0]["title"], "<script>alert(2)</script>");
}
