use std::{
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
    sync::Arc,
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;

use super::{
    admin::Metrics,
    client::{Answer, Client},
    eventually,
    process::{self, Ended, Process, Signal},
};

/// The real binary, running as a child process.
#[derive(Debug)]
pub(crate) struct TestExplorer {
    process: Process,
    client: Client,
    data: DataFolder,
}

/// The data folder of an explorer.
#[derive(Debug, Clone)]
pub(crate) enum DataFolder {
    /// Deleted when the last handle is dropped.
    Temporary(Arc<TempDir>),
    /// Managed by the caller.
    Elsewhere(PathBuf),
}

impl DataFolder {
    fn new() -> Self {
        Self::Temporary(Arc::new(tempfile::tempdir().unwrap()))
    }

    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Temporary(folder) => folder.path(),
            Self::Elsewhere(path) => path,
        }
    }
}

impl From<&DataFolder> for DataFolder {
    fn from(folder: &DataFolder) -> Self {
        folder.clone()
    }
}

impl From<&Path> for DataFolder {
    fn from(path: &Path) -> Self {
        Self::Elsewhere(path.to_owned())
    }
}

/// Builds the command line of an explorer.
#[derive(Debug)]
pub(crate) struct Launch {
    /// A wrapper command with its arguments; empty if the test starts the explorer directly.
    starter: Vec<String>,
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
    data: DataFolder,
    /// Replaces the home folder, so that the configuration of the developer has no effect.
    home: TempDir,
}

impl TestExplorer {
    /// Follows the node at this URL, in a new data folder.
    pub(crate) async fn start(rpc: &str) -> Self {
        Launch::run(rpc).start().await
    }

    /// Follows the node at this URL, in this data folder.
    pub(crate) async fn start_on(rpc: &str, data: impl Into<DataFolder>) -> Self {
        Launch::run(rpc).on(data).start().await
    }

    pub(crate) fn data(&self) -> &DataFolder {
        &self.data
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn log(&self) -> String {
        self.process.stderr()
    }

    /// Resident memory, in megabytes.
    pub(crate) fn resident_megabytes(&self) -> u64 {
        self.process.resident_megabytes()
    }

    /// The process id.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.client.get(path).await
    }

    /// The body of a GET that must return 200.
    pub(crate) async fn json(&self, path: &str) -> Value {
        self.client.json(path).await
    }

    /// Waits until this block is the tip of the index.
    pub(crate) async fn wait_for_tip(&self, number: u64, hash: &str) {
        eventually(&format!("tip {number} {hash}"), async || {
            let tip = &self.json("/health").await["tip"];
            (tip["number"] == number && tip["hash"] == hash).then_some(())
        })
        .await;
    }

    /// Waits until all blocks of the index are matched with webhooks, and every message was sent once.
    pub(crate) async fn wait_for_messages(&self) {
        eventually("the messages of all blocks", async || {
            let tip = self.json("/health").await["tip"]["number"].as_f64();
            let metrics = Metrics::of(self.data.path()).await;
            let is_matched =
                metrics.get("explorer_webhooks") == 0.0 || metrics.find("explorer_webhook_cursor_block") == tip;
            (is_matched && metrics.find("explorer_webhook_oldest_untried_seconds") == Some(0.0)).then_some(())
        })
        .await;
    }

    pub(crate) async fn wait_for_log(&self, text: &str) {
        eventually(&format!("{text:?} in the log"), async || self.log().contains(text).then_some(())).await;
    }

    /// SIGKILL, to simulate a crash.
    pub(crate) fn kill(mut self) -> DataFolder {
        self.process.kill();
        self.data.clone()
    }

    /// SIGTERM.
    pub(crate) async fn stop(mut self) -> (Ended, DataFolder) {
        let ended = self.process.stop(Signal::Terminate).await;
        (ended, self.data.clone())
    }
}

/// The binary, out of reach of the settings of the developer.
pub(crate) fn explorer_command() -> Command {
    without_settings(Command::new(env!("CARGO_BIN_EXE_explorer")))
}

/// Runs a command of the binary to its end: whether it succeeded, and what it printed.
pub(crate) async fn run_explorer(arguments: &[&str]) -> (bool, String) {
    let mut command = explorer_command();
    command.args(arguments);
    let output = process::output(command).await;
    (output.status.success(), String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap())
}

