//! The CPU cost of API keys and rate limits per request.

use std::fmt;

use crate::{
    chain::RecordedChain,
    explorer::{Explorer, HIGHEST_LIMIT},
};

/// Many short rounds, so that some run without noise.
const ROUNDS: usize = 60;
const REQUESTS_PER_ROUND: u32 = 500;

/// CPU nanoseconds of the whole process per request in the fastest round.
pub(crate) struct OverheadFigures {
    bare: u64,
    anonymous: u64,
    with_key: u64,
}

/// Sends the same requests alternately to an explorer without limits and to one with limits.
pub(crate) async fn measure(chain: &RecordedChain) -> anyhow::Result<OverheadFigures> {
    let (open_data, limited_data) = (tempfile::tempdir()?, tempfile::tempdir()?);
    Explorer::start(&chain.url(), limited_data.path()).await?.stop().await?;
    let key = Explorer::make_key(limited_data.path()).await?;
    let open = Explorer::start(&chain.url(), open_data.path()).await?;
    let limited = Explorer::start_with_limit(&chain.url(), limited_data.path(), HIGHEST_LIMIT).await?;
    for explorer in [&open, &limited] {
        explorer.wait_for_tip(chain.head).await?;
        measure_round(explorer, None).await?;
    }
    let mut figures = OverheadFigures { bare: u64::MAX, anonymous: u64::MAX, with_key: u64::MAX };
    for _ in 0..ROUNDS {
        figures.bare = figures.bare.min(measure_round(&open, None).await?);
        figures.anonymous = figures.anonymous.min(measure_round(&limited, None).await?);
        figures.with_key = figures.with_key.min(measure_round(&limited, Some(&key)).await?);
    }
    open.stop().await?;
    limited.stop().await?;
    Ok(figures)
}

async fn measure_round(explorer: &Explorer, key: Option<&str>) -> anyhow::Result<u64> {
    let client = reqwest::Client::new();
    let url = format!("{}/api/v1/stats", explorer.url);
    let before = explorer.cpu_nanos()?;
    for _ in 0..REQUESTS_PER_ROUND {
        let mut request = client.get(&url);
        if let Some(key) = key {
            request = request.header("X-API-Key", key);
        }
        request.send().await?.error_for_status()?.bytes().await?;
    }
    Ok(explorer.cpu_nanos()?.saturating_sub(before) / u64::from(REQUESTS_PER_ROUND))
}

impl fmt::Display for OverheadFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = |nanos: u64| nanos as f64 / 1e3;
        let bare = micros(self.bare);
        writeln!(f, "| CPU of the whole process for one /stats, fastest round | | more than bare |")?;
        writeln!(f, "|---|---|---|")?;
        writeln!(f, "| no limits set, no key sent | {bare:.1} us | |")?;
        for (name, nanos) in [("limited, no key sent", self.anonymous), ("limited, with a key", self.with_key)] {
            let cost = micros(nanos);
            writeln!(f, "| {name} | {cost:.1} us | {:.1} us |", cost - bare)?;
        }
        Ok(())
    }
}
