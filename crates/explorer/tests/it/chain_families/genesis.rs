//! What the first block grants, from the genesis file of the chain.

use std::collections::BTreeMap;

use alloy_primitives::U256;
use serde_json::{Value, json};

use super::{ALICE, BOB, credits::coins, payment};
use crate::{
    postgres::{on_database, server::Server},
    support::{Anvil, Beside, DevNode, Draft, GenesisFile, Launch, ReplayNode, TestExplorer, eventually, read_list},
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
async fn the_genesis_of_another_client_is_proven_by_its_state_root() {
    let account = |digit: &str| format!("0x{}", digit.repeat(40));
    let genesis = json!({
        "config": {"chainId": 31_337},
        "nonce": "0x0", "timestamp": "0x65000000", "extraData": "0x", "gasLimit": "0x1c9c380", "difficulty": "0x0",
        "mixHash": format!("0x{}", "0".repeat(64)), "coinbase": account("0"),
        "alloc": {
            account("a"): {"balance": "0x56bc75e2d63100000"},
            account("c"): {"balance": "0x7", "nonce": "0x1", "code": "0x6001600055",
                "storage": {format!("0x{}", "0".repeat(64)): format!("0x{:064x}", 42)}},
            account("d"): {"balance": "0x0", "code": "0x00"},
        },
    });
    let file = GenesisFile::new(&genesis);
    let anvil = Anvil::with(&["--init", file.path().to_str().unwrap(), "--accounts", "1", "--balance", "0"]).await;
    anvil.mine(1).await;
    let explorer = file.given_to(Launch::run(anvil.url())).start().await;
    let found = eventually("the first block", async || {
        (explorer.json("/health").await["tip"]["number"] == 1).then_some(())?;
        Some(granted(&explorer).await)
    })
    .await;
    let expected =
        [(account("a"), "100000000000000000000".to_owned()), (account("c"), "7".to_owned())].into_iter().collect();
    assert_eq!(found, expected);
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
async fn the_list_of_top_accounts_names_what_may_be_missing() {
    let node = DevNode::start().await;
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
        eventually("what may be missing", async || (listing(&explorer).await["missing"] == missing).then_some(()))
            .await;
        let list = listing(&explorer).await;
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
