use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Rpc, TestExplorer, eventually, process::Process};

/// Much longer than a node that mines at once takes for a block.
const MINES_AT_ONCE: Duration = Duration::from_secs(5);

/// A running node with unlocked accounts.
#[derive(Debug)]
pub(crate) struct NodeProcess {
    pub(crate) rpc: Rpc,
    _process: Process,
}

impl NodeProcess {
    pub(super) fn new(url: impl Into<String>, process: Process) -> Self {
        Self { rpc: Rpc::new(url), _process: process }
    }

    pub(crate) fn url(&self) -> &str {
        self.rpc.url()
    }

    pub(crate) fn ws_url(&self) -> String {
        self.url().replacen("http", "ws", 1)
    }

    pub(crate) async fn accounts(&self) -> Vec<String> {
        let accounts = self.rpc.call("eth_accounts", json!([])).await;
        accounts.as_array().unwrap().iter().map(|account| account.as_str().unwrap().to_lowercase()).collect()
    }

    /// Waits until this transaction is in a block.
    ///
    /// anvil mines when its pool announces a transaction, and at times misses the announcement: three times in 10,000 by reports, and
    /// the transaction then waits for the next one (foundry issue 10122). So a block is mined if nothing happens for seconds.
    pub(crate) async fn receipt(&self, hash: &str) -> Value {
        let mut mine_at = Instant::now() + MINES_AT_ONCE;
        eventually("the receipt", async || {
            let receipt = self.rpc.call("eth_getTransactionReceipt", json!([hash])).await;
            if receipt.is_null() && Instant::now() >= mine_at {
                println!("the node did not mine {hash}");
                self.rpc.call("evm_mine", json!([])).await;
                mine_at = Instant::now() + MINES_AT_ONCE;
            }
            (!receipt.is_null()).then_some(receipt)
        })
        .await
    }

    /// Waits until the explorer has the head of the node.
    pub(crate) async fn wait_for(&self, explorer: &TestExplorer) {
        let (number, hash) = self.rpc.head().await;
        explorer.wait_for_tip(number, &hash).await;
    }
}
