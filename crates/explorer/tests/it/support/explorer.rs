use std::{
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
    sync::Arc,
};

use serde_json::Value;
use tempfile::TempDir;

use super::{
    client::{Answer, Client},
    eventually,
    process::{Ended, Process, Signal},
};

/// The real binary, running as a process of its own.
#[derive(Debug)]
pub(crate) struct TestExplorer {
    process: Process,
    client: Client,
    data: Arc<Folder>,
}

/// A data folder; one made for the test goes with it.
#[derive(Debug)]
enum Folder {
    Temporary(TempDir),
    Given(PathBuf),
}

impl Folder {
    fn path(&self) -> &Path {
        match self {
            Self::Temporary(folder) => folder.path(),
            Self::Given(path) => path,
        }
    }
}

/// How the explorer is to be started.
#[derive(Debug)]
pub(crate) struct Launch {
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
    data: Arc<Folder>,
    /// Stands in for the user's home, so that no configuration of whoever runs the tests has a say.
    home: TempDir,
}

impl TestExplorer {
    /// Follows the node at this address, in a new data folder.
    pub(crate) async fn start(rpc: &str) -> Self {
        Launch::run(rpc).start().await
    }

    /// Follows the node at this address, in this data folder.
    pub(crate) async fn start_on(rpc: &str, data: &Path) -> Self {
        Launch::run(rpc).on(data).start().await
    }

    pub(crate) fn data(&self) -> &Path {
        self.data.path()
    }

    pub(crate) fn log(&self) -> String {
        self.process.stderr()
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.client.get(path).await
    }

    /// The body of a GET, which must come with a 200.
    pub(crate) async fn json(&self, path: &str) -> Value {
        self.client.json(path).await
    }

    /// Waits until this very block is the tip of the index.
    pub(crate) async fn wait_for_tip(&self, number: u64, hash: &str) {
        eventually(&format!("tip {number} {hash}"), async || {
            let tip = &self.json("/health").await["tip"];
            (tip["number"] == number && tip["hash"] == hash).then_some(())
        })
        .await;
    }

    /// Waits until the index is at least this far.
    pub(crate) async fn wait_for_block(&self, number: u64) {
        eventually(&format!("block {number} indexed"), async || {
            self.json("/health").await["tip"]["number"].as_u64().filter(|tip| *tip >= number)
        })
        .await;
    }

    pub(crate) async fn wait_for_log(&self, text: &str) {
        eventually(&format!("{text:?} in the log"), async || self.log().contains(text).then_some(())).await;
    }

    /// SIGKILL, as a crash would be. The data folder stays for as long as the answer is held.
    pub(crate) fn kill(mut self) -> KeptFolder {
        self.process.kill();
        KeptFolder(Arc::clone(&self.data))
    }

    /// SIGTERM.
    pub(crate) async fn stop(mut self) -> (Ended, KeptFolder) {
        let ended = self.process.stop(Signal::Terminate).await;
        (ended, KeptFolder(Arc::clone(&self.data)))
    }

    /// Waits for the process to end by itself.
    pub(crate) async fn ended(mut self) -> (ExitStatus, String) {
        let status = self.process.ended().await;
        (status, self.process.stderr())
    }
}

/// The data of an explorer that is gone.
#[derive(Debug, Clone)]
pub(crate) struct KeptFolder(Arc<Folder>);

impl KeptFolder {
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Launch {
    /// `explorer run --rpc ...` on a free port and a new data folder.
    pub(crate) fn run(rpc: &str) -> Self {
        Self::bare(["run", "--rpc", rpc, "--listen", "127.0.0.1:0"])
    }

    /// With these arguments and no others; only `--data` is added, through the environment.
    pub(crate) fn bare<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            arguments: arguments.into_iter().map(str::to_owned).collect(),
            variables: Vec::new(),
            data: Arc::new(Folder::Temporary(tempfile::tempdir().unwrap())),
            home: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn on(mut self, data: &Path) -> Self {
        self.data = Arc::new(Folder::Given(data.to_owned()));
        self
    }

    pub(crate) fn argument(mut self, name: &str, value: impl ToString) -> Self {
        self.arguments.extend([name.to_owned(), value.to_string()]);
        self
    }

    pub(crate) fn variable(mut self, name: &str, value: impl ToString) -> Self {
        self.variables.push((name.to_owned(), value.to_string()));
        self
    }

    /// Starts it and waits until it listens.
    pub(crate) async fn start(self) -> TestExplorer {
        let data = Arc::clone(&self.data);
        let mut process = self.spawn();
        let base = process.printed("Listening on ").await;
        TestExplorer { process, client: Client::new(base), data }
    }

    /// Starts it and waits until it gives up; tells how, and what it said.
    pub(crate) async fn refused(self) -> (ExitStatus, String) {
        let mut process = self.spawn();
        let status = process.ended().await;
        (status, process.stderr())
    }

    pub(crate) fn spawn(self) -> Process {
        let mut command = Command::new(env!("CARGO_BIN_EXE_explorer"));
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("EXPLORER_")) {
            command.env_remove(name);
        }
        for folder in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
            command.env(folder, self.home.path());
        }
        command.env("EXPLORER_DATA", self.data.path()).envs(self.variables).args(self.arguments);
        Process::spawn(&mut command)
    }
}
