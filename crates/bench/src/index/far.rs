//! Indexing from a node that is far away and fails now and then.

use std::fmt;
use std::time::{Duration, Instant};

use crate::chain::RecordedChain;
use crate::download;
use crate::explorer::Explorer;
use crate::figures::{millis, verdict};
use crate::progress::tell;
use crate::replay::Conditions;

const LEAST: f64 = 0.8;
/// Requests that the explorer has under way at once at most, unless it is told otherwise.
const CONCURRENCY_CAP: f64 = 128.0;
/// The block and its receipts.
const REQUESTS_PER_BLOCK: f64 = 2.0;

pub(super) struct FarFigures {
    conditions: Conditions,
    /// The timers and the way through the machine make it longer than was asked for.
    round_trip: Duration,
    transactions: u64,
    blocks: u64,
    took: Duration,
    requests: u64,
    /// Transactions a second without any delay.
    near_rate: f64,
}

/// Indexes the chain twice: as fast as it comes, and from afar.
pub(super) async fn measure(chain: &RecordedChain, conditions: Conditions) -> anyhow::Result<FarFigures> {
    let (transactions, blocks) = (chain.transactions, chain.head + 1);
    tell(format!("index: {blocks} blocks from a near node, and from a far one"));
    let near_rate = transactions as f64 / full_index(&chain.url(), chain.head).await?.as_secs_f64();
    let round_trip = download::round_trip(&chain.serve(conditions).await?.url()).await?;
    let replay = chain.serve(conditions).await?;
    let took = full_index(&replay.url(), chain.head).await?;
    Ok(FarFigures { conditions, round_trip, transactions, blocks, took, requests: replay.requests(), near_rate })
}

pub(crate) async fn full_index(url: &str, head: u64) -> anyhow::Result<Duration> {
    let data = tempfile::tempdir()?;
    let begun = Instant::now();
    let explorer = Explorer::start(url, data.path()).await?;
    explorer.wait_for_tip(head).await?;
    let took = begun.elapsed();
    explorer.stop().await?;
    Ok(took)
}

impl FarFigures {
    /// What a round trip permits when the cap is used up all the time.
    fn permitted(&self, round_trip: Duration) -> f64 {
        let requests = CONCURRENCY_CAP / round_trip.as_secs_f64();
        requests / REQUESTS_PER_BLOCK * self.transactions as f64 / self.blocks as f64
    }
}

impl fmt::Display for FarFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = self.transactions as f64 / self.took.as_secs_f64();
        // Where the machine is slower than the round trip, the machine is the limit.
        let limit = |round_trip: Duration| self.permitted(round_trip).min(self.near_rate);
        let (round_trip, errors) = (self.conditions.round_trip.as_millis(), self.conditions.errors * 100.0);
        writeln!(
            f,
            "| {round_trip} ms round trip, {errors:.1}% errors, {:.0} tx in a block | |",
            self.transactions as f64 / self.blocks as f64
        )?;
        writeln!(f, "|---|---|")?;
        writeln!(f, "| a round trip while nothing else is asked | {} |", millis(self.round_trip))?;
        writeln!(
            f,
            "| the round trip permits, {CONCURRENCY_CAP:.0} requests at once | {:.0} tx/s |",
            self.permitted(self.conditions.round_trip)
        )?;
        writeln!(f, "| full index without delay and errors | {:.0} tx/s |", self.near_rate)?;
        writeln!(f, "| full index, process start included | {rate:.0} tx/s |")?;
        writeln!(
            f,
            "| requests under way on average, at least | {:.0} |",
            self.requests as f64 * self.round_trip.as_secs_f64() / self.took.as_secs_f64()
        )?;
        let share = rate / limit(self.conditions.round_trip);
        let share_of_measured = rate / limit(self.round_trip);
        writeln!(f, "| of the lesser of the two (bound: {LEAST}) | {share:.2}, {} |", verdict(share >= LEAST))?;
        writeln!(f, "| the same, by the round trip as it was measured | {share_of_measured:.2} |")
    }
}
