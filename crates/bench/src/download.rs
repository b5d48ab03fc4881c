//! The baseline of indexing: downloading and decoding the blocks.

use std::time::{Duration, Instant};

use anyhow::Context;
use futures::{StreamExt, TryStreamExt, stream};
use node::{BlockChecks, NodeClient, NodeConfig};

use crate::figures::quantile;

/// Blocks in flight.
const CONCURRENT_BLOCKS: usize = 128;
/// Requests for measuring the round trip.
const ROUND_TRIPS: usize = 100;

/// Fetches every block and its receipts and discards them.
pub(crate) async fn bare(url: &str, head: u64) -> anyhow::Result<Duration> {
    let client = client()?;
    let started = Instant::now();
    every_block(head, |number| {
        let (client, url) = (client.clone(), url.to_owned());
        async move {
            let block = fetch(&client, &url, "eth_getBlockByNumber", format!(r#"["{number:#x}",true]"#));
            let receipts = fetch(&client, &url, "eth_getBlockReceipts", format!(r#"["{number:#x}"]"#));
            futures::try_join!(block, receipts).map(|_| ())
        }
    })
    .await?;
    Ok(started.elapsed())
}

/// Fetches and decodes with the explorer's client and discards the blocks.
pub(crate) async fn decoded(url: &str, head: u64) -> anyhow::Result<Duration> {
    checked(url, head, BlockChecks::default()).await
}

/// The same with the given checks.
pub(crate) async fn checked(url: &str, head: u64, verify_blocks: BlockChecks) -> anyhow::Result<Duration> {
    let node = NodeClient::new(NodeConfig { verify_blocks, ..NodeConfig::new(vec![url.parse()?]) })?;
    let started = Instant::now();
    every_block(head, |number| {
        let node = node.clone();
        async move {
            node.find_block(number).await?.with_context(|| format!("the node does not have block {number}"))?;
            Ok(())
        }
    })
    .await?;
    Ok(started.elapsed())
}

/// The median round trip of small sequential requests that do not fail.
pub(crate) async fn round_trip(url: &str) -> anyhow::Result<Duration> {
    let client = client()?;
    let mut took = Vec::with_capacity(ROUND_TRIPS);
    for _ in 0..ROUND_TRIPS {
        let started = Instant::now();
        if fetch(&client, url, "eth_getBlockByNumber", r#"["0x0",true]"#.to_owned()).await.is_ok() {
            took.push(started.elapsed());
        }
    }
    took.sort_unstable();
    Ok(quantile(&took, 0.5))
}

fn client() -> anyhow::Result<reqwest::Client> {
    Ok(reqwest::Client::builder().http1_only().tcp_nodelay(true).no_proxy().build()?)
}

/// Spawns a task per block, so that all cores are used.
async fn every_block<Work>(head: u64, work: impl Fn(u64) -> Work) -> anyhow::Result<()>
where
    Work: Future<Output = anyhow::Result<()>> + Send + 'static,
{
    let tasks = stream::iter(0..=head).map(|number| tokio::spawn(work(number)));
    tasks.buffer_unordered(CONCURRENT_BLOCKS).map(|joined| joined?).try_collect().await
}

async fn fetch(client: &reqwest::Client, url: &str, method: &str, params: String) -> anyhow::Result<usize> {
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
    let request = client.post(url).header("content-type", "application/json").body(body);
    Ok(request.send().await?.error_for_status()?.bytes().await?.len())
}
