//! The same requests during a backfill by the same process.

use std::time::{Duration, Instant};

use super::{
    load::{self, Load, Measured},
    scenarios::Scenario,
};
use crate::{chain::RecordedChain, explorer::Explorer};

/// The share of the chain that is indexed before the measurement starts, so that there is data to serve.
const START: f64 = 0.1;
/// The load is applied in parts; after each, the progress of the backfill is checked.
const PART: Duration = Duration::from_millis(250);

pub(super) struct DuringBackfill {
    pub(super) half: Measured,
    /// Transactions indexed per second meanwhile.
    pub(super) indexing: f64,
}

/// Sends requests at a rate for a duration, or until the backfill is done.
pub(super) async fn measure(
    chain: &RecordedChain,
    scenario: &Scenario,
    per_second: f64,
    duration: Duration,
) -> anyhow::Result<DuringBackfill> {
    let data = tempfile::tempdir()?;
    let explorer = Explorer::start(&chain.url(), data.path()).await?;
    let mut first = 0;
    explorer.watch_tip(chain.block_at(START), |tip| first = tip).await?;
    let started = Instant::now();
    let (mut half, mut last) = (Measured { took: Duration::ZERO, latencies: Vec::new() }, first);
    while last < chain.head && half.took < duration {
        let part = load::run(&explorer.url, &scenario.same(), Load::PerSecond(per_second), PART).await?;
        half.took += part.took;
        half.latencies.extend(part.latencies);
        last = explorer.tip().await?.unwrap_or_default();
    }
    let indexed = chain.transactions_up_to(last).saturating_sub(chain.transactions_up_to(first));
    let indexing = indexed as f64 / started.elapsed().as_secs_f64();
    half.latencies.sort_unstable();
    explorer.stop().await?;
    Ok(DuringBackfill { half, indexing })
}
