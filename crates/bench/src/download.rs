//! The least that an indexer must do: fetch the blocks, and read them.

use std::time::{Duration, Instant};

use anyhow::Context;
use futures::{StreamExt, TryStreamExt, stream};
use node::{BlockChecks, NodeClient, NodeConfig};

use crate::figures::quantile;

/// Blocks under way at once.
const AT_ONCE: usize = 128;
/// Questions by which a round trip is measured.
const ROUND_TRIPS: usize = 100;

/// Fetches every block and its receipts and throws them away.
pub(crate) async fn bare(url: &str, head: u64) -> anyhow::Result<Duration> {
    let client = client()?;
    let begun = Instant::now();
    every_block(head, |number| {
        let (client, url) = (client.clone(), url.to_owned());
        async move {
            let block = fetch(&client, &url, "eth_getBlockByNumber", format!(r#"["{number:#x}",true]"#));
            let receipts = fetch(&client, &url, "eth_getBlockReceipts", format!(r#"["{number:#x}"]"#));
            futures::try_join!(block, receipts).map(|_| ())
        }
    })
    .await?;
    Ok(begun.elapsed())
}

/// Fetches and decodes as the index does, through the same client, and throws the blocks away.
pub(crate) async fn lean(url: &str, head: u64) -> anyhow::Result<Duration> {
    checked(url, head, BlockChecks::default()).await
}

/// The same with checks of choice.
pub(crate) async fn checked(url: &str, head: u64, verify_blocks: BlockChecks) -> anyhow::Result<Duration> {
    let node = NodeClient::new(NodeConfig { verify_blocks, ..NodeConfig::new(vec![url.parse()?]) })?;
    let begun = Instant::now();
    every_block(head, |number| {
        let node = node.clone();
        async move {
            node.find_block(number).await?.with_context(|| format!("the node does not have block {number}"))?;
            Ok(())
        }
    })
    .await?;
    Ok(begun.elapsed())
}

/// What one small question takes while nothing else is asked, in the median of those that do not fail.
pub(crate) async fn round_trip(url: &str) -> anyhow::Result<Duration> {
    let client = client()?;
    let mut took = Vec::with_capacity(ROUND_TRIPS);
    for _ in 0..ROUND_TRIPS {
        let begun = Instant::now();
        if fetch(&client, url, "eth_getBlockByNumber", r#"["0x0",true]"#.to_owned()).await.is_ok() {
            took.push(begun.elapsed());
        }
    }
    took.sort_unstable();
    Ok(quantile(&took, 0.5))
}

fn client() -> anyhow::Result<reqwest::Client> {
    Ok(reqwest::Client::builder().http1_only().tcp_nodelay(true).no_proxy().build()?)
}

/// Each in a task of its own, so that all cores take part.
async fn every_block<Work>(head: u64, work: impl Fn(u64) -> Work) -> anyhow::Result<()>
where
    Work: Future<Output = anyhow::Result<()>> + Send + 'static,
{
    let tasks = stream::iter(0..=head).map(|number| tokio::spawn(work(number)));
    tasks.buffer_unordered(AT_ONCE).map(|joined| joined?).try_collect().await
}

async fn fetch(client: &reqwest::Client, url: &str, method: &str, params: String) -> anyhow::Result<usize> {
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
    let request = client.post(url).header("content-type", "application/json").body(body);
    Ok(request.send().await?.error_for_status()?.bytes().await?.len())
}
