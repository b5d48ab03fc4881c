//! What the first block grants, from the genesis file of the chain.

use std::collections::BTreeMap;

use alloy_primitives::{TxKind, U256};
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

/// Waits until the list is that of the newest block, with all addresses, and names these as missing.
async fn listing(explorer: &TestExplorer, head: impl Into<Value>, missing: &Value) -> Value {
    // An explorer may list the accounts of block 0, and miss none of them, before it has the next one.
    let head = head.into();
    eventually(&format!("a list of block {head} without {missing}"), async || {
        let list = explorer.json("/api/v1/accounts").await;
        (list["block"] == head && list["percentRead"] == 100 && list["missing"] == *missing).then_some(list)
    })
    .await
}

#[tokio::test]
async fn the_list_of_top_accounts_names_what_may_be_missing() {
    let node = DevNode::start().await;
    node.chain.send(0, TxKind::Call(node.account(1)), U256::ONE, Vec::<u8>::new()).unwrap();
    for _ in 0..8 {
        node.chain.mine(None);
    }
    let file = GenesisFile::of(node.chain.genesis_balances());
    let launch = || Launch::run(&node.url()).argument("--top-accounts", "on");
    let with_file = || file.given_to(launch());
    for (launch, missing, says) in [
        (with_file(), json!([]), None),
        (launch(), json!(["genesis"]), Some("coins since the genesis block")),
        (with_file().argument("--traces", "off"), json!(["internal_transactions"]), Some("payments by contracts")),
        (
            with_file().argument("--start-block", 4),
            json!(["earlier_blocks", "genesis"]),
            Some("before the first indexed"),
        ),
    ] {
        let explorer = launch.start().await;
        node.wait_for(&explorer).await;
        let list = listing(&explorer, node.chain.head().number, &missing).await;
        assert_eq!(list["allAddressesRead"], missing == json!([]), "{list}");
        let page = explorer.get("/accounts").await.text;
        assert_eq!(page.contains("Not known are accounts"), says.is_some(), "{page}");
        assert!(says.is_none_or(|says| page.contains(says)), "{page}");
    }
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
            let list = listing(&explorer, node.head(), &missing).await;
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

#[tokio::test]
async fn on_a_chain_of_empty_blocks_nothing_is_missing_whether_it_is_traced_or_not() {
    let beside = Beside::granted(&[(ALICE, coins(1_000_000)), (BOB, U256::from(5))]);
    let (genesis, file) = beside.genesis();
    let empty = Draft { header: json!({"baseFeePerGas": "0x7"}), ..Draft::default() };
    let node = ReplayNode::start_from(1, &genesis, &vec![empty; 5]).await.with_state(beside);
    for traces in ["auto", "off"] {
        let launch = || {
            let launch = file.given_to(Launch::run(&node.url()));
            launch.argument("--top-accounts", "on").argument("--traces", traces)
        };
        for launch in [launch(), on_database(launch(), &Server::shared().database().await)] {
            let explorer = launch.start().await;
            node.wait_for(&explorer).await;
            let list = listing(&explorer, node.head(), &json!([])).await;
            assert_eq!((&list["allAddressesRead"], &list["total"]), (&json!(true), &json!(2)), "{list}");
            let history = explorer.json(&format!("/api/v1/addresses/{ALICE}/balance-history")).await;
            let expected = (&json!(true), &json!([]), &json!(true));
            assert_eq!((&history["exact"], &history["inexactReasons"], &history["complete"]), expected, "{history}");
            let internal = explorer.json("/api/v1/internal-transactions").await;
            assert_eq!((&internal["completeFrom"], &internal["completeTo"]), (&json!(0), &json!(5)), "{internal}");
        }
    }
}
