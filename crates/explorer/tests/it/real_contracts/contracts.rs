use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::encoding::{Word, call_data, words};
use crate::support::{Anvil, api_state::text, permits, wallet_clients::run_client};

/// Creation code by contract name.
static CODE: OnceCell<Value> = OnceCell::const_new();

/// More than any transaction here needs, below the limit of a transaction.
const GAS: &str = "0xe4e1c0";

/// Deploys a contract and returns its address.
pub(crate) async fn deploy(anvil: &Anvil, from: &str, contract: &str, arguments: &[Word]) -> String {
    let data = format!("{}{}", creation_code(contract).await, words(arguments));
    let receipt = anvil.send(json!({"from": from, "data": data, "gas": GAS})).await;
    assert_eq!(receipt["status"], "0x1", "{contract}");
    text(&receipt["contractAddress"]).to_lowercase()
}

async fn creation_code(contract: &str) -> &'static str {
    // Before the wait for the compiler of another test, as in `verifier_fixture::compile`.
    permits::busy().await;
    let code = CODE.get_or_init(|| run_client("../contracts/compile.mjs", &[])).await;
    text(&code[contract]["bytecode"])
}

/// Stores the pool code in the deployer of PancakeSwap's pools.
pub(super) async fn install_pancake_pool_code(anvil: &Anvil, from: &str, deployer: &str) {
    /// As much as one transaction has gas to write.
    const DIGITS: usize = 2 * 10_000;
    let code = creation_code("PancakeV3Pool").await.trim_start_matches("0x").as_bytes();
    for part in code.chunks(DIGITS) {
        let part = std::str::from_utf8(part).unwrap();
        let head = call_data("learn(bytes)", &[32.into(), (part.len() as u64 / 2).into()]);
        let padding = "0".repeat(part.len().next_multiple_of(64) - part.len());
        send(anvil, json!({"from": from, "to": deployer, "data": format!("{head}{part}{padding}")})).await;
    }
}

/// Calls a function in a transaction that must succeed, in its own block.
pub(super) async fn call(anvil: &Anvil, from: &str, to: &str, signature: &str, arguments: &[Word]) {
    send(anvil, json!({"from": from, "to": to, "data": call_data(signature, arguments)})).await;
}

pub(super) async fn pay(anvil: &Anvil, from: &str, to: &str, signature: &str, value: u64) {
    let data = call_data(signature, &[]);
    send(anvil, json!({"from": from, "to": to, "data": data, "value": format!("{value:#x}")})).await;
}

pub(crate) async fn send(anvil: &Anvil, mut transaction: Value) {
    transaction["gas"] = GAS.into();
    let receipt = anvil.send(transaction.clone()).await;
    assert_eq!(receipt["status"], "0x1", "{transaction}");
}

/// Submits a call to the pool, to be mined with others.
pub(super) async fn submit(anvil: &Anvil, from: &str, to: &str, signature: &str, arguments: &[Word]) {
    let data = call_data(signature, arguments);
    anvil.submit(json!({"from": from, "to": to, "data": data, "gas": "0x1e8480"})).await;
}

/// Calls a view function that returns an address.
pub(super) async fn call_for_address(anvil: &Anvil, to: &str, signature: &str, arguments: &[Word]) -> String {
    let data = call_data(signature, arguments);
    let answer = anvil.rpc.call("eth_call", json!([{"to": to, "data": data}, "latest"])).await;
    format!("0x{}", &text(&answer)[26..])
}
