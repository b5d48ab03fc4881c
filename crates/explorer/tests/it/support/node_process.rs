use serde_json::{Value, json};

use super::{Rpc, TestExplorer, eventually, process::Process};

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
    pub(crate) async fn receipt(&self, hash: &str) -> Value {
        eventually("the receipt", async || {
            let receipt = self.rpc.call("eth_getTransactionReceipt", json!([hash])).await;
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