fn without_settings(mut command: Command) -> Command {
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("EXPLORER_")) {
        command.env_remove(name);
    }
    command
}

/// Checks that a stop took at most two seconds.
pub(crate) fn assert_prompt_stop(ended: &Ended) {
    assert!(ended.status.success() && ended.took < Duration::from_secs(2), "{ended:?}");
}

impl Launch {
    /// `explorer run --rpc ...` on a free port and a new data folder.
    pub(crate) fn run(rpc: &str) -> Self {
        Self::bare(["run", "--rpc", rpc, "--listen", "127.0.0.1:0"])
    }

    /// The demo on free ports, with this many past transactions.
    pub(crate) fn demo(transactions: u32) -> Self {
        Self::bare(["demo", "--listen", "127.0.0.1:0", "--rpc-listen", "127.0.0.1:0"])
            .argument("--transactions", transactions)
    }

    /// With these arguments; the data folder is set by an environment variable.
    pub(crate) fn bare<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            starter: Vec::new(),
            arguments: arguments.into_iter().map(str::to_owned).collect(),
            variables: Vec::new(),
            data: DataFolder::new(),
            home: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn on(mut self, data: impl Into<DataFolder>) -> Self {
        self.data = data.into();
        self
    }

    pub(crate) fn argument(mut self, name: &str, value: impl ToString) -> Self {
        self.arguments.extend([name.to_owned(), value.to_string()]);
        self
    }

    /// With its admin interface in the data folder, where it is only by default if the index is there, too.
    pub(crate) fn with_admin_socket(self) -> Self {
        let socket = self.data.path().join("admin.sock");
        self.argument("--admin-socket", socket.display())
    }

    pub(crate) fn flag(mut self, flag: &str) -> Self {
        self.arguments.push(flag.to_owned());
        self
    }

    pub(crate) fn variable(mut self, name: &str, value: impl ToString) -> Self {
        self.variables.push((name.to_owned(), value.to_string()));
        self
    }

    /// With this configuration file.
    pub(crate) fn configured(self, text: &str) -> Self {
        let folder = self.home.path().join("explorer");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("config.toml"), text).unwrap();
        self
    }

    /// Runs a shell script first, in new namespaces if `unshare` has arguments; the process id stays the same.
    pub(crate) fn after_script(mut self, unshare: &[&str], script: &str) -> Self {
        let namespaces = if unshare.is_empty() { Vec::new() } else { [&["unshare"], unshare].concat() };
        let script = format!("{script}; exec \"$0\" \"$@\"");
        self.starter = namespaces.into_iter().chain(["sh", "-c", &script]).map(str::to_owned).collect();
        self
    }

    /// Runs it with this program and its arguments.
    pub(crate) fn under(mut self, starter: &[&str]) -> Self {
        self.starter = starter.iter().map(|word| (*word).to_owned()).collect();
        self
    }

    /// Starts it and waits until it listens.
    pub(crate) async fn start(self) -> TestExplorer {
        let data = self.data.clone();
        let mut process = self.spawn();
        let base = process.printed("Listening on ").await;
        TestExplorer { process, client: Client::new(base), data }
    }

    /// Starts it, waits until it exits, and returns the exit status and stderr.
    pub(crate) async fn fails_to_start(self) -> (ExitStatus, String) {
        let mut process = self.spawn();
        let status = process.ended().await;
        (status, process.stderr())
    }

    pub(crate) fn spawn(self) -> Process {
        let mut words = self.starter.iter().map(String::as_str).chain([env!("CARGO_BIN_EXE_explorer")]);
        let mut command = without_settings(Command::new(words.next().unwrap()));
        command.args(words);
        for folder in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
            command.env(folder, self.home.path());
        }
        // Tests send more requests than anonymous clients may; tests of the limit set it themselves.
        command.env("EXPLORER_ANONYMOUS_REQUESTS_PER_MINUTE", "0");
        command.env("EXPLORER_PAGES_PER_MINUTE", "0");
        command.env("EXPLORER_DATA", self.data.path()).envs(self.variables).args(self.arguments);
        let mut process = Process::spawn(&mut command);
        process.keep(Arc::new(self.home));
        if let DataFolder::Temporary(folder) = self.data {
            process.keep(folder);
        }
        process
    }
}
