//! The demo, while somebody reads its pages. Its first blocks have to be answered at the end as at the start.

use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};

use super::{Memory, SoakPlan};
use crate::explorer::Explorer;

/// The oldest blocks, with contracts, and with transactions of all kinds.
const OLD_BLOCKS: u64 = 40;
const PAGES: [&str; 7] =
    ["/", "/blocks", "/txs", "/tokens", "/charts", "/api/v1/stats", "/api/v1/transactions?limit=100"];
/// Between two page views.
const PAUSE: Duration = Duration::from_millis(100);
const STALL_TIMEOUT: Duration = Duration::from_secs(120);

pub(super) async fn measure(plan: SoakPlan) -> anyhow::Result<Memory> {
    let (demo, node) = Explorer::start_demo(u64::try_from(plan.interval.as_millis())?).await?;
    let reader = Reader { client: reqwest::Client::new(), node, url: demo.url.clone() };
    let first = demo.tip().await?.context("the demo has no blocks")?;
    let old = reader.old_blocks().await?;
    let mut pages = PAGES.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>();
    pages.extend(old.iter().flat_map(OldBlock::pages));
    let mut pages = pages.iter().cycle();
    let mut memory = Memory::new();
    let (mut last, mut moved) = (first, Instant::now());
    let mut next = first;
    while next <= first + plan.blocks {
        let tip = demo.tip().await?.unwrap_or_default();
        if tip > last {
            (last, moved) = (tip, Instant::now());
        }
        ensure!(moved.elapsed() < STALL_TIMEOUT, "the demo stalled at block {last}");
        if tip >= next {
            memory.sample("demo", &demo, tip)?;
            next += plan.step();
        }
        reader.view(pages.next().context("no pages")?).await?;
        tokio::time::sleep(PAUSE).await;
    }
    for block in &old {
        for page in block.pages() {
            reader.view(&page).await?;
        }
    }
    if reader.old_blocks().await? != old {
        bail!("the node of the demo answers differently about its first blocks");
    }
    demo.stop().await?;
    Ok(memory)
}

struct Reader {
    client: reqwest::Client,
    node: String,
    url: String,
}

/// What the node says about a block.
#[derive(PartialEq)]
struct OldBlock {
    block: String,
    receipts: String,
    transactions: Vec<String>,
}

impl Reader {
    async fn view(&self, path: &str) -> anyhow::Result<()> {
        let response = self.client.get(format!("{}{path}", self.url)).send().await?;
        response.error_for_status()?.bytes().await?;
        Ok(())
    }

    async fn old_blocks(&self) -> anyhow::Result<Vec<OldBlock>> {
        let mut blocks = Vec::new();
        for number in 0..OLD_BLOCKS {
            let number = format!("{number:#x}");
            let block = self.call("eth_getBlockByNumber", json!([number, true])).await?;
            let receipts = self.call("eth_getBlockReceipts", json!([number])).await?;
            let mut transactions = Vec::new();
            for hash in hashes(&block)? {
                transactions.push(self.call("eth_getTransactionByHash", json!([hash])).await?);
                transactions.push(self.call("eth_getTransactionReceipt", json!([hash])).await?);
            }
            blocks.push(OldBlock { block, receipts, transactions });
        }
        Ok(blocks)
    }

    async fn call(&self, method: &str, params: Value) -> anyhow::Result<String> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        Ok(self.client.post(&self.node).body(body.to_string()).send().await?.error_for_status()?.text().await?)
    }
}

impl OldBlock {
    fn pages(&self) -> impl Iterator<Item = String> {
        hashes(&self.block).unwrap_or_default().into_iter().map(|hash| format!("/tx/{hash}"))
    }
}

fn hashes(block: &str) -> anyhow::Result<Vec<String>> {
    let block: Value = serde_json::from_str(block)?;
    let transactions = block["result"]["transactions"].as_array().context("a block without transactions")?;
    transactions.iter().map(|one| Ok(one["hash"].as_str().context("no hash")?.to_owned())).collect()
}
