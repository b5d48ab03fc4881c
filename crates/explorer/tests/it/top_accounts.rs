//! The largest accounts: always the order of all balances that the node has, after payments, reorgs and outages.

use std::{collections::BTreeSet, time::Duration};

use alloy_primitives::{Address, TxKind, U256};
use devchain::ReorgedTransactions::Drop;
use serde_json::{Value, json};

use crate::{
    internal::send_everything,
    postgres::{on_database, server::Server},
    support::{DevNode, Fault, FaultyNode, GenesisFile, Launch, Script, TestExplorer, eventually, read_list},
};

const PATH: &str = "/api/v1/accounts";
const AGAIN: &str = "reading the balances of all addresses again";

fn parse(address: &Value) -> Address {
    address.as_str().unwrap().parse().unwrap()
}

/// The parties of a call and of all calls inside it.
fn parties(call: &Value, found: &mut BTreeSet<Address>) {
    found.extend([&call["from"], &call["to"]].into_iter().filter(|party| !party.is_null()).map(parse));
    call["calls"].as_array().into_iter().flatten().for_each(|inner| parties(inner, found));
}

/// All accounts that the index knows and that have a balance, the largest first, by asking for each of them.
async fn sorted(explorer: &TestExplorer, node: &DevNode) -> Vec<(Address, U256)> {
    let head = node.chain.head().number;
    let mut known: BTreeSet<Address> = node.chain.accounts().iter().map(|account| account.address()).collect();
    for number in 0..=head {
        let hex = format!("{number:#x}");
        known.insert(parse(&node.rpc.call("eth_getBlockByNumber", json!([hex, false])).await["miner"]));
        if number > 0 {
            let params = json!([hex, { "tracer": "callTracer" }]);
            for trace in node.rpc.call("debug_traceBlockByNumber", params).await.as_array().unwrap() {
                parties(&trace["result"], &mut known);
            }
        }
    }
    let mut sorted = Vec::new();
    for address in known {
        let found = explorer.get(&format!("/api/v1/addresses/{address}")).await;
        let balance = node.rpc.call("eth_getBalance", json!([address, format!("{head:#x}")])).await;
        let balance: U256 = balance.as_str().unwrap().parse().unwrap();
        if found.status == 200 && !found.json["firstSeen"].is_null() && !balance.is_zero() {
            sorted.push((address, balance));
        }
    }
    sorted.sort_by_key(|(address, balance)| (std::cmp::Reverse(*balance), *address));
    sorted
}

async fn listed(explorer: &TestExplorer) -> Vec<(Address, U256)> {
    let accounts = read_list(explorer.client(), &format!("{PATH}?"), "accounts").await;
    for (account, rank) in accounts.iter().zip(1..) {
        assert_eq!(account["rank"], rank);
    }
    let account = |entry: &Value| (parse(&entry["address"]), entry["balance"].as_str().unwrap().parse().unwrap());
    accounts.iter().map(account).collect()
}

/// Waits until the list is the order of all balances at the head of the chain.
async fn assert_sorted(explorer: &TestExplorer, node: &DevNode) -> Vec<(Address, U256)> {
    node.wait_for(explorer).await;
    let expected = sorted(explorer, node).await;
    let head = node.chain.head().number;
    eventually("the balances of the head", async || {
        let list = explorer.json(PATH).await;
        (list["block"] == head && list["allAddressesRead"] == true).then_some(())
    })
    .await;
    // Parties of internal transactions are known after their blocks.
    eventually("the order of all balances", async || {
        let found = listed(explorer).await;
        let same = found.iter().zip(&expected).take_while(|(found, expected)| found == expected).count();
        println!("{} accounts, {} expected, {same} agree", found.len(), expected.len());
        (found == expected).then_some(())
    })
    .await;
    expected
}

fn pay(node: &DevNode, to: Address, value: U256) {
    node.chain.send(0, TxKind::Call(to), value, Vec::<u8>::new()).unwrap();
    node.chain.mine(None);
}

