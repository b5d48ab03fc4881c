//! Approvals, compared with events and contract calls of the node, also after reorgs and without a node.

use std::collections::BTreeMap;

use alloy_primitives::{U256, hex, keccak256};
use serde_json::{Value, json};

use crate::{
    real_contracts::scenario::Scenario,
    support::{Anvil, TestExplorer, read_list},
};

/// Calls a function of a contract in a transaction of its own; every argument is one word.
async fn send(anvil: &Anvil, from: &str, to: &str, signature: &str, arguments: &[U256]) {
    let words: String = arguments.iter().map(|argument| format!("{argument:064x}")).collect();
    let data = format!("{}{words}", hex::encode_prefixed(&keccak256(signature)[..4]));
    let receipt = anvil.send(json!({ "from": from, "to": to, "data": data, "gas": "0xe4e1c0" })).await;
    assert_eq!(receipt["status"], "0x1", "{signature}");
}

fn word(address: &str) -> U256 {
    address.parse().unwrap()
}

/// The value that a call returns.
async fn view(anvil: &Anvil, to: &str, signature: &str, arguments: &[U256]) -> U256 {
    let words: String = arguments.iter().map(|argument| format!("{argument:064x}")).collect();
    let data = format!("{}{words}", hex::encode_prefixed(&keccak256(signature)[..4]));
    anvil.rpc.call("eth_call", json!([{ "to": to, "data": data }, "latest"])).await.as_str().unwrap().parse().unwrap()
}

struct Parties {
    owner: String,
    spender: String,
    other: String,
}

const APPROVE: &str = "approve(address,uint256)";
const APPROVE_ALL: &str = "setApprovalForAll(address,bool)";
const TRANSFER_FROM: &str = "transferFrom(address,address,uint256)";

/// By token, spender, scope and id: the last event's value, the contract's value, and whether it is active.
type Listed = BTreeMap<(String, String, String, String), (String, String, bool)>;

async fn listed(explorer: &TestExplorer, owner: &str) -> Listed {
    let path = format!("/api/v1/addresses/{}/approvals?", owner.to_lowercase());
    let text = |entry: &Value, name: &str| entry[name].as_str().unwrap_or_default().to_owned();
    let rows = read_list(explorer.client(), &path, "approvals").await;
    let row = |entry: &Value| {
        let key = (text(entry, "tokenAddress"), text(entry, "spender"), text(entry, "scope"), text(entry, "tokenId"));
        let is_active = entry["isActive"].as_bool().unwrap_or_else(|| panic!("not checked: {entry}"));
        (key, (text(entry, "approvedValue"), text(entry, "currentValue"), is_active))
    };
    rows.iter().map(row).collect()
}

/// What the contracts say, for every approval that a test gives.
async fn expected(scenario: &Scenario, parties: &Parties, approved: &[(U256, &str)], id: U256) -> Listed {
    let (anvil, owner) = (&scenario.anvil, &parties.owner);
    let mut found = Listed::new();
    for (value, spender) in approved.iter().filter(|(value, _)| !value.is_zero()) {
        let left = view(anvil, &scenario.mintable, "allowance(address,address)", &[word(owner), word(spender)]).await;
        let key = (scenario.mintable.clone(), spender.to_lowercase(), "amount".to_owned(), String::new());
        found.insert(key, (value.to_string(), left.to_string(), !left.is_zero()));
    }
    let spender = view(anvil, &scenario.pieces, "getApproved(uint256)", &[id]).await;
    let holder = view(anvil, &scenario.pieces, "ownerOf(uint256)", &[id]).await;
    if !spender.is_zero() && holder == word(owner) {
        let key = (scenario.pieces.clone(), format!("0x{spender:040x}"), "id".to_owned(), id.to_string());
        found.insert(key, (String::new(), String::new(), true));
    }
    for (token, spender) in [(&scenario.pieces, &parties.other), (&scenario.items, &parties.spender)] {
        let all = [word(owner), word(spender)];
        if view(anvil, token, "isApprovedForAll(address,address)", &all).await == U256::ONE {
            let key = (token.clone(), spender.to_lowercase(), "all".to_owned(), String::new());
            found.insert(key, (String::new(), String::new(), true));
        }
    }
    found
}

