//! What it costs to find out who asks, whether he may, and to tell him how he stands.

use std::fmt;

use crate::chain::RecordedChain;
use crate::explorer::{Explorer, HIGHEST_LIMIT};

/// Many and short, so that some fall into quiet moments.
const ROUNDS: usize = 60;
const REQUESTS_PER_ROUND: u32 = 500;

/// CPU nanoseconds of the whole process for a request in the quietest round, for each way to ask.
pub(crate) struct OverheadFigures {
    bare: u64,
    anonymous: u64,
    with_key: u64,
}

/// Asks the same of an explorer without limits and of one that counts, in turn.
pub(crate) async fn measure(chain: &RecordedChain) -> anyhow::Result<OverheadFigures> {
    let (open_data, limited_data) = (tempfile::tempdir()?, tempfile::tempdir()?);
    Explorer::start(&chain.url(), limited_data.path()).await?.stop().await?;
    let key = Explorer::make_key(limited_data.path()).await?;
    let open = Explorer::start(&chain.url(), open_data.path()).await?;
    let limited = Explorer::start_with_limit(&chain.url(), limited_data.path(), HIGHEST_LIMIT).await?;
    for explorer in [&open, &limited] {
        explorer.wait_for_tip(chain.head).await?;
        ask(explorer, None).await?;
    }
    let mut figures = OverheadFigures { bare: u64::MAX, anonymous: u64::MAX, with_key: u64::MAX };
    for _ in 0..ROUNDS {
        figures.bare = figures.bare.min(ask(&open, None).await?);
        figures.anonymous = figures.anonymous.min(ask(&limited, None).await?);
        figures.with_key = figures.with_key.min(ask(&limited, Some(&key)).await?);
    }
    open.stop().await?;
    limited.stop().await?;
    Ok(figures)
}

async fn ask(explorer: &Explorer, key: Option<&str>) -> anyhow::Result<u64> {
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
        writeln!(f, "| CPU of the whole process for one /stats, quietest round | | more than bare |")?;
        writeln!(f, "|---|---|---|")?;
        writeln!(f, "| no limits set, no key sent | {bare:.1} us | |")?;
        for (name, nanos) in [("limited, no key sent", self.anonymous), ("limited, with a key", self.with_key)] {
            let cost = micros(nanos);
            writeln!(f, "| {name} | {cost:.1} us | {:.1} us |", cost - bare)?;
        }
        Ok(())
    }
}
