//! Tokens with odd names and amounts, in a real browser.

use alloy_primitives::{Address, Bytes, TxKind, U256, keccak256};
use devchain::traffic::Contract;

use crate::support::{DevNode, TestExplorer, eventually, wallet_clients::run_client};

/// Deploys a token without decimals, mints the amount, and returns its address and the hash of the mint.
fn mint(node: &DevNode, name: &str, amount: U256) -> (Address, String) {
    let code = Contract::PlainToken.creation_with(&(name.to_owned(), name.to_owned(), U256::ZERO));
    let creation = node.chain.send(0, TxKind::Create, U256::ZERO, code).unwrap();
    node.chain.mine(None);
    let token = node.chain.receipt(creation).unwrap().transaction().created.unwrap();
    let to = node.account(3).into_word();
    let call = [&keccak256("mint(address,uint256)")[..4], to.as_slice(), &amount.to_be_bytes::<32>()].concat();
    let minted = node.chain.send(0, TxKind::Call(token), U256::ZERO, Bytes::from(call)).unwrap();
    node.chain.mine(None);
    (token, format!("{minted:#x}"))
}

#[tokio::test]
async fn odd_amounts_and_names_are_readable_in_a_real_browser() {
    let node = DevNode::start().await;
    for name in ["First", "Second"] {
        mint(&node, name, U256::from(5));
    }
    // Marks that fonts stack, twelve above and twelve below each letter: higher than a row.
    let marks = "\u{303}".repeat(12) + &"\u{323}".repeat(12);
    let (token, minted) = mint(&node, &format!("Z{marks}A{marks}L{marks}"), U256::MAX);
    mint(&node, "Third", U256::from(7));
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    eventually("the names and the supply", async || {
        let list = explorer.get("/tokens").await.text;
        (list.contains("Third") && list.contains("1.15e77") && list.contains("Z\u{303}")).then_some(())
    })
    .await;
    let base = explorer.client().url("");
    let passed = run_client("odd_tokens.mjs", &[&base, &token.to_checksum(None), &minted]).await;
    assert!(passed.as_array().is_some_and(|scenarios| scenarios.len() >= 8), "{passed}");
}

#[tokio::test]
async fn contracts_are_named_in_lists_and_odd_names_have_a_mark_in_words() {
    let node = DevNode::start().await;
    let (plain, _) = mint(&node, "FINE", U256::from(5));
    // A Cyrillic letter in the place of the T, and nothing that it imitates.
    let (odd, _) = mint(&node, "USD\u{422}", U256::from(5));
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let row = async |page: &str, address: Address| {
        let text = explorer.get(page).await.text;
        let link = format!("href=\"/address/{}\"", address.to_checksum(None));
        text.split("<tr").find(|row| row.contains(&link)).map(str::to_owned)
    };
    let tail = |address: Address| format!("…{}", &address.to_checksum(None)[36..]);
    for (address, name, is_odd) in [(plain, "FINE", false), (odd, "USD\u{422}", true)] {
        let found = eventually("the contract is named in the list of transactions", async || {
            let texts = [format!("<bdi>{name}</bdi>"), "aria-label=\"Contract\"".to_owned()];
            row("/transactions", address).await.filter(|row| texts.iter().all(|text| row.contains(text)))
        })
        .await;
        assert!(found.contains(&tail(address)), "{found}");
        assert_eq!(found.contains("odd letters"), is_odd, "{found}");
        let held = row(&format!("/address/{}?tab=tokens", node.account(3)), address).await.unwrap();
        assert_eq!(held.contains("odd letters"), is_odd, "{held}");
    }
}
