//! A running explorer is compared with its node.

use serde_json::{Value, json};
use store::Undo;

use super::commands::{operate, printed};
use crate::{
    faults::false_blocks::write_false_blocks,
    support::{Anvil, DevNode, TestExplorer, eventually},
};

const HOLDER: &str = "0x00000000000000000000000000000000000000b1";

/// A token: a call with an address and an amount sets a balance and logs a transfer; every other call returns the storage at its
/// first argument, which is the balance of an address, or the supply.
const TOKEN: &str = "0x604d80600b6000396000f336604414601357600435546000526020\
    6000f35b602435600435556024356000526004356000\
    7fddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef60206000a300";

/// A token whose holder has a balance.
async fn token_with_a_holder(anvil: &Anvil) -> String {
    let accounts = anvil.rpc.call("eth_accounts", json!([])).await;
    let created = anvil.send(json!({ "from": accounts[0], "data": TOKEN, "gas": "0x100000" })).await;
    let token = created["contractAddress"].as_str().unwrap().to_owned();
    let data = format!("0xa9059cbb{:0>64}{:0>64}", &HOLDER[2..], "64");
    let sent = anvil.send(json!({ "from": accounts[0], "to": token, "data": data, "gas": "0x100000" })).await;
    assert_eq!(sent["status"], "0x1", "{sent}");
    token
}

async fn balance(explorer: &TestExplorer, token: &str) -> Value {
    explorer.json(&format!("/api/v1/tokens/{token}/holders")).await["holders"][0]["balance"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_compared_with_its_contract_and_repaired() {
    let anvil = Anvil::start().await;
    let token = token_with_a_holder(&anvil).await;
    let explorer = TestExplorer::start(anvil.url()).await;
    anvil.wait_for(&explorer).await;
    let folder = explorer.data().path();
    eventually("the holder is ranked", async || (balance(&explorer, &token).await == json!("100")).then_some(())).await;
    let text = printed(folder, &["admin", "token", &token]).await;
    assert!(text.contains("compared 1 of 1 holders") && text.contains("All balances are those"), "{text}");

    // The balance changes without an event, and without a block.
    let slot = format!("0x{:0>64}", &HOLDER[2..]);
    anvil.rpc.call("anvil_setStorageAt", json!([token, slot, format!("0x{:0>64}", "07")])).await;
    let text = printed(folder, &["admin", "token", &token, "--holders", "5"]).await;
    assert!(text.contains("the index has 100, the contract 7") && text.contains("With --repair"), "{text}");
    assert_eq!(balance(&explorer, &token).await, json!("100"), "nothing is changed without being asked");
    let text = printed(folder, &["admin", "token", &token, "--repair"]).await;
    assert!(text.contains("all holders are read again"), "{text}");
    eventually("the balance of the contract", async || (balance(&explorer, &token).await == json!("7")).then_some(()))
        .await;

    let (is_done, text) = operate(folder, &["admin", "token", HOLDER]).await;
    assert!(!is_done && text.contains("the index has no token"), "{text}");
    let (is_done, text) = operate(folder, &["admin", "token", &token, "--holders", "0"]).await;
    assert!(!is_done && text.contains("between 1 and"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn blocks_are_compared_with_the_node() {
    let (node, _) = DevNode::with_traffic(60).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let folder = explorer.data().path();
    let text = printed(folder, &["admin", "blocks", "0", "1000"]).await;
    let head = node.chain.head().number;
    assert_eq!(text, format!("Blocks 0 to {head} are what the node says.\n"));
    let (is_done, text) = operate(folder, &["admin", "blocks", "9", "8"]).await;
    assert!(!is_done && text.contains("the index has blocks 0 to"), "{text}");

    let (_, data) = explorer.stop().await;
    let undo = |down_to| Undo::Keep { down_to };
    write_false_blocks(data.path(), head - 2, undo, |changes| {
        changes.transactions.iter_mut().for_each(|transaction| transaction.nonce += 1);
    })
    .await;
    let _explorer = TestExplorer::start_on(&node.url(), &data).await;
    let text = printed(data.path(), &["admin", "blocks", "0", &head.to_string()]).await;
    assert!(text.contains("the nonce of transaction 0 differs") && text.contains("explorer reindex"), "{text}");
}
