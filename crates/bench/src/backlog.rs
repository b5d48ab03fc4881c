//! The cost of many webhooks on one busy address while their receiver is down (disk, writes and CPU), compared with the same
//! blocks without webhooks.

use std::{fmt, net::Ipv4Addr, path::Path, time::Duration};

use alloy_primitives::{Address, TxKind, U256};
use anyhow::{Context, bail};
use devchain::{DevChain, DevChainConfig};
use serde_json::json;
use tokio::net::TcpListener;

use crate::{explorer::Explorer, progress::report};

const WEBHOOKS: usize = 200;
/// The limit per owner.
const PER_OWNER: usize = 20;
const BLOCKS: usize = 100;
const PER_BLOCK: usize = 200;
const BUSY: Address = Address::repeat_byte(0xbb);
const OPTIONS: [&str; 3] = ["--owner-access", "open", "--webhook-allow-insecure"];
/// The process is idle when it uses less CPU seconds than this within the interval.
const IDLE_INTERVAL: Duration = Duration::from_secs(4);
const IDLE_CPU: f64 = 0.2;

pub(crate) struct BacklogFigures {
    without: Cost,
    with: Cost,
}

/// The cost of indexing the blocks.
struct Cost {
    cpu_seconds: f64,
    /// Size of the data folder at the end.
    folder: u64,
    written: u64,
}

pub(crate) async fn measure() -> anyhow::Result<BacklogFigures> {
    report(format!("backlog: {BLOCKS} blocks of {PER_BLOCK} transactions without a webhook"));
    let without = cost(0).await?;
    report(format!("backlog: the same with {WEBHOOKS} webhooks"));
    Ok(BacklogFigures { without, with: cost(WEBHOOKS).await? })
}

async fn cost(webhooks: usize) -> anyhow::Result<Cost> {
    let chain = DevChain::new(DevChainConfig::default());
    let node = chain.serve((Ipv4Addr::LOCALHOST, 0).into()).await?;
    let data = tempfile::tempdir()?;
    let explorer = Explorer::start_with(&node.url(), data.path(), &OPTIONS).await?;
    explorer.wait_for_tip(chain.head().number).await?;
    register(&explorer, webhooks).await?;
    let (cpu, written) = (explorer.cpu_seconds()?, explorer.written_bytes()?);
    let mut chain = chain;
    for _ in 0..BLOCKS {
        chain = tokio::task::spawn_blocking(move || mine(chain)).await??;
    }
    explorer.wait_for_tip(chain.head().number).await?;
    wait_until_idle(&explorer).await?;
    let cost = Cost {
        cpu_seconds: explorer.cpu_seconds()? - cpu,
        folder: folder_bytes(data.path())?,
        written: explorer.written_bytes()? - written,
    };
    explorer.stop().await?;
    node.shutdown().await;
    Ok(cost)
}

fn mine(chain: DevChain) -> anyhow::Result<DevChain> {
    for number in 0..PER_BLOCK {
        let sender = number % chain.accounts().len();
        chain.send(sender, TxKind::Call(BUSY), U256::from(number), [])?;
    }
    chain.mine(None);
    Ok(chain)
}

async fn register(explorer: &Explorer, webhooks: usize) -> anyhow::Result<()> {
    // Nothing listens on this port.
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?.local_addr()?.port();
    let client = reqwest::Client::new();
    for number in 0..webhooks {
        let owner = format!("0x{:040x}", number / PER_OWNER + 1);
        let url = format!("http://127.0.0.1:{port}/{number}");
        let body = json!({ "ownerAddress": owner, "url": url, "watchAddress": BUSY });
        let request = client.post(format!("{}/api/v1/webhooks", explorer.url));
        let response = request.header("content-type", "application/json").body(body.to_string()).send().await?;
        if response.status().as_u16() != 201 {
            bail!("the webhook was refused: {}", response.text().await?);
        }
    }
    Ok(())
}

async fn wait_until_idle(explorer: &Explorer) -> anyhow::Result<()> {
    let mut before = explorer.cpu_seconds()?;
    loop {
        tokio::time::sleep(IDLE_INTERVAL).await;
        let now = explorer.cpu_seconds()?;
        if now - before < IDLE_CPU {
            return Ok(());
        }
        before = now;
    }
}

fn folder_bytes(folder: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let about = entry.metadata().context("a file of the data folder has disappeared")?;
        bytes += if about.is_dir() { folder_bytes(&entry.path())? } else { about.len() };
    }
    Ok(bytes)
}

impl fmt::Display for BacklogFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { without, with } = self;
        let transactions = BLOCKS * PER_BLOCK;
        let megabytes = |bytes: u64| bytes as f64 / 1e6;
        writeln!(f, "| {transactions} transactions at one address | no webhook | {WEBHOOKS} on it, receiver down |")?;
        writeln!(f, "|---|---|---|")?;
        writeln!(f, "| CPU seconds | {:.1} | {:.1} |", without.cpu_seconds, with.cpu_seconds)?;
        writeln!(f, "| data folder, MB | {:.0} | {:.0} |", megabytes(without.folder), megabytes(with.folder))?;
        writeln!(f, "| written, MB | {:.0} | {:.0} |", megabytes(without.written), megabytes(with.written))
    }
}
