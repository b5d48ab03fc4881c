//! What the first block grants, from the genesis file of the chain.

use std::collections::BTreeMap;

use alloy_primitives::U256;
use serde_json::{Value, json};

use super::{ALICE, BOB, credits::coins, payment};
use crate::{
    postgres::{on_database, server::Server},
    support::{Beside, DevNode, Draft, GenesisFile, Launch, ReplayNode, TestExplorer, eventually, read_list},
};

/// Accounts and amounts of the first block.
async fn granted(explorer: &TestExplorer) -> BTreeMap<String, String> {
    let listed = read_list(explorer.client(), "/api/v1/blocks/0/issuance?", "issuance").await;
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    assert!(listed.iter().all(|paid| paid["kind"] == "genesis" && paid["blockNumber"] == 0), "{listed:?}");
    listed.iter().map(|paid| (text(&paid["address"]), text(&paid["amount"]))).collect()
}

#[tokio::test]
async fn what_the_first_block_grants_is_listed_by_block_and_by_address() {
    let node = DevNode::start().await;
    let balances: BTreeMap<String, String> = node
        .chain
        .genesis_balances()
        .map(|(address, balance)| (format!("{address:#x}"), balance.to_string()))
        .collect();
    let file = GenesisFile::of(node.chain.genesis_balances());
    let launch = || file.given_to(Launch::run(&node.url()));
    for launch in [launch(), on_database(launch(), &Server::shared().database().await)] {
        let explorer = launch.start().await;
        node.wait_for(&explorer).await;
        assert_eq!(granted(&explorer).await, balances);
        let account = format!("{:#x}", node.account(3));
        let mine = explorer.json(&format!("/api/v1/addresses/{account}/issuance")).await;
        assert_eq!((&mine["total"], &mine["issuance"][0]["amount"]), (&json!(1), &json!(balances[&account])), "{mine}");
        let detail = explorer.json(&format!("/api/v1/addresses/{account}")).await;
        assert!(detail["firstSeen"].is_string() && detail["txCount"] == 0, "nothing else makes it known: {detail}");
        let page = explorer.get("/block/0?tab=rewards").await.text;
        assert!(page.contains("Genesis") && page.to_lowercase().contains(&account), "{page}");
    }
}

#[tokio::test]
async fn a_genesis_file_of_another_chain_is_refused_and_health_says_so() {
    let node = DevNode::start().await;
    let other = GenesisFile::of([(ALICE.parse().unwrap(), U256::ONE)]);
    let explorer = other.given_to(Launch::run(&node.url())).start().await;
    explorer.wait_for_log("the genesis file is of another chain").await;
    eventually("a reason", async || {
        let health = explorer.json("/health").await;
        let reason = health["waitingFor"].as_str().unwrap_or_default().to_owned();
        (reason.contains("genesis file") && health["tip"].is_null()).then_some(())
    })
    .await;
    let unreadable = GenesisFile::new(&json!({}));
    let (status, message) = unreadable.given_to(Launch::run(&node.url())).fails_to_start().await;
    assert!(status.code() == Some(1) && message.contains("invalid genesis file"), "{message}");
}

/// Waits until all addresses were read.
async fn listing(explorer: &TestExplorer) -> Value {
    eventually("a pass over all addresses", async || {
        let list = explorer.json("/api/v1/accounts").await;
        let is_read = !list["missing"].as_array().unwrap().contains(&json!("unread"));
        (is_read && list["percentRead"] == 100).then_some(list)
    })
    .await
}

#[tokio::test]
async fn accounts_that_only_the_protocol_pays_are_listed_if_its_rules_are_known() {
    const UNCLE: &str = "0x00000000000000000000000000000000000057a4";
    // The same blocks on a chain whose rules are not known, and on one without work.
    for (difficulty, withdrawals, missing) in [
        ("0x400000000", Value::Null, json!(["protocol_payments"])),
        ("0x0", json!([super::credits::withdrawal(0, UNCLE, 32_000_000_000)]), json!([])),
    ] {
        let mut beside = Beside::granted(&[(ALICE, coins(1_000_000)), (BOB, U256::from(5))]);
        if withdrawals.is_null() {
            beside.rewards.push((1, UNCLE.to_owned(), coins(32_000)));
        }
        let (genesis, file) = beside.genesis();
        let mut header = json!({"difficulty": difficulty, "baseFeePerGas": "0x7"});
        if !withdrawals.is_null() {
            header["withdrawals"] = withdrawals.clone();
        }
        let draft = Draft { header, transactions: vec![payment(0, json!({}), json!({}))], ..Draft::default() };
        let node = ReplayNode::start_from(1, &genesis, &[draft]).await.with_state(beside);
        let launch = || file.given_to(Launch::run(&node.url()).argument("--top-accounts", "on"));
        for launch in [launch(), on_database(launch(), &Server::shared().database().await)] {
            let explorer = launch.start().await;
            node.wait_for(&explorer).await;
            eventually("what may be missing", async || (listing(&explorer).await["missing"] == missing).then_some(()))
                .await;
            let list = listing(&explorer).await;
            let listed = list["accounts"].as_array().unwrap().iter().any(|account| account["address"] == UNCLE);
            // Whoever is paid without a trace in the index is not listed, and the list says that it is not whole.
            assert_eq!(
                (listed, &list["allAddressesRead"]),
                (missing == json!([]), &json!(missing == json!([]))),
                "{list}"
            );
        }
    }
}
