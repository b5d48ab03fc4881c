//! One page of every kind; of long lists the first, middle and last page.

use alloy_primitives::Address;
use anyhow::Context;
use serde_json::{Value, json};

use super::Browser;
use crate::chain::RecordedChain;

const PAGE_SIZE: u64 = 25;

impl Browser {
    /// The latest item of an entity, and the total.
    async fn newest(&self, entity: &str) -> anyhow::Result<(Value, u64)> {
        let body = json!({ "entity": entity, "limit": 1 }).to_string();
        let request = self.client.post(format!("{}/api/v1/query", self.url)).header("content-type", "application/json");
        let mut response: Value =
            serde_json::from_slice(&request.body(body).send().await?.error_for_status()?.bytes().await?)?;
        let total = response["total"].as_u64().with_context(|| format!("no {entity}"))?;
        Ok((response["data"][0].take(), total))
    }

    /// The method of the latest transaction of an address.
    async fn method(&self, address: Address) -> anyhow::Result<String> {
        let found = self.json(&format!("/api/v1/transactions?address={address}&limit=1")).await?;
        Ok(found["transactions"][0]["method"].as_str().context("the busiest address is not called")?.to_owned())
    }

    /// The contract that a transaction calls.
    async fn receiver(&self, hash: &str) -> anyhow::Result<String> {
        let found = self.json(&format!("/api/v1/transactions/{hash}")).await?;
        Ok(found["toAddress"].as_str().context("a transaction without receiver")?.to_owned())
    }
}

pub(super) async fn all(browser: &Browser, chain: &RecordedChain) -> anyhow::Result<Vec<(&'static str, String)>> {
    let (trade, trades) = browser.newest("dex_trades").await?;
    let (token, _) = browser.newest("tokens").await?;
    let (_, transfers) = browser.newest("token_transfers").await?;
    let (address, entries) = chain.busiest;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (hash, pair, token_address) = (text(&trade["txHash"]), text(&trade["pairAddress"]), text(&token["address"]));
    let (of_token, holders) =
        (token["transferCount"].as_u64().unwrap_or(1), token["holderCount"].as_u64().unwrap_or(1));
    let called = browser.receiver(&hash).await?;
    let method = browser.method(address).await?;
    browser.verify(&[&pair, &token_address, &called]).await?;
    let last = |total: u64| total.div_ceil(PAGE_SIZE).max(1);
    let middle = |total: u64| last(total).div_ceil(2);
    let blocks = chain.head + 1;
    Ok(vec![
        ("home", "/".to_owned()),
        ("blocks, first", "/blocks".to_owned()),
        ("blocks, middle", format!("/blocks?page={}", middle(blocks))),
        ("blocks, last", format!("/blocks?page={}", last(blocks))),
        ("block", format!("/block/{}", chain.head / 2)),
        ("transactions, first", "/transactions".to_owned()),
        ("transactions, middle", format!("/transactions?page={}", middle(chain.transactions))),
        ("transactions, last", format!("/transactions?page={}", last(chain.transactions))),
        ("transaction with a trade, decoded", format!("/tx/{hash}")),
        ("calls of a transaction", format!("/tx/{hash}/calls")),
        ("state changes of a transaction", format!("/tx/{hash}/state")),
        ("busiest address, first", format!("/address/{address}")),
        ("busiest address, middle", format!("/address/{address}?page={}", middle(entries))),
        ("busiest address, last", format!("/address/{address}?page={}", last(entries))),
        ("busiest address, token transfers", format!("/address/{address}?tab=transfers")),
        ("busiest address, received since a day", format!("/address/{address}?direction=in&fromBlock=2020-01-01")),
        ("busiest address, by method", format!("/address/{address}?method={method}")),
        ("busiest address, balance", format!("/address/{address}?tab=balance")),
        ("tokens held by a pool", format!("/address/{pair}?tab=tokens")),
        ("trades of a pool", format!("/address/{pair}?tab=trades")),
        ("logs of a pool, decoded", format!("/address/{pair}?tab=logs")),
        ("verified contract of a pool", format!("/address/{pair}?tab=contract")),
        ("verified contract that was called", format!("/address/{called}?tab=contract")),
        ("tokens", "/tokens".to_owned()),
        ("token, first", format!("/token/{token_address}")),
        ("token, middle", format!("/token/{token_address}?page={}", middle(of_token))),
        ("token, last", format!("/token/{token_address}?page={}", last(of_token))),
        ("holders, first", format!("/token/{token_address}?tab=holders")),
        ("holders, last", format!("/token/{token_address}?tab=holders&page={}", last(holders))),
        ("token transfers, first", "/transfers".to_owned()),
        ("token transfers, last", format!("/transfers?page={}", last(transfers))),
        ("trades, first", "/trades".to_owned()),
        ("trades, last", format!("/trades?page={}", last(trades))),
        ("charts", "/charts".to_owned()),
        ("gas", "/gas".to_owned()),
        ("verified contracts", "/contracts".to_owned()),
        ("verify", "/verify".to_owned()),
        ("keys", "/keys".to_owned()),
        ("webhooks", "/webhooks".to_owned()),
        ("search by name", "/search?q=a".to_owned()),
        ("suggestions", "/search/suggest?q=a".to_owned()),
    ])
}
