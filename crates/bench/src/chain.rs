//! The chain to index: the dev chain's own traffic, served over HTTP.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use alloy_primitives::Address;
use devchain::traffic::{HistoryPlan, Traffic};
use devchain::{DevChain, DevChainConfig, RpcServer};
use futures::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};

const BLOCK_SECONDS: u64 = 3;
const END: u64 = 1_800_000_000;
/// Requests under way at once in a bare download.
const DOWNLOADS_AT_ONCE: usize = 32;

pub(crate) struct RecordedChain {
    server: RpcServer,
    pub(crate) head: u64,
    pub(crate) transactions: u64,
    /// The address with the most transactions, and how many.
    pub(crate) busiest: (Address, u64),
}

impl RecordedChain {
    pub(crate) async fn make(transactions: u64) -> anyhow::Result<Self> {
        let plan = HistoryPlan { transactions, end: END, block_seconds: BLOCK_SECONDS };
        let chain = tokio::task::spawn_blocking(move || -> anyhow::Result<DevChain> {
            let config = DevChainConfig {
                genesis_timestamp: plan.genesis_timestamp(),
                block_seconds: BLOCK_SECONDS,
                accounts: 200,
                // The JSON of a block is kept while its state is: then serving it costs the node nothing.
                history: 1 << 20,
                ..DevChainConfig::default()
            };
            let chain = DevChain::new(config);
            let mut traffic = Traffic::new(chain.clone(), 1);
            traffic.deploy()?;
            traffic.history(&plan)?;
            Ok(chain)
        })
        .await??;
        let server = chain.serve(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
        let mut recorded = Self { server, head: chain.head().number, transactions: 0, busiest: (Address::ZERO, 0) };
        recorded.count().await?;
        Ok(recorded)
    }

    pub(crate) fn url(&self) -> String {
        self.server.url()
    }

    /// Counts as an outsider would, and leaves every block's JSON warm in the node.
    async fn count(&mut self) -> anyhow::Result<()> {
        let mut by_address: HashMap<Address, u64> = HashMap::new();
        for block in self.download_all().await?.0 {
            let Some(transactions) = block["result"]["transactions"].as_array() else { continue };
            self.transactions += transactions.len() as u64;
            for tx in transactions {
                let parties = [&tx["from"], &tx["to"]].map(|party| party.as_str().and_then(|text| text.parse().ok()));
                let mut parties: Vec<Address> = parties.into_iter().flatten().collect();
                parties.dedup();
                parties.into_iter().for_each(|party| *by_address.entry(party).or_default() += 1);
            }
        }
        self.busiest = by_address.into_iter().max_by_key(|(_, count)| *count).unwrap_or_default();
        Ok(())
    }

    /// Fetches every block and its receipts and throws them away: the least that any indexer must do.
    pub(crate) async fn bare_download(&self) -> anyhow::Result<Duration> {
        Ok(self.download_all().await?.1)
    }

    async fn download_all(&self) -> anyhow::Result<(Vec<Value>, Duration)> {
        let client = reqwest::Client::new();
        let url = self.url();
        let begun = Instant::now();
        let bodies: Vec<Vec<u8>> = stream::iter(0..=self.head)
            .map(|number| {
                let (client, url) = (client.clone(), url.clone());
                async move {
                    let number = format!("{number:#x}");
                    let (block, receipts) = futures::try_join!(
                        ask(&client, &url, "eth_getBlockByNumber", json!([number, true])),
                        ask(&client, &url, "eth_getBlockReceipts", json!([number])),
                    )?;
                    drop(receipts);
                    anyhow::Ok(block)
                }
            })
            .buffered(DOWNLOADS_AT_ONCE)
            .try_collect()
            .await?;
        let taken = begun.elapsed();
        Ok((bodies.iter().map(|body| serde_json::from_slice(body)).collect::<Result<_, _>>()?, taken))
    }
}

async fn ask(client: &reqwest::Client, url: &str, method: &str, params: Value) -> anyhow::Result<Vec<u8>> {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
    let request = client.post(url).header("content-type", "application/json").body(body);
    Ok(request.send().await?.error_for_status()?.bytes().await?.to_vec())
}
