use std::{ops::Deref, path::PathBuf, process::Command};

use serde_json::{Value, json};

use super::{
    node_process::NodeProcess,
    process::{Process, output},
    rpc::quantity,
};

/// A real anvil, with its ten unlocked accounts.
#[derive(Debug)]
pub(crate) struct Anvil(NodeProcess);

impl Deref for Anvil {
    type Target = NodeProcess;

    fn deref(&self) -> &NodeProcess {
        &self.0
    }
}

impl Anvil {
    pub(crate) async fn start() -> Self {
        Self::with(&[]).await
    }

    pub(crate) async fn with(arguments: &[&str]) -> Self {
        Self::at(0, arguments).await
    }

    /// On this port; 0 for a free one.
    pub(crate) async fn at(port: u16, arguments: &[&str]) -> Self {
        let mut command = Command::new(binary("anvil", "ANVIL_BIN"));
        command.args(["--port", &port.to_string(), "--order", "fifo"]).args(arguments);
        let mut process = Process::spawn(&mut command);
        let host = process.printed("Listening on ").await;
        Self(NodeProcess::new(format!("http://{host}"), process))
    }

    /// Sends from an unlocked account, waits for the block and returns the receipt.
    pub(crate) async fn send(&self, transaction: Value) -> Value {
        let hash = self.submit(transaction).await;
        self.receipt(&hash).await
    }

    /// Submits a transaction of an unlocked account to the pool and returns its hash.
    pub(crate) async fn submit(&self, transaction: Value) -> String {
        self.rpc.call("eth_sendTransaction", json!([transaction])).await.as_str().unwrap().to_owned()
    }

    pub(crate) async fn mine(&self, blocks: u64) {
        self.rpc.call("anvil_mine", json!([format!("{blocks:#x}")])).await;
    }

    /// Runs `cast` against this node and returns its output.
    pub(crate) async fn cast(&self, arguments: &[&str]) -> String {
        let mut command = Command::new(binary("cast", "CAST_BIN"));
        // Right after the subcommand: some subcommands take all later arguments as their own.
        let (subcommand, rest) = arguments.split_at(1);
        command.args(subcommand).args(["--rpc-url", self.url()]).args(rest);
        let output = output(command).await;
        assert!(output.status.success(), "cast {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) async fn block_number(&self) -> u64 {
        quantity(&self.rpc.call("eth_blockNumber", json!([])).await)
    }
}

/// Finds a Foundry program. If it is missing the test fails instead of being skipped.
pub(crate) fn binary(name: &str, variable: &str) -> PathBuf {
    if let Some(path) = std::env::var_os(variable) {
        return path.into();
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("this test needs {name}: run ./test, which gets it, or set {variable}"))
}
