//! The explorer under measurement: the real binary, as a process of its own.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

const LISTENING: &str = "Listening on ";
/// The unit in which Linux counts a process's CPU time.
const TICKS_PER_SECOND: f64 = 100.0;

pub(crate) struct Explorer {
    process: Child,
    pub(crate) url: String,
}

impl Explorer {
    /// Starts the binary that stands beside this one.
    pub(crate) async fn start(rpc: &str, data: &Path) -> anyhow::Result<Self> {
        let binary = std::env::current_exe()?.with_file_name("explorer");
        if !binary.is_file() {
            bail!("{} is missing: build it first with `cargo build --release`", binary.display());
        }
        let mut process = Command::new(binary)
            .args(["run", "--listen", "127.0.0.1:0", "--log", "warn", "--rpc", rpc, "--data"])
            .arg(data)
            // The measurement asks far more often than a stranger may.
            .env("EXPLORER_ANONYMOUS_REQUESTS_PER_MINUTE", "0")
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut lines = BufReader::new(process.stdout.take().context("no output")?).lines();
        let line = lines.next_line().await?.context("the explorer ended at once")?;
        let url = line.strip_prefix(LISTENING).context("the explorer does not say where it listens")?;
        Ok(Self { process, url: url.to_owned() })
    }

    pub(crate) async fn wait_for_tip(&self, number: u64) -> anyhow::Result<()> {
        let client = reqwest::Client::new();
        let deadline = Instant::now() + Duration::from_secs(600);
        while Instant::now() < deadline {
            let body = client.get(format!("{}/health", self.url)).send().await?.bytes().await?;
            if serde_json::from_slice::<Value>(&body)?["tip"]["number"].as_u64() >= Some(number) {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        bail!("block {number} was not indexed in time")
    }

    /// CPU seconds used so far, user and system.
    pub(crate) fn cpu_seconds(&self) -> anyhow::Result<f64> {
        let fields = self.proc_file("stat")?;
        // The name of the program, in brackets, may hold spaces: what counts comes after it.
        let after_name = fields.rsplit(')').next().unwrap_or_default();
        let ticks = after_name.split_whitespace().skip(11).take(2).map(str::parse::<f64>);
        Ok(ticks.sum::<Result<f64, _>>()? / TICKS_PER_SECOND)
    }

    /// The most memory held at any time, in megabytes.
    pub(crate) fn peak_megabytes(&self) -> anyhow::Result<f64> {
        let status = self.proc_file("status")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no peak memory")?;
        Ok(line.trim_end_matches("kB").trim().parse::<f64>()? / 1024.0)
    }

    fn proc_file(&self, name: &str) -> anyhow::Result<String> {
        let id = self.process.id().context("the explorer has ended")?;
        Ok(std::fs::read_to_string(format!("/proc/{id}/{name}"))?)
    }

    pub(crate) async fn stop(mut self) -> anyhow::Result<()> {
        let id = self.process.id().context("the explorer has ended")?;
        Command::new("kill").args(["-TERM", &id.to_string()]).status().await?;
        self.process.wait().await?;
        Ok(())
    }
}
