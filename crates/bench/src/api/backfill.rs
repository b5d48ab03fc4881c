//! The same questions while the same process indexes as fast as it can.

use std::time::{Duration, Instant};

use super::load::{self, Load, Measured};
use super::questions::Question;
use crate::chain::RecordedChain;
use crate::explorer::Explorer;

/// The share of the chain that is indexed before the measurement begins, so that there is something to answer with.
const BEGIN: f64 = 0.1;
/// The load is applied in parts, and after each it is seen whether the backfill still runs.
const PART: Duration = Duration::from_millis(250);

pub(super) struct Beside {
    pub(super) half: Measured,
    /// Transactions a second that were indexed meanwhile.
    pub(super) indexing: f64,
}

/// Asks at a given rate for as long as wanted, or until the backfill is done.
pub(super) async fn measure(
    chain: &RecordedChain,
    question: &Question,
    per_second: f64,
    lasting: Duration,
) -> anyhow::Result<Beside> {
    let data = tempfile::tempdir()?;
    let explorer = Explorer::start(&chain.url(), data.path()).await?;
    let mut first = 0;
    explorer.watch_tip(chain.block_at(BEGIN), |tip| first = tip).await?;
    let begun = Instant::now();
    let (mut half, mut last) = (Measured { took: Duration::ZERO, latencies: Vec::new() }, first);
    while last < chain.head && half.took < lasting {
        let part = load::run(&explorer.url, &question.same(), Load::PerSecond(per_second), PART).await?;
        half.took += part.took;
        half.latencies.extend(part.latencies);
        last = explorer.tip().await?.unwrap_or_default();
    }
    let indexed = chain.transactions_up_to(last).saturating_sub(chain.transactions_up_to(first));
    let indexing = indexed as f64 / begun.elapsed().as_secs_f64();
    half.latencies.sort_unstable();
    explorer.stop().await?;
    Ok(Beside { half, indexing })
}
