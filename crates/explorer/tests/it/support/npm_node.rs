use std::{
    ops::Deref,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use serde_json::{Value, json};

use super::{node_process::NodeProcess, permits, process::Process, wallet_clients::installed_clients};

/// A real Hardhat or ganache node as installed by ./test, with its unlocked accounts.
#[derive(Debug)]
pub(crate) struct NpmNode {
    pub(crate) kind: NpmNodeKind,
    node: NodeProcess,
}

impl Deref for NpmNode {
    type Target = NodeProcess;

    fn deref(&self) -> &NodeProcess {
        &self.node
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NpmNodeKind {
    Hardhat,
    Ganache,
}

impl NpmNode {
    pub(crate) async fn start(kind: NpmNodeKind) -> Self {
        permits::busy().await;
        let installed = installed_clients();
        let scripts = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
        let home = tempfile::tempdir().unwrap();
        let mut command = Command::new("node");
        command.env("EXPLORER_TEST_CLIENTS", &installed).current_dir(&installed);
        // Ignore the settings of the developer and the telemetry prompt.
        for folder in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
            command.env(folder, home.path());
        }
        command.env("HARDHAT_DISABLE_TELEMETRY_PROMPT", "true");
        let mark = match kind {
            NpmNodeKind::Hardhat => {
                command.arg(installed.join("node_modules/hardhat/internal/cli/bootstrap.js"));
                command.arg("--config").arg(scripts.join("hardhat.config.cjs"));
                command.args(["node", "--hostname", "127.0.0.1", "--port", "0"]);
                "JSON-RPC server at "
            }
            NpmNodeKind::Ganache => {
                command.arg(scripts.join("ganache_node.mjs"));
                "Listening on "
            }
        };
        assert_is_installed(&installed, kind);
        let mut process = Process::spawn(&mut command);
        process.keep(Arc::new(home));
        let url = process.printed(mark).await;
        Self { kind, node: NodeProcess::new(url.trim_end_matches('/'), process) }
    }

    /// Sends from an unlocked account, waits for the block and returns the receipt.
    pub(crate) async fn send(&self, transaction: Value) -> Value {
        let hash = self.submit(transaction).await;
        self.receipt(&hash).await
    }

    /// Submits a transaction of an unlocked account to the pool and returns its hash.
    pub(crate) async fn submit(&self, transaction: Value) -> String {
        let answer = self.rpc.answers(&[("eth_sendTransaction", json!([transaction]))]).await.remove(0);
        // Hardhat returns an error for a reverted transaction although it is in a block.
        let hash = answer.unwrap_or_else(|error| error["data"]["txHash"].clone());
        hash.as_str().unwrap_or_else(|| panic!("{transaction} was not taken")).to_owned()
    }

    pub(crate) async fn mine(&self, blocks: u64) {
        for _ in 0..blocks {
            self.rpc.call("evm_mine", json!([])).await;
        }
    }

    /// Transactions stay in the pool until [`Self::mine`].
    pub(crate) async fn disable_automine(&self) {
        match self.kind {
            NpmNodeKind::Hardhat => self.rpc.call("evm_setAutomine", json!([false])).await,
            NpmNodeKind::Ganache => self.rpc.call("miner_stop", json!([])).await,
        };
    }

    /// Each transaction is mined in its own block at once.
    pub(crate) async fn enable_automine(&self) {
        match self.kind {
            NpmNodeKind::Hardhat => self.rpc.call("evm_setAutomine", json!([true])).await,
            NpmNodeKind::Ganache => self.rpc.call("miner_start", json!([])).await,
        };
    }

    /// Lets the node send from this account without its key.
    pub(crate) async fn impersonate(&self, address: &str) {
        match self.kind {
            NpmNodeKind::Hardhat => {
                self.rpc.call("hardhat_impersonateAccount", json!([address])).await;
            }
            NpmNodeKind::Ganache => {
                self.rpc.call("evm_addAccount", json!([address, "password"])).await;
                self.rpc.call("personal_unlockAccount", json!([address, "password", "0x0"])).await;
            }
        }
    }
}

fn assert_is_installed(installed: &Path, kind: NpmNodeKind) {
    let name = match kind {
        NpmNodeKind::Hardhat => "hardhat",
        NpmNodeKind::Ganache => "ganache",
    };
    let folder = installed.join("node_modules").join(name);
    assert!(folder.is_dir(), "this test needs {name}: run ./test, which gets it into {}", folder.display());
}
