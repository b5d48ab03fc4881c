//! The explorer under measurement: the real binary in a separate process.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

const LISTENING: &str = "Listening on ";
/// How lines with URLs start in the banner of the demo, in this order.
const DEMO_PAGES: &str = "Open";
const DEMO_NODE: &str = "Chain";
/// A measurement sends more requests than the default limits allow.
const UNLIMITED: [&str; 4] = ["--anonymous-requests-per-minute", "0", "--pages-per-minute", "0"];
/// Without a response cache, which would hide the store.
pub(crate) const NO_CACHE: [&str; 2] =
    ["--config", concat!(env!("CARGO_MANIFEST_DIR"), "/without-response-cache.toml")];
/// The unit of CPU time in /proc.
const TICKS_PER_SECOND: f64 = 100.0;
/// The highest limit of requests per minute of a key, more than a measurement sends.
pub(crate) const HIGHEST_LIMIT: u32 = 1_000_000;

const STALL_TIMEOUT: Duration = Duration::from_secs(120);
/// Short enough to see every tip, long enough to cost the process little.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The binary in the same folder as this one.
pub(crate) fn own_binary() -> anyhow::Result<PathBuf> {
    let binary = std::env::current_exe()?.with_file_name("explorer");
    if !binary.is_file() {
        bail!("{} is missing: build it first with `cargo build --release`", binary.display());
    }
    Ok(binary)
}

fn binary() -> anyhow::Result<Command> {
    Ok(Command::new(own_binary()?))
}

/// CPU seconds of a process so far, user and system.
pub(crate) fn cpu_seconds(process: u32) -> anyhow::Result<f64> {
    let fields = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The program name in parentheses may contain spaces, so skip it.
    let after_name = fields.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(2).map(str::parse::<f64>);
    Ok(ticks.sum::<Result<f64, _>>()? / TICKS_PER_SECOND)
}

/// Merges rows of lists in a database.
pub(crate) async fn compact_database(url: &str) -> anyhow::Result<()> {
    let compacted = binary()?.args(["database", "compact", "--database", url]).output().await?;
    if !compacted.status.success() {
        bail!("{}", String::from_utf8_lossy(&compacted.stderr));
    }
    Ok(())
}

pub(crate) struct Explorer {
    process: Child,
    pub(crate) url: String,
    client: reqwest::Client,
}

impl Explorer {
    /// Starts the binary in the same folder as this one, without rate limits.
    pub(crate) async fn start(rpc: &str, data: &Path) -> anyhow::Result<Self> {
        Self::start_with(rpc, data, &[]).await
    }

    /// The same, with further options.
    pub(crate) async fn start_with(rpc: &str, data: &Path, options: &[&str]) -> anyhow::Result<Self> {
        Self::start_binary(&own_binary()?, rpc, data, options).await
    }

    /// The same with another binary.
    pub(crate) async fn start_binary(binary: &Path, rpc: &str, data: &Path, options: &[&str]) -> anyhow::Result<Self> {
        Self::spawn(Command::new(binary), rpc, data, &[&UNLIMITED, options].concat()).await
    }

    /// Starts it without a response cache.
    pub(crate) async fn start_without_cache(rpc: &str, data: &Path) -> anyhow::Result<Self> {
        Self::start_with(rpc, data, &NO_CACHE).await
    }

    /// Starts it with a limit of requests per minute for clients without a key.
    pub(crate) async fn start_with_limit(rpc: &str, data: &Path, anonymous: u32) -> anyhow::Result<Self> {
        Self::spawn(binary()?, rpc, data, &["--anonymous-requests-per-minute", &anonymous.to_string()]).await
    }

    /// Starts it with a limit that no client reaches, behind a proxy.
    pub(crate) async fn start_counting(rpc: &str, data: &Path, options: &[&str]) -> anyhow::Result<Self> {
        let limit = HIGHEST_LIMIT.to_string();
        let counting = ["--anonymous-requests-per-minute", &limit, "--trusted-proxy", "127.0.0.1/32"];
        Self::spawn(binary()?, rpc, data, &[&counting, options].concat()).await
    }

    /// Starts the demo with a block every so many milliseconds; returns it with the URL of its node.
    pub(crate) async fn start_demo(block_millis: u64) -> anyhow::Result<(Self, String)> {
        let mut process = binary()?
            .args(["demo", "--listen", "127.0.0.1:0", "--rpc-listen", "127.0.0.1:0", "--block-millis"])
            .arg(block_millis.to_string())
            .args(UNLIMITED)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut lines = BufReader::new(process.stdout.take().context("no output")?).lines();
        let mut urls = Vec::new();
        while urls.len() < 2 {
            let line = lines.next_line().await?.context("the demo exited at startup")?;
            if let [DEMO_PAGES | DEMO_NODE, url, ..] = line.split_whitespace().collect::<Vec<_>>()[..] {
                urls.push(url.trim_end_matches('/').to_owned());
            }
        }
        let node = urls.pop().context("the demo does not print the address of its node")?;
        let url = urls.pop().context("the demo does not print its address")?;
        Ok((Self { process, url, client: reqwest::Client::new() }, node))
    }

