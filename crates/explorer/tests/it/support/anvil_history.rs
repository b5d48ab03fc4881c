use devchain::traffic::Contract;
use serde_json::json;

use super::{Anvil, api_state::text};

const MNEMONIC: &str = "test test test test test test test test test test test junk";
/// Logs the word in its call data; reverts without input.
const LOGGER: &str = "0x601c600c600039601c6000f33660095760006000fd5b60003580600055600052602a60206000a100";
const COINBASE: &str = "0x00000000000000000000000000000000c01bba5e";

/// A small history with every kind of transaction, in blocks with none, one and several.
pub(crate) async fn every_kind_of_transaction(anvil: &Anvil) {
    let accounts = anvil.accounts().await;
    let (alice, bob, carol) = (&accounts[0], &accounts[1], &accounts[2]);

    // Payments of every transaction type.
    anvil.send(json!({"from": alice, "to": bob, "value": "0x1", "gasPrice": "0x77359400"})).await;
    let tuple = json!([{"address": carol, "storageKeys": [format!("0x{}", "00".repeat(32))]}]);
    anvil.send(json!({"from": alice, "to": bob, "value": "0x2", "gasPrice": "0x77359400", "accessList": tuple})).await;
    anvil.send(json!({"from": bob, "to": carol, "value": "0x1b1ae4d6e2ef500000", "maxFeePerGas": "0x12a05f200", "maxPriorityFeePerGas": "0x3b9aca01"})).await;
    anvil.send(json!({"from": carol, "to": carol, "value": "0x5"})).await;
    anvil.send(json!({"from": carol, "to": "0x0000000000000000000000000000000000000000", "value": "0x0"})).await;
    anvil.mine(3).await;

    // Contracts: created, called with and without a selector, reverting, creating others.
    let logger = created(anvil, alice, LOGGER).await;
    anvil.rpc.call("anvil_setCoinbase", json!([COINBASE])).await;
    let word = format!("0x{}", "ab".repeat(32));
    anvil.send(json!({"from": bob, "to": logger, "data": word})).await;
    anvil.send(json!({"from": bob, "to": logger, "data": "0xabcdef", "gas": "0x186a0"})).await;
    anvil.send(json!({"from": bob, "to": alice, "data": "0xabcdef12"})).await;
    anvil.send(json!({"from": bob, "to": logger, "gas": "0x186a0"})).await;
    anvil.send(json!({"from": bob, "to": logger, "data": word, "gas": "0x5800"})).await;
    anvil.send(json!({"from": alice, "data": "0x60006000fd", "gas": "0x186a0"})).await;
    anvil.send(json!({"from": alice, "data": "0x00", "gas": "0x186a0"})).await;
    created(anvil, carol, &Contract::Counter.creation_code().to_string()).await;

    // Several in one block, of one sender and of many.
    anvil.rpc.call("evm_setAutomine", json!([false])).await;
    for (sender, receiver) in [(alice, bob), (alice, carol), (bob, alice), (carol, &logger), (alice, alice)] {
        anvil.submit(json!({"from": sender, "to": receiver, "data": word, "gas": "0x186a0"})).await;
    }
    anvil.mine(2).await;
    anvil.rpc.call("evm_setAutomine", json!([true])).await;

    // An EIP-7702 delegation and a blob transaction.
    anvil.rpc.call("evm_increaseTime", json!([86_400 * 400])).await;
    cast_send(anvil, 3, &[bob, "--auth", &logger]).await;
    let blob = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(blob.path(), "a blob").unwrap();
    cast_send(anvil, 4, &[carol, "--blob", "--path", blob.path().to_str().unwrap()]).await;
    anvil.mine(1).await;
}

async fn created(anvil: &Anvil, from: &str, code: &str) -> String {
    let receipt = anvil.send(json!({"from": from, "data": code, "gas": "0x4c4b40"})).await;
    assert_eq!(receipt["status"], "0x1", "{receipt}");
    text(&receipt["contractAddress"]).to_lowercase()
}

async fn cast_send(anvil: &Anvil, account: u32, arguments: &[&str]) {
    let index = account.to_string();
    let wallet = ["--mnemonic", MNEMONIC, "--mnemonic-index", &index];
    // cast polls for the receipt at long intervals, so do not wait with it.
    let hash = anvil.cast(&[&["send", "--async"], arguments, &wallet].concat()).await;
    anvil.receipt(hash.trim()).await;
}
