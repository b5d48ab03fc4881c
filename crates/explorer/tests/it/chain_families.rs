//! Blocks of other chain families, and of forks that no dev chain has: sealed with the right hashes, and read through the front
//! door on both stores.

mod access_lists;
mod credits;
mod delegations;
mod fees;
mod genesis;
mod native_logs;
mod odd_nodes;
mod outcomes;
mod refunds;
mod sums;
mod user_operations;

use serde_json::{Value, json};

use crate::{
    postgres::{on_database, server::Server},
    support::{Included, Launch, ReplayNode, TestExplorer},
};

pub(crate) const ALICE: &str = "0x00000000000000000000000000000000000000a1";
pub(crate) const BOB: &str = "0x00000000000000000000000000000000000000b0";

/// Hexadecimal.
fn hex(number: u64) -> Value {
    json!(format!("{number:#x}"))
}

/// A payment of EIP-1559 from Alice to Bob with these fields changed, and its receipt with these.
fn payment(nonce: u64, transaction: Value, receipt: Value) -> Included {
    let mut included = Included {
        transaction: json!({
            "type": "0x2", "chainId": "0x1", "nonce": hex(nonce), "from": ALICE, "to": BOB, "value": "0x64", "input": "0x",
            "gas": "0x5208", "maxFeePerGas": "0x64", "maxPriorityFeePerGas": "0x2", "gasPrice": "0x9", "accessList": [],
            "yParity": "0x1", "v": "0x1", "r": hex(0x1234 + nonce), "s": "0x5678",
        }),
        receipt: json!({"status": "0x1", "gasUsed": "0x5208", "effectiveGasPrice": "0x9", "contractAddress": null}),
    };
    for (target, changes) in [(&mut included.transaction, transaction), (&mut included.receipt, receipt)] {
        for (name, value) in changes.as_object().unwrap() {
            target[name] = value.clone();
        }
    }
    included
}

/// Checks the same on the embedded store and on PostgreSQL, with blocks verified in full.
async fn on_both_stores(node: &ReplayNode, check: impl AsyncFn(&TestExplorer)) {
    let launch = || Launch::run(&node.url()).argument("--verify-blocks", "full");
    for launch in [launch(), on_database(launch(), &Server::shared().database().await)] {
        let explorer = launch.start().await;
        node.wait_for(&explorer).await;
        check(&explorer).await;
    }
}