#[tokio::test]
async fn approvals_agree_with_the_contracts_before_and_after_reorgs() {
    let scenario = Scenario::deploy().await;
    let anvil = &scenario.anvil;
    let accounts = anvil.accounts().await;
    let parties = Parties { owner: accounts[6].clone(), spender: accounts[7].clone(), other: accounts[8].clone() };
    let Parties { owner, spender, other } = &parties;
    let explorer = TestExplorer::start(anvil.url()).await;
    let id = U256::from(77);
    let one = U256::ONE;
    send(anvil, owner, &scenario.mintable, "mint(address,uint256)", &[word(owner), U256::from(1_000)]).await;
    send(anvil, owner, &scenario.pieces, "mint(address,uint256)", &[word(owner), id]).await;
    let mut amounts = [(U256::ZERO, spender.as_str()), (U256::ZERO, other.as_str())];
    let agrees = async |amounts: &[(U256, &str)], what: &str| {
        anvil.wait_for(&explorer).await;
        let expected = expected(&scenario, &parties, amounts, id).await;
        assert_eq!(listed(&explorer, owner).await, expected, "{what}");
        expected.len()
    };
    assert_eq!(agrees(&amounts, "nothing is approved").await, 0);

    send(anvil, owner, &scenario.mintable, APPROVE, &[word(spender), U256::from(500)]).await;
    send(anvil, owner, &scenario.mintable, APPROVE, &[word(other), U256::MAX]).await;
    send(anvil, owner, &scenario.pieces, APPROVE, &[word(spender), id]).await;
    send(anvil, owner, &scenario.pieces, APPROVE_ALL, &[word(other), one]).await;
    send(anvil, owner, &scenario.items, APPROVE_ALL, &[word(spender), one]).await;
    amounts = [(U256::from(500), spender), (U256::MAX, other)];
    assert_eq!(agrees(&amounts, "all is approved").await, 5);

    // A part is spent, for which the standard asks no event.
    send(anvil, spender, &scenario.mintable, TRANSFER_FROM, &[word(owner), word(other), U256::from(200)]).await;
    agrees(&amounts, "a part is spent").await;
    let snapshot = anvil.rpc.call("evm_snapshot", json!([])).await;

    send(anvil, spender, &scenario.pieces, TRANSFER_FROM, &[word(owner), word(other), id]).await;
    assert_eq!(agrees(&amounts, "the id has moved").await, 4);
    send(anvil, owner, &scenario.pieces, APPROVE_ALL, &[word(other), U256::ZERO]).await;
    send(anvil, owner, &scenario.mintable, APPROVE, &[word(other), U256::ZERO]).await;
    send(anvil, owner, &scenario.mintable, APPROVE, &[word(spender), U256::from(7)]).await;
    amounts = [(U256::from(7), spender), (U256::ZERO, other)];
    assert_eq!(agrees(&amounts, "some are revoked").await, 2);

    anvil.rpc.call("evm_revert", json!([snapshot])).await;
    anvil.mine(1).await;
    amounts = [(U256::from(500), spender), (U256::MAX, other)];
    assert_eq!(agrees(&amounts, "after a reorg").await, 5);
    anvil.rpc.call("anvil_reorg", json!([4, []])).await;
    // The part that was spent, and the last two approvals.
    amounts = [(U256::from(500), spender), (U256::MAX, other)];
    let left = agrees(&amounts, "after another reorg").await;
    assert!((3..5).contains(&left), "{left}");
}

#[tokio::test]
async fn without_a_node_approvals_are_those_of_the_events() {
    let scenario = Scenario::deploy().await;
    let anvil = &scenario.anvil;
    let accounts = anvil.accounts().await;
    let (owner, spender) = (&accounts[6], &accounts[7]);
    send(anvil, owner, &scenario.mintable, APPROVE, &[word(spender), U256::from(500)]).await;
    let explorer = TestExplorer::start(anvil.url()).await;
    anvil.wait_for(&explorer).await;
    let page = explorer.client().get(&format!("/address/{owner}?tab=approvals")).await;
    assert!(page.status == 200 && page.text.contains("What is left was read from the contracts"), "{}", page.text);
    drop(scenario);
    let list = explorer.json(&format!("/api/v1/addresses/{owner}/approvals")).await;
    let [approval] = list["approvals"].as_array().unwrap().as_slice() else { panic!("{list}") };
    assert_eq!((&list["total"], &list["checkedBlock"]), (&json!(1), &Value::Null));
    assert_eq!(approval["approvedValue"], "500");
    assert_eq!((&approval["currentValue"], &approval["isActive"]), (&Value::Null, &Value::Null));
    let page = explorer.client().get(&format!("/address/{owner}?tab=approvals")).await;
    assert!(page.status == 200 && page.text.contains("what is left is unknown"), "{}", page.text);
}