async fn follows_the_chain(launch: impl FnOnce(Launch) -> Launch) {
    let (node, _traffic) = DevNode::with_traffic(150).await;
    let faulty = FaultyNode::start(&node.chain, 1, Script::default()).await;
    let genesis = GenesisFile::of(node.chain.genesis_balances());
    let whole = genesis.given_to(Launch::run(&faulty.url()).argument("--top-accounts", "on"));
    let explorer = launch(whole).start().await;
    let first = assert_sorted(&explorer, &node).await;
    assert!(first.len() > 20, "{}", first.len());

    let list = explorer.get(PATH).await;
    let told = (&list.json["total"], &list.json["percentRead"], &list.json["firstIndexedBlock"]);
    assert_eq!(told, (&json!(first.len()), &json!(100), &json!(0)));
    assert!(list.json["addressesRead"].as_u64().unwrap() >= first.len() as u64, "{}", list.text);
    for account in list.json["accounts"].as_array().unwrap() {
        let detail = explorer.json(&format!("/api/v1/addresses/{}", account["address"].as_str().unwrap())).await;
        assert_eq!(account["txCount"], detail["txCount"], "{account}");
    }

    // A new account, by a transaction, and one that only contracts pay.
    let (rich, share) = (Address::repeat_byte(0x99), first[0].1 / U256::from(3));
    pay(&node, rich, share);
    let after = assert_sorted(&explorer, &node).await;
    assert!(after.contains(&(rich, share)) && !first.iter().any(|(address, _)| *address == rich));
    let paid = send_everything(&node.chain, 1);
    assert!(assert_sorted(&explorer, &node).await.iter().any(|(address, _)| *address == paid));

    // The payments are reverted: the first of them and all after it.
    node.chain.reorg(6, 7, Drop).unwrap();
    let reverted = assert_sorted(&explorer, &node).await;
    assert!(!reverted.iter().any(|(address, _)| [rich, paid].contains(address)));

    // Without new blocks, the node is not asked.
    let calls = || faulty.request_counts().methods.get("eth_call").copied().unwrap_or_default();
    eventually("a node that is not asked", async || {
        let before = calls();
        // Longer than the pause between two updates.
        tokio::time::sleep(Duration::from_millis(3_500)).await;
        (calls() == before).then_some(())
    })
    .await;

    // While the node does not tell balances, the list stays, with its block.
    let down = |method| (method, Fault::Error(-32_603, "internal error"), 1.0);
    faulty.set_behavior(Script { faults: vec![down("eth_call"), down("eth_getBalance")], ..Script::default() });
    let (block, failed) = (node.chain.head().number, faulty.request_counts().failed);
    pay(&node, rich, share);
    node.wait_for(&explorer).await;
    eventually("a request for balances", async || (faulty.request_counts().failed > failed).then_some(())).await;
    // The response is in.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let kept = explorer.json(PATH).await;
    assert_eq!((&kept["block"], &kept["allAddressesRead"]), (&json!(block), &json!(true)));
    assert_eq!(listed(&explorer).await, reverted);
    faulty.set_behavior(Script::default());
    assert!(assert_sorted(&explorer, &node).await.contains(&(rich, share)));

    // More blocks than are followed: all addresses are read again.
    assert!(!explorer.log().contains(AGAIN));
    pay(&node, Address::repeat_byte(0x98), share / U256::from(2));
    for _ in 0..400 {
        node.chain.mine(None);
    }
    assert_sorted(&explorer, &node).await;
    assert!(explorer.log().contains(AGAIN));

    let page = explorer.get("/accounts").await;
    assert_eq!(page.status, 200);
    for text in [
        format!("{}", first[0].0),
        format!("href=\"/block/{}\"", node.chain.head().number),
        " addresses were read".to_owned(),
        r#"<a href="/accounts" aria-current="true">Accounts</a>"#.to_owned(),
    ] {
        assert!(page.text.contains(&text), "{text} in {}", page.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_of_top_accounts_follows_payments_reorgs_and_outages() {
    follows_the_chain(|launch| launch).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_of_top_accounts_follows_the_chain_on_postgresql() {
    let server = Server::shared();
    let url = server.database().await;
    follows_the_chain(|launch| on_database(launch, &url)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_does_not_run_the_program_is_asked_for_each_balance() {
    // Without contracts, since following a chain with tokens takes calls, too.
    let node = DevNode::start().await;
    for number in 1..=40 {
        let sender = usize::from(number) % node.chain.accounts().len();
        let receiver = TxKind::Call(Address::repeat_byte(number));
        node.chain.send(sender, receiver, U256::from(number), Vec::<u8>::new()).unwrap();
        node.chain.mine(None);
    }
    let refused = ("eth_call", Fault::Error(-32_602, "missing required field to"), 1.0);
    let faulty = FaultyNode::start(&node.chain, 1, Script { faults: vec![refused], ..Script::default() }).await;
    let genesis = GenesisFile::of(node.chain.genesis_balances());
    let launch = Launch::run(&faulty.url()).argument("--top-accounts", "on");
    let explorer = genesis.given_to(launch).start().await;
    assert_sorted(&explorer, &node).await;
    assert!(faulty.request_counts().methods["eth_getBalance"] > 20);
}

#[tokio::test]
async fn without_the_option_there_are_no_top_accounts() {
    let node = DevNode::start().await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let answer = explorer.get(PATH).await;
    assert_eq!((answer.status, &answer.json["code"]), (404, &json!("top_accounts_off")), "{}", answer.text);
    assert!(answer.text.contains("--top-accounts on"), "{}", answer.text);
    let page = explorer.get("/accounts").await;
    assert!(page.status == 404 && page.text.contains("--top-accounts on"), "{}", page.text);
    assert!(!explorer.get("/").await.text.contains("/accounts"));
}
