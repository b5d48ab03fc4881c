//! The time until an explorer serves again after it was killed during a backfill.

use std::{
    fmt,
    time::{Duration, Instant},
};

use crate::{chain::RecordedChain, explorer::Explorer, figures::millis, progress::report};

/// The share of the chain that is indexed before the kill; a commit may contain much of the rest.
const KILLED_AT: f64 = 0.3;

pub(super) struct Opening {
    /// Transactions indexed when it was killed, at least.
    indexed: u64,
    /// From the start of the process until `/health` responds.
    pub(super) until_response: Duration,
    /// The tip after the restart.
    tip: Option<u64>,
}

pub(super) async fn measure(chain: &RecordedChain) -> anyhow::Result<Opening> {
    report("index: kill -9 in mid-backfill");
    let data = tempfile::tempdir()?;
    let explorer = Explorer::start(&chain.url(), data.path()).await?;
    let mut reached = 0;
    explorer.watch_tip(chain.block_at(KILLED_AT), |tip| reached = tip).await?;
    explorer.kill().await?;
    let started = Instant::now();
    let explorer = Explorer::start(&chain.url(), data.path()).await?;
    let tip = explorer.tip().await?;
    let until_response = started.elapsed();
    explorer.wait_for_tip(chain.head).await?;
    explorer.stop().await?;
    Ok(Opening { indexed: chain.transactions_up_to(reached), until_response, tip })
}

impl fmt::Display for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tip = self.tip.map_or_else(|| "no tip yet".to_owned(), |tip| format!("block {tip} as its tip"));
        writeln!(
            f,
            "Killed with {} transactions indexed; `/health` responded {} after the start of the process, with {tip}, and \
             the rest of the chain was indexed.",
            self.indexed,
            millis(self.until_response)
        )
    }
}
