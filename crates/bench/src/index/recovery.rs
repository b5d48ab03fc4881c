//! How soon an explorer serves again after it was killed in the middle of its work.

use std::fmt;
use std::time::{Duration, Instant};

use crate::chain::RecordedChain;
use crate::explorer::Explorer;
use crate::figures::millis;
use crate::progress::tell;

/// The share of the chain that is indexed before the kill. A commit may hold much of what is left.
const KILLED_AT: f64 = 0.3;

pub(super) struct Opening {
    /// Transactions that were indexed when it was killed, at least.
    indexed: u64,
    /// From the start of the process until `/health` answers.
    pub(super) until_answer: Duration,
    /// The tip that it came back with.
    tip: Option<u64>,
}

pub(super) async fn measure(chain: &RecordedChain) -> anyhow::Result<Opening> {
    tell("index: kill -9 in mid-backfill");
    let data = tempfile::tempdir()?;
    let explorer = Explorer::start(&chain.url(), data.path()).await?;
    let mut reached = 0;
    explorer.watch_tip(chain.block_at(KILLED_AT), |tip| reached = tip).await?;
    explorer.kill().await?;
    let begun = Instant::now();
    let explorer = Explorer::start(&chain.url(), data.path()).await?;
    let tip = explorer.tip().await?;
    let until_answer = begun.elapsed();
    explorer.wait_for_tip(chain.head).await?;
    explorer.stop().await?;
    Ok(Opening { indexed: chain.transactions_up_to(reached), until_answer, tip })
}

impl fmt::Display for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tip = self.tip.map_or_else(|| "no tip told yet".to_owned(), |tip| format!("block {tip} as its tip"));
        writeln!(
            f,
            "Killed with {} transactions indexed; `/health` answered {} after the start of the process, with {tip}, and \
             the rest of the chain was indexed.",
            self.indexed,
            millis(self.until_answer)
        )
    }
}
