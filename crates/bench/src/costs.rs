//! What requests cost: what each makes the node, the processor and the line do, beside what it counts.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::{
    chain::RecordedChain,
    explorer::{Explorer, NO_CACHE},
    progress::report,
    replay::{Conditions, Replay},
};

/// Requests of each kind.
const REPEATED: u32 = 5;
/// Once the explorer makes no more calls than this in [`IDLE_FOR`], it has traced and read what it needs, and only follows the chain.
const IDLE_CALLS: u64 = 40;
const IDLE_FOR: Duration = Duration::from_secs(4);
const MAX_WAIT: Duration = Duration::from_secs(400);

pub(crate) struct CostFigures(Vec<Cost>);

struct Cost {
    request: String,
    /// Of the first request, for which nothing is cached.
    node_calls: u64,
    cpu_millis: f64,
    millis: f64,
    kilobytes: f64,
    rows: usize,
    /// What the response says.
    counted: String,
}

pub(crate) async fn measure(chain: &RecordedChain) -> anyhow::Result<CostFigures> {
    let data = tempfile::tempdir()?;
    // Not a dev chain, where answers are cached for a moment only.
    let node =
        chain.serve(Conditions { traces: true, client_version: Some("Geth/v1.16.0"), ..Conditions::default() }).await?;
    let explorer = Explorer::start_with(&node.url(), data.path(), &NO_CACHE).await?;
    explorer.wait_for_tip(chain.newest()).await?;
    let following = wait_until_idle(&node).await?;
    let requests = requests(&explorer).await?;
    let mut costs = Vec::new();
    for request in requests {
        report(format!("costs: {request}"));
        costs.push(cost_of(&explorer, &node, &following, request).await?);
    }
    explorer.stop().await?;
    Ok(CostFigures(costs))
}

/// One request of each kind, about what the chain has.
async fn requests(explorer: &Explorer) -> anyhow::Result<Vec<String>> {
    let list = |path: &'static str, name: &'static str| async move {
        let found = reqwest::get(format!("{}{path}", explorer.url)).await?.bytes().await?;
        let found: Value = serde_json::from_slice(&found)?;
        found[name].as_array().and_then(|rows| rows.first()).cloned().with_context(|| format!("{path} is empty"))
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let transaction = list("/api/v1/transactions?limit=1", "transactions").await?;
    let token = list("/api/v1/tokens?limit=1", "tokens").await?;
    let (hash, account, token) =
        (text(&transaction["hash"]), text(&transaction["fromAddress"]), text(&token["address"]));
    let topic = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
    let guid = token.trim_start_matches("0x");
    Ok(vec![
        "/api/v1/stats".to_owned(),
        "/api/v1/transactions?limit=100".to_owned(),
        format!("/api/v1/transactions/{hash}"),
        format!("/api/v1/transactions/{hash}/calls"),
        format!("/api/v1/transactions/{hash}/state-changes"),
        format!("/api/v1/addresses/{account}"),
        format!("/api/v1/addresses/{account}/balance-history"),
        "/api/v1/openapi.json".to_owned(),
        format!("/api?module=account&action=balance&address={account}"),
        format!("/api?module=account&action=txlist&address={account}&offset=100"),
        format!("/api?module=account&action=txlist&address={account}&offset=10000"),
        format!("/api?module=account&action=tokentx&address={account}&offset=10000"),
        format!("/api?module=account&action=tokentx&contractaddress={token}&offset=10000"),
        format!("/api?module=logs&action=getLogs&address={token}"),
        format!("/api?module=logs&action=getLogs&topic0={topic}&topic1={topic}&topic0_1_opr=or"),
        format!("/api?module=token&action=tokenholderlist&contractaddress={token}"),
        format!("/api?module=contract&action=getsourcecode&address={token}"),
        format!("/api?module=contract&action=checkproxyverification&guid={guid}"),
        format!("/api?module=proxy&action=eth_call&to={token}&data=0x18160ddd"),
        "/".to_owned(),
        format!("/tx/{hash}"),
        format!("/tx/{hash}/calls"),
        format!("/address/{account}"),
    ])
}

/// Waits until the explorer only follows the chain, and returns the methods that it calls for that.
async fn wait_until_idle(node: &Replay) -> anyhow::Result<BTreeSet<String>> {
    let started = Instant::now();
    loop {
        let before = node.calls();
        tokio::time::sleep(IDLE_FOR).await;
        let mut made = node.calls();
        made.retain(|method, calls| *calls > before.get(method).copied().unwrap_or_default());
        if total(&node.calls()) - total(&before) <= IDLE_CALLS {
            return Ok(made.into_keys().collect());
        }
        ensure!(started.elapsed() < MAX_WAIT, "the explorer still calls the node: {made:?}");
    }
}

async fn cost_of(
    explorer: &Explorer,
    node: &Replay,
    following: &BTreeSet<String>,
    request: String,
) -> anyhow::Result<Cost> {
    let node_calls = || -> u64 {
        node.calls().iter().filter(|(method, _)| !following.contains(*method)).map(|(_, calls)| calls).sum()
    };
    let client = reqwest::Client::new();
    let url = format!("{}{request}", explorer.url);
    let (calls, cpu, started) = (node_calls(), explorer.cpu_nanos()?, Instant::now());
    let (mut bytes, mut rows, mut counted, mut of_first) = (0, 0, String::new(), None);
    for _ in 0..REPEATED {
        let response = client.get(&url).send().await?;
        counted =
            response.headers().get("x-ratelimit-cost").map_or("-", |cost| cost.to_str().unwrap_or("-")).to_owned();
        let body = response.bytes().await?;
        bytes += body.len();
        of_first.get_or_insert_with(|| node_calls() - calls);
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        rows = body["result"].as_array().map_or(0, Vec::len);
    }
    let each = f64::from(REPEATED);
    Ok(Cost {
        request,
        node_calls: of_first.unwrap_or_default(),
        cpu_millis: explorer.cpu_nanos()?.saturating_sub(cpu) as f64 / 1e6 / each,
        millis: started.elapsed().as_secs_f64() * 1e3 / each,
        kilobytes: bytes as f64 / 1e3 / each,
        rows,
        counted,
    })
}

fn total(calls: &BTreeMap<String, u64>) -> u64 {
    calls.values().sum()
}

impl fmt::Display for CostFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| request, mean of {REPEATED} | rows | node calls of the first | CPU | time | kB | counts |")?;
        writeln!(f, "|---|---|---|---|---|---|---|")?;
        for Cost { request, node_calls, cpu_millis, millis, kilobytes, rows, counted } in &self.0 {
            // Addresses and hashes say nothing to a reader.
            let shown: Vec<String> = request.split_inclusive(['/', '=', '&', '?']).map(shortened).collect();
            writeln!(
                f,
                "| `{}` | {rows} | {node_calls} | {cpu_millis:.1} ms | {millis:.1} ms | {kilobytes:.1} | {counted} |",
                shown.concat()
            )?;
        }
        writeln!(f, "\n`-`: counts against the pages of its client.")
    }
}

fn shortened(part: &str) -> String {
    let is_long = part.len() > 40;
    if is_long { "...".to_owned() + if part.ends_with('&') { "&" } else { "" } } else { part.to_owned() }
}
