//! The requests that are measured under load.

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant},
};

use alloy_primitives::Address;
use anyhow::Context;
use serde_json::{Value, json};

use super::load::Requests;
use crate::{
    chain::RecordedChain,
    explorer::Explorer,
    figures::quantile,
    filters::{FilterTargets, combinations, named},
};

pub(super) const FIRST_PAGE: &str = "busiest address, page 1";
pub(super) const LAST_PAGE: &str = "busiest address, last full page";
const PAGE_SIZE: u64 = 25;
/// How often a query is sent to measure its cost.
const TRIES: usize = 9;
/// Pages that are searched for addresses.
const PAGES: u64 = 20;
/// Different offsets of one query.
const WINDOWS: u64 = 1_000;

pub(super) struct Scenario {
    pub(super) name: String,
    request: ApiRequest,
    /// Different requests of the same kind and cost.
    others: Vec<ApiRequest>,
}

struct ApiRequest {
    path: String,
    /// Sent with POST if present.
    body: Option<String>,
}

impl ApiRequest {
    fn get(path: impl Into<String>) -> Self {
        Self { path: path.into(), body: None }
    }

    fn query(body: &Value) -> Self {
        Self { path: "/api/v1/query".to_owned(), body: Some(body.to_string()) }
    }

    /// The HTTP request.
    fn encode(&self) -> Vec<u8> {
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

/// Pages of the busiest address.
pub(super) fn different_pages(chain: &RecordedChain) -> Requests {
    let (address, entries) = chain.busiest;
    let pages = 1..=(entries / PAGE_SIZE).clamp(1, WINDOWS);
    pages.map(|page| ApiRequest::get(format!("/api/v1/transactions?address={address}&page={page}")).encode()).collect()
}

/// Pages of blocks, of transactions and of those of the busiest address, of so many clients behind a proxy.
pub(super) fn of_clients(chain: &RecordedChain, clients: u32) -> Requests {
    let (address, entries) = chain.busiest;
    let request = |number: u32| {
        let (list, entries) = match number % 3 {
            0 => ("/blocks?".to_owned(), chain.head),
            1 => ("/transactions?".to_owned(), chain.transactions),
            _ => (format!("/transactions?address={address}&"), entries),
        };
        let page = 1 + u64::from(number / 3) % (entries / PAGE_SIZE).clamp(1, WINDOWS);
        let [.., high, low] = (number % clients).to_be_bytes();
        let client = format!("x-forwarded-for: 192.0.{high}.{low}");
        format!("GET /api/v1{list}page={page} HTTP/1.1\r\nhost: localhost\r\n{client}\r\n\r\n").into_bytes()
    };
    // Not a multiple of the number of lists, so that each connection reads all of them.
    (0..clients * 20 + 1).map(request).collect()
}

impl Scenario {
    fn get(name: &str, path: String, others: Vec<String>) -> Self {
        let others = others.into_iter().map(ApiRequest::get).collect();
        Self { name: name.to_owned(), request: ApiRequest::get(path), others }
    }

    /// The same request, repeated.
    pub(super) fn same(&self) -> Requests {
        Arc::new([self.request()])
    }

    pub(super) fn request(&self) -> Vec<u8> {
        self.request.encode()
    }

    /// Requests that are all different.
    pub(super) fn different(&self) -> Requests {
        self.others.iter().map(ApiRequest::encode).collect()
    }
}

/// The explorer must run without a response cache, so that the most expensive query can be found by its latency.
pub(super) async fn all(explorer: &Explorer, chain: &RecordedChain) -> anyhow::Result<Vec<Scenario>> {
    let api = Api { client: reqwest::Client::new(), url: format!("{}/api/v1", explorer.url) };
    let (address, _) = chain.busiest;
    let list = format!("/api/v1/transactions?address={address}");
    let entries = api.get(&format!("/transactions?address={address}")).await?["total"].as_u64().context("no total")?;
    let last = (entries / PAGE_SIZE).max(1);
    let half = last.div_ceil(2);
    let page = |page: u64| format!("{list}&page={page}");
    let blocks = |page: u64| format!("/api/v1/blocks?page={page}");
    let addresses = api.busy_addresses().await?;
    Ok(vec![
        Scenario::get("/blocks", blocks(1), (1..=(chain.head / PAGE_SIZE).max(1)).map(blocks).collect()),
        Scenario::get(FIRST_PAGE, page(1), (1..=half).map(page).collect()),
        Scenario::get(LAST_PAGE, page(last), (half..=last).map(page).collect()),
        Scenario::get(
            "/addresses/:address",
            format!("/api/v1/addresses/{address}"),
            addresses.iter().map(|address| format!("/api/v1/addresses/{address}")).collect(),
        ),
        costliest(&api, chain).await?,
    ])
}

struct Api {
    client: reqwest::Client,
    url: String,
}

impl Api {
    async fn get(&self, path: &str) -> anyhow::Result<Value> {
        let response = self.client.get(format!("{}{path}", self.url)).send().await?.error_for_status()?;
        Ok(serde_json::from_slice(&response.bytes().await?)?)
    }

    async fn query(&self, body: String) -> anyhow::Result<Value> {
        let request = self.client.post(format!("{}/query", self.url)).header("content-type", "application/json");
        let response = request.body(body).send().await?.error_for_status()?;
        Ok(serde_json::from_slice(&response.bytes().await?)?)
    }

    /// Addresses with at least one full page of transactions, so that all responses are equally long.
    async fn busy_addresses(&self) -> anyhow::Result<Vec<String>> {
        let mut seen = BTreeSet::new();
        for page in 1..=PAGES {
            let found = self.get(&format!("/transactions?limit=100&page={page}")).await?;
            let found = found["transactions"].as_array().cloned().unwrap_or_default();
            let parties = found.iter().flat_map(|tx| [tx["fromAddress"].as_str(), tx["toAddress"].as_str()]);
            seen.extend(parties.flatten().filter(|party| !party.is_empty()).map(str::to_owned));
        }
        let mut busy = Vec::new();
        for address in seen {
            let detail = self.get(&format!("/addresses/{address}")).await?;
            if detail["txCount"].as_u64() >= Some(PAGE_SIZE) {
                busy.push(address);
            }
        }
        Ok(busy)
    }

    /// The busiest address, one of its counterparties, the token with the most transfers, and an exchange.
    async fn filter_targets(&self, chain: &RecordedChain) -> anyhow::Result<FilterTargets> {
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
        let partner =
            others.flatten().find(|party| *party != hub).context("the busiest address has no counterparty")?;
        Ok(FilterTargets {
            hub,
            partner,
            token: parse(&token["address"]).context("a token without an address")?,
            dex: trade["data"][0]["dex"].as_str().context("no trade")?.to_owned(),
            blocks: (chain.head / 20, chain.head - chain.head / 20),
        })
    }
}

/// The combination of filters with the highest median latency, at an offset in the middle of the results.
async fn costliest(api: &Api, chain: &RecordedChain) -> anyhow::Result<Scenario> {
    let mut found: Option<(Duration, String, &str, Value, u64)> = None;
    for (entity, filter) in combinations(&api.filter_targets(chain).await?) {
        let first = json!({ "entity": entity, "filter": filter }).to_string();
        let total = api.query(first).await?["total"].as_u64().unwrap_or_default();
        let body = json!({ "entity": entity, "filter": filter, "offset": total / 2 }).to_string();
        let mut sample = Vec::with_capacity(TRIES);
        for _ in 0..TRIES {
            let started = Instant::now();
            api.query(body.clone()).await?;
            sample.push(started.elapsed());
        }
        sample.sort_unstable();
        let cost = quantile(&sample, 0.5);
        if found.as_ref().is_none_or(|(slowest, ..)| cost > *slowest) {
            let name = format!("/query, {entity} by {}", named(&filter));
            found = Some((cost, name, entity, filter, total));
        }
    }
    let (_, name, entity, filter, total) = found.context("no query to measure")?;
    let at = |offset: u64| ApiRequest::query(&json!({ "entity": entity, "filter": filter, "offset": offset }));
    // Full pages, evenly distributed over the results.
    let last = total.saturating_sub(PAGE_SIZE);
    let windows = WINDOWS.min(last + 1);
    Ok(Scenario {
        name,
        request: at(total / 2),
        others: (0..windows).map(|window| at(last * window / windows)).collect(),
    })
}