    async fn spawn(mut binary: Command, rpc: &str, data: &Path, options: &[&str]) -> anyhow::Result<Self> {
        let mut process = binary
            .args(["run", "--listen", "127.0.0.1:0", "--log", "warn", "--rpc", rpc, "--data"])
            .arg(data)
            .args(options)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut lines = BufReader::new(process.stdout.take().context("no output")?).lines();
        let line = lines.next_line().await?.context("the explorer exited at startup")?;
        let url = line.strip_prefix(LISTENING).context("the explorer does not print its address")?;
        Ok(Self { process, url: url.to_owned(), client: reqwest::Client::new() })
    }

    /// Creates a key with the highest limit in a data folder that no explorer has open.
    pub(crate) async fn make_key(data: &Path) -> anyhow::Result<String> {
        let owner = "0x000000000000000000000000000000000000beef";
        let made = binary()?.args(["keys", "create", "--owner", owner, "--data"]).arg(data).output().await?;
        let printed = String::from_utf8(made.stdout)?;
        let key = printed.lines().next().context("no key was created")?.to_owned();
        let limit = HIGHEST_LIMIT.to_string();
        let raised = binary()?.args(["keys", "limit", "1", &limit, "--data"]).arg(data).output().await?;
        if !raised.status.success() {
            bail!("{}", String::from_utf8_lossy(&raised.stderr));
        }
        Ok(key)
    }

    /// The latest indexed block according to `/health`.
    pub(crate) async fn tip(&self) -> anyhow::Result<Option<u64>> {
        let body = self.client.get(format!("{}/health", self.url)).send().await?.error_for_status()?.bytes().await?;
        Ok(serde_json::from_slice::<Value>(&body)?["tip"]["number"].as_u64())
    }

    pub(crate) async fn wait_for_tip(&self, number: u64) -> anyhow::Result<()> {
        self.watch_tip(number, |_| {}).await
    }

    /// Waits until a block is indexed and reports every tip on the way. Fails if indexing stalls.
    pub(crate) async fn watch_tip(&self, number: u64, mut seen: impl FnMut(u64)) -> anyhow::Result<()> {
        let (mut last, mut moved) = (None, Instant::now());
        loop {
            let tip = self.tip().await?;
            if tip != last {
                (last, moved) = (tip, Instant::now());
                tip.into_iter().for_each(&mut seen);
            }
            if tip >= Some(number) {
                return Ok(());
            }
            if moved.elapsed() > STALL_TIMEOUT {
                bail!("indexing stalled at block {last:?}, before {number}");
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Kills it without a clean shutdown.
    pub(crate) async fn kill(mut self) -> anyhow::Result<()> {
        Ok(self.process.kill().await?)
    }

    /// Bytes written to the disk so far.
    pub(crate) fn written_bytes(&self) -> anyhow::Result<u64> {
        let io = self.proc_file("io")?;
        let line = io.lines().find_map(|line| line.strip_prefix("write_bytes:")).context("no bytes written")?;
        Ok(line.trim().parse()?)
    }

    /// CPU seconds used so far, user and system.
    pub(crate) fn cpu_seconds(&self) -> anyhow::Result<f64> {
        cpu_seconds(self.process.id().context("the explorer has exited")?)
    }

    /// CPU nanoseconds of the existing threads.
    pub(crate) fn cpu_nanos(&self) -> anyhow::Result<u64> {
        let id = self.process.id().context("the explorer has exited")?;
        let mut nanos = 0;
        for thread in std::fs::read_dir(format!("/proc/{id}/task"))? {
            // A thread that ends meanwhile was idle.
            let stat = std::fs::read_to_string(thread?.path().join("schedstat")).unwrap_or_default();
            nanos += stat.split(' ').next().and_then(|nanos| nanos.parse::<u64>().ok()).unwrap_or(0);
        }
        Ok(nanos)
    }

    /// Peak memory in megabytes.
    pub(crate) fn peak_megabytes(&self) -> anyhow::Result<f64> {
        self.status_megabytes("VmHWM:")
    }

    /// Resident memory in megabytes.
    pub(crate) fn resident_megabytes(&self) -> anyhow::Result<f64> {
        self.status_megabytes("VmRSS:")
    }

    fn status_megabytes(&self, name: &str) -> anyhow::Result<f64> {
        let status = self.proc_file("status")?;
        let line = status.lines().find_map(|line| line.strip_prefix(name)).with_context(|| format!("no {name}"))?;
        Ok(line.trim_end_matches("kB").trim().parse::<f64>()? / 1024.0)
    }

    /// Open files and sockets.
    pub(crate) fn descriptors(&self) -> anyhow::Result<usize> {
        let id = self.process.id().context("the explorer has exited")?;
        Ok(std::fs::read_dir(format!("/proc/{id}/fd"))?.count())
    }

    fn proc_file(&self, name: &str) -> anyhow::Result<String> {
        let id = self.process.id().context("the explorer has exited")?;
        Ok(std::fs::read_to_string(format!("/proc/{id}/{name}"))?)
    }

    /// Its version.
    pub(crate) async fn version() -> anyhow::Result<String> {
        let printed = binary()?.arg("--version").output().await?;
        Ok(String::from_utf8(printed.stdout)?.trim().to_owned())
    }

    pub(crate) async fn stop(mut self) -> anyhow::Result<()> {
        let id = self.process.id().context("the explorer has exited")?;
        Command::new("kill").args(["-TERM", &id.to_string()]).status().await?;
        self.process.wait().await?;
        Ok(())
    }
}
