//! Two binaries in turns, on the same chain: the same work for both, so that the noise of the machine affects both.

use std::{
    fmt,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::Context;
use serde_json::Value;

use crate::{
    chain::RecordedChain,
    explorer::{Explorer, NO_CACHE, own_binary},
    figures::quantile,
    head,
    progress::report,
};

const PAGE_SIZE: u64 = 25;
const HEAD_BLOCKS: usize = 20;

pub(crate) struct Comparison {
    rounds: usize,
    rows: Vec<Row>,
}

/// What was measured in each round, of the other binary and of this one.
struct Row {
    name: String,
    other: Vec<Cost>,
    own: Vec<Cost>,
}

/// Of one unit of work.
#[derive(Clone, Copy)]
struct Cost {
    cpu: f64,
    time: f64,
}

pub(crate) async fn measure(
    chain: &RecordedChain,
    other: &Path,
    rounds: usize,
    requests: usize,
) -> anyhow::Result<Comparison> {
    let own = own_binary()?;
    let mut rows: Vec<Row> = Vec::new();
    for round in 0..rounds {
        // Each of them is first in every second round.
        let mut order = [(other.to_owned(), false), (own.clone(), true)];
        order.rotate_left(round % 2);
        for (binary, is_own) in order {
            report(format!("compare: round {} of {rounds}, {}", round + 1, binary.display()));
            for (name, cost) in work(&binary, chain, requests).await? {
                let found = rows.iter().position(|row| row.name == name);
                let position = found.unwrap_or_else(|| {
                    rows.push(Row { name, other: Vec::new(), own: Vec::new() });
                    rows.len() - 1
                });
                let row = &mut rows[position];
                if is_own { row.own.push(cost) } else { row.other.push(cost) }
            }
        }
    }
    Ok(Comparison { rounds, rows })
}

/// Indexes the chain, answers requests without a cache, and follows the head.
async fn work(binary: &Path, chain: &RecordedChain, requests: usize) -> anyhow::Result<Vec<(String, Cost)>> {
    let data = tempfile::tempdir()?;
    let newest = chain.newest();
    let started = Instant::now();
    let explorer = Explorer::start_binary(binary, &chain.url(), data.path(), &[]).await?;
    explorer.wait_for_tip(newest).await?;
    let (time, cpu) = (started.elapsed().as_secs_f64(), explorer.cpu_seconds()?);
    explorer.stop().await?;
    let mut costs = vec![("index, the whole chain".to_owned(), Cost { cpu, time })];

    let explorer = Explorer::start_binary(binary, &chain.url(), data.path(), &NO_CACHE).await?;
    explorer.wait_for_tip(newest).await?;
    let client = reqwest::Client::new();
    for (name, paths) in visits(&explorer, chain).await? {
        let urls: Vec<_> = paths.iter().map(|path| format!("{}{path}", explorer.url)).collect();
        for url in &urls {
            client.get(url).send().await?.error_for_status()?.bytes().await?;
        }
        let mut sample = Vec::with_capacity(requests);
        let before = explorer.cpu_nanos()?;
        for url in urls.iter().cycle().take(requests) {
            let sent = Instant::now();
            client.get(url).send().await?.error_for_status()?.bytes().await?;
            sample.push(sent.elapsed());
        }
        let nanos = explorer.cpu_nanos()?.saturating_sub(before);
        costs.push((name.to_owned(), Cost { cpu: nanos as f64 / 1e9 / requests as f64, time: median(sample) }));
    }

    let before = explorer.cpu_nanos()?;
    let (from_response, _) = head::follow(&explorer, chain, HEAD_BLOCKS).await?;
    let nanos = explorer.cpu_nanos()?.saturating_sub(before);
    let cpu = nanos as f64 / 1e9 / HEAD_BLOCKS as f64;
    costs.push(("head, a block of 200 transactions".to_owned(), Cost { cpu, time: median(from_response) }));
    explorer.stop().await?;
    Ok(costs)
}

/// Requests of the API and of pages, each kind with several that are different.
async fn visits(explorer: &Explorer, chain: &RecordedChain) -> anyhow::Result<Vec<(&'static str, Vec<String>)>> {
    let (address, entries) = chain.busiest;
    let newest = reqwest::get(format!("{}/api/v1/transactions?limit=100", explorer.url)).await?.error_for_status()?;
    let newest: Value = serde_json::from_slice(&newest.bytes().await?)?;
    let newest = newest["transactions"].as_array().context("no transactions")?;
    let hashes = || newest.iter().filter_map(|tx| tx["hash"].as_str());
    // Pages all over a list, of which every one is full.
    let pages = |entries: u64| (0..20).map(move |part| 1 + entries / PAGE_SIZE * part / 20);
    Ok(vec![
        ("GET /blocks", pages(chain.head).map(|page| format!("/api/v1/blocks?page={page}")).collect()),
        (
            "GET /transactions?address",
            pages(entries).map(|page| format!("/api/v1/transactions?address={address}&page={page}")).collect(),
        ),
        ("GET /transactions/:hash", hashes().map(|hash| format!("/api/v1/transactions/{hash}")).collect()),
        ("GET /addresses/:address", vec![format!("/api/v1/addresses/{address}")]),
        ("page of blocks", pages(chain.head).map(|page| format!("/blocks?page={page}")).collect()),
        ("page of a transaction", hashes().map(|hash| format!("/tx/{hash}")).collect()),
        ("page of the busiest address", pages(entries).map(|page| format!("/address/{address}?page={page}")).collect()),
    ])
}

fn median(mut sample: Vec<Duration>) -> f64 {
    sample.sort_unstable();
    quantile(&sample, 0.5).as_secs_f64()
}

/// The middle of a figure over all rounds.
fn middle(costs: &[Cost], figure: impl Fn(&Cost) -> f64) -> f64 {
    let mut figures: Vec<_> = costs.iter().map(figure).collect();
    figures.sort_unstable_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| medians of {} rounds, in turns | CPU, other | CPU, this | | time, other | time, this | |",
            self.rounds
        )?;
        writeln!(f, "|---|---|---|---|---|---|---|")?;
        for Row { name, other, own } in &self.rows {
            let [cpu_before, cpu] = [other, own].map(|costs| middle(costs, |cost| cost.cpu));
            let [time_before, time] = [other, own].map(|costs| middle(costs, |cost| cost.time));
            let (cpu_ratio, time_ratio) = (cpu / cpu_before, time / time_before);
            let [cpu_before, cpu, time_before, time] = [cpu_before, cpu, time_before, time].map(seconds);
            writeln!(
                f,
                "| {name} | {cpu_before} | {cpu} | {cpu_ratio:.2} | {time_before} | {time} | {time_ratio:.2} |"
            )?;
        }
        Ok(())
    }
}

fn seconds(value: f64) -> String {
    if value < 1.0 { format!("{:.3} ms", value * 1e3) } else { format!("{value:.2} s") }
}
