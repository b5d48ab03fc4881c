//! What it costs to find out who asks, whether he may, and to tell him how he stands.

use std::fmt;

use crate::chain::RecordedChain;
use crate::explorer::Explorer;

const ROUNDS: usize = 10;
const REQUESTS_PER_ROUND: u32 = 4_000;

/// CPU seconds of the whole process, for each way to ask and each round.
pub(crate) struct OverheadFigures {
    bare: Vec<f64>,
    anonymous: Vec<f64>,
    with_key: Vec<f64>,
}

/// Asks the same of an explorer without limits and of one that counts, in turn.
pub(crate) async fn measure(chain: &RecordedChain) -> anyhow::Result<OverheadFigures> {
    let (open_data, limited_data) = (tempfile::tempdir()?, tempfile::tempdir()?);
    Explorer::start(&chain.url(), limited_data.path()).await?.stop().await?;
    let key = Explorer::make_key(limited_data.path()).await?;
    let open = Explorer::start(&chain.url(), open_data.path()).await?;
    let limited = Explorer::start_with_limit(&chain.url(), limited_data.path(), u32::MAX).await?;
    for explorer in [&open, &limited] {
        explorer.wait_for_tip(chain.head).await?;
        ask(explorer, None).await?;
    }
    let mut figures = OverheadFigures { bare: Vec::new(), anonymous: Vec::new(), with_key: Vec::new() };
    for _ in 0..ROUNDS {
        figures.bare.push(ask(&open, None).await?);
        figures.anonymous.push(ask(&limited, None).await?);
        figures.with_key.push(ask(&limited, Some(&key)).await?);
    }
    open.stop().await?;
    limited.stop().await?;
    Ok(figures)
}

async fn ask(explorer: &Explorer, key: Option<&str>) -> anyhow::Result<f64> {
    let client = reqwest::Client::new();
    let url = format!("{}/api/v1/stats", explorer.url);
    let before = explorer.cpu_seconds()?;
    for _ in 0..REQUESTS_PER_ROUND {
        let mut request = client.get(&url);
        if let Some(key) = key {
            request = request.header("X-API-Key", key);
        }
        request.send().await?.error_for_status()?.bytes().await?;
    }
    Ok(explorer.cpu_seconds()? - before)
}

/// The middle round, in microseconds a request.
fn median_micros(rounds: &[f64]) -> f64 {
    let mut sorted = rounds.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).map_or(0.0, |seconds| seconds * 1e6 / f64::from(REQUESTS_PER_ROUND))
}

impl fmt::Display for OverheadFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bare = median_micros(&self.bare);
        writeln!(f, "| CPU of the whole process for one /stats | | more than bare |")?;
        writeln!(f, "|---|---|---|")?;
        writeln!(f, "| no limits set, no key sent | {bare:.1} us | |")?;
        for (name, rounds) in [("limited, no key sent", &self.anonymous), ("limited, with a key", &self.with_key)] {
            let cost = median_micros(rounds);
            writeln!(f, "| {name} | {cost:.1} us | {:.1} us |", cost - bare)?;
        }
        Ok(())
    }
}
