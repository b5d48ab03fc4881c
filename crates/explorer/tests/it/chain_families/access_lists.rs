//! Block access lists (EIP-7928): native balances without a request for any.

use alloy_primitives::{B256, U256, keccak256};
use serde_json::{Value, json};

use super::{ALICE, BOB, credits::coins, payment};
use crate::{
    postgres::{on_database, server::Server},
    support::{Beside, Draft, Launch, ReplayNode, Rlp, TestExplorer, eventually},
};

/// Only the protocol pays it.
const PAID: &str = "0x00000000000000000000000000000000000057a4";

const MINER: &str = "0x00000000000000000000000000000000000000c0";

/// The list of a block that changed these balances, and its hash.
fn access_list(balances: &[(&str, U256)]) -> (Value, Value) {
    let none = || Rlp::List(Vec::new());
    let encoded = balances.iter().map(|(address, balance)| {
        let change = Rlp::List(vec![Rlp::number(&json!("0x1")), Rlp::number(&json!(format!("{balance:#x}")))]);
        Rlp::List(vec![Rlp::bytes(&json!(address)), none(), none(), Rlp::List(vec![change]), none(), none()])
    });
    let hash = keccak256(Rlp::List(encoded.collect()).encoded());
    let served = balances.iter().map(|(address, balance)| {
        json!({"address": address, "balanceChanges": [{"index": "0x1", "value": format!("{balance:#x}")}]})
    });
    (served.collect(), json!(hash))
}

fn header(hash: &Value) -> Value {
    json!({
        "baseFeePerGas": "0x7", "withdrawals": [], "blobGasUsed": "0x0", "excessBlobGas": "0x0",
        "parentBeaconBlockRoot": B256::ZERO, "requestsHash": B256::repeat_byte(3), "blockAccessListHash": hash,
    })
}

/// The balance of an account in the list at a block, once all of it is of that block.
async fn balance_at(explorer: &TestExplorer, block: usize, address: &str) -> Option<String> {
    let list = eventually("the list of a block", async || {
        let list = explorer.json("/api/v1/accounts").await;
        (list["block"] == block && list["percentRead"] == 100).then_some(list)
    })
    .await;
    let mut accounts = list["accounts"].as_array().unwrap().iter();
    accounts
        .find(|account| account["address"] == address)
        .map(|account| account["balance"].as_str().unwrap().to_owned())
}

async fn follows_lists(on: impl AsyncFn(Launch) -> Launch) {
    let left = coins(9_000) - U256::from(100 + 21_000 * 9);
    let (served, hash) = access_list(&[(ALICE, left), (BOB, U256::from(100)), (MINER, U256::from(21_000 * 2))]);
    let transactions = vec![payment(0, json!({}), json!({}))];
    let first = Draft { header: header(&hash), transactions, ..Draft::default() };
    let node = ReplayNode::start(1, &[]).await.with_state(Beside::granted(&[(ALICE, coins(9_000))]));
    node.answer("eth_getBlockAccessList", &json!([node.next_hash(&first)]), served);
    node.add(&first);
    let explorer = on(Launch::run(&node.url()).argument("--top-accounts", "on")).await.start().await;
    assert_eq!(balance_at(&explorer, 1, ALICE).await, Some(node.balance(ALICE, 1).to_string()));

    // From now on, nothing but lists tells balances.
    let asked = || node.calls("eth_getBalance") + node.calls("eth_call");
    let before = asked();
    node.fail("eth_getBalance");
    node.fail("eth_call");
    let add = |balances: &[(&str, U256)], is_right: bool| {
        let (mut served, hash) = access_list(balances);
        let draft = Draft { header: header(&hash), ..Draft::default() };
        if !is_right {
            served[0]["balanceChanges"][0]["value"] = json!("0x1");
        }
        node.answer("eth_getBlockAccessList", &json!([node.next_hash(&draft)]), served);
        node.add(&draft);
    };
    add(&[(PAID, coins(7)), (BOB, U256::from(123))], true);
    assert_eq!(balance_at(&explorer, 2, PAID).await, Some(coins(7).to_string()));
    assert_eq!(balance_at(&explorer, 2, BOB).await, Some("123".to_owned()));
    assert_eq!(balance_at(&explorer, 2, ALICE).await, Some(node.balance(ALICE, 1).to_string()), "it did not change");
    assert_eq!(asked(), before, "no balance was asked for");

    // A list that is not the one of the header is no proof.
    add(&[(BOB, U256::from(5))], false);
    node.wait_for(&explorer).await;
    explorer.wait_for_log("a block access list does not have its hash").await;
    explorer.wait_for_log("cannot read balances").await;
    let list = explorer.json("/api/v1/accounts").await;
    assert_eq!(list["block"], 2, "{list}");
}

#[tokio::test]
async fn balances_after_each_block_come_from_its_access_list() {
    follows_lists(async |launch| launch).await;
    let server = Server::shared();
    let url = server.database().await;
    follows_lists(async |launch| on_database(launch, &url)).await;
}
