//! What is asked of the API under load.

use std::time::Instant;

use alloy_primitives::Address;
use anyhow::Context;
use serde_json::{Value, json};

use crate::chain::RecordedChain;
use crate::explorer::Explorer;
use crate::figures::quantile;
use crate::filters::{Crowd, combinations, named};

pub(super) const FIRST_PAGE: &str = "busiest address, page 1";
pub(super) const LAST_PAGE: &str = "busiest address, last full page";
const PAGE_SIZE: u64 = 25;
/// How often a query is tried to find out what it costs.
const TRIES: usize = 9;

pub(super) struct Question {
    pub(super) name: String,
    path: String,
    /// Posted where there is one.
    body: Option<String>,
}

impl Question {
    fn get(name: &str, path: String) -> Self {
        Self { name: name.to_owned(), path, body: None }
    }

    /// As it goes over the wire.
    pub(super) fn request(&self) -> Vec<u8> {
        let path = &self.path;
        let text = match &self.body {
            None => format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n"),
            Some(body) => format!(
                "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            ),
        };
        text.into_bytes()
    }
}

pub(super) async fn all(explorer: &Explorer, chain: &RecordedChain) -> anyhow::Result<Vec<Question>> {
    let api = Api { client: reqwest::Client::new(), url: format!("{}/api/v1", explorer.url) };
    let (address, _) = chain.busiest;
    let list = format!("/api/v1/transactions?address={address}");
    let entries = api.get(&format!("/transactions?address={address}")).await?["total"].as_u64().context("no total")?;
    let last = (entries / PAGE_SIZE).max(1);
    Ok(vec![
        Question::get("/blocks", "/api/v1/blocks".to_owned()),
        Question::get(FIRST_PAGE, format!("{list}&page=1")),
        Question::get(LAST_PAGE, format!("{list}&page={last}")),
        Question::get("/addresses/:address", format!("/api/v1/addresses/{address}")),
        costliest(&api, chain).await?,
    ])
}

struct Api {
    client: reqwest::Client,
    url: String,
}

impl Api {
    async fn get(&self, path: &str) -> anyhow::Result<Value> {
        let answer = self.client.get(format!("{}{path}", self.url)).send().await?.error_for_status()?;
        Ok(serde_json::from_slice(&answer.bytes().await?)?)
    }

    async fn query(&self, body: String) -> anyhow::Result<Value> {
        let request = self.client.post(format!("{}/query", self.url)).header("content-type", "application/json");
        let answer = request.body(body).send().await?.error_for_status()?;
        Ok(serde_json::from_slice(&answer.bytes().await?)?)
    }

    /// The busiest address, one that deals with it, the token that moves most, and an exchange.
    async fn crowd(&self, chain: &RecordedChain) -> anyhow::Result<Crowd> {
        let (hub, _) = chain.busiest;
        let parse = |value: &Value| value.as_str().and_then(|text| text.parse::<Address>().ok());
        let tokens = self.query(json!({ "entity": "tokens", "limit": 100 }).to_string()).await?;
        let tokens = tokens["data"].as_array().context("no tokens")?;
        let token = tokens.iter().max_by_key(|token| token["transferCount"].as_u64()).context("no token")?;
        let trade = self.query(json!({ "entity": "dex_trades", "limit": 1 }).to_string()).await?;
        let newest = self.get(&format!("/transactions?address={hub}")).await?;
        let others = newest["transactions"]
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(|tx| [parse(&tx["fromAddress"]), parse(&tx["toAddress"])]);
        let partner = others.flatten().find(|party| *party != hub).context("nobody deals with the busiest address")?;
        Ok(Crowd {
            hub,
            partner,
            token: parse(&token["address"]).context("a token without an address")?,
            dex: trade["data"][0]["dex"].as_str().context("no trade")?.to_owned(),
            blocks: (chain.head / 20, chain.head - chain.head / 20),
        })
    }
}

/// The combination of filters that takes longest, by its median, in the middle of what it finds.
async fn costliest(api: &Api, chain: &RecordedChain) -> anyhow::Result<Question> {
    let mut found = None;
    for (entity, filter) in combinations(&api.crowd(chain).await?) {
        let first = json!({ "entity": entity, "filter": filter }).to_string();
        let total = api.query(first).await?["total"].as_u64().unwrap_or_default();
        let body = json!({ "entity": entity, "filter": filter, "offset": total / 2 }).to_string();
        let mut sample = Vec::with_capacity(TRIES);
        for _ in 0..TRIES {
            let begun = Instant::now();
            api.query(body.clone()).await?;
            sample.push(begun.elapsed());
        }
        sample.sort_unstable();
        let cost = quantile(&sample, 0.5);
        if found.as_ref().is_none_or(|(dearest, _)| cost > *dearest) {
            let name = format!("/query, {entity} by {}", named(&filter));
            found = Some((cost, Question { name, path: "/api/v1/query".to_owned(), body: Some(body) }));
        }
    }
    found.map(|(_, question)| question).context("no query to measure")
}
