//! Indexing from a remote node with latency and occasional errors.

use std::{
    fmt,
    time::{Duration, Instant},
};

use crate::{
    chain::RecordedChain,
    download,
    explorer::Explorer,
    figures::{millis, reached},
    progress::report,
    replay::Conditions,
};

const MIN_SHARE: f64 = 0.8;
/// The explorer's default limit of requests in flight.
const CONCURRENCY_CAP: f64 = 128.0;
/// The block and its receipts.
const REQUESTS_PER_BLOCK: f64 = 2.0;

pub(super) struct RemoteNodeFigures {
    conditions: Conditions,
    /// Measured; timers and the loopback make it longer than configured.
    round_trip: Duration,
    transactions: u64,
    blocks: u64,
    took: Duration,
    requests: u64,
    /// Transactions per second without delay.
    local_rate: f64,
}

/// Indexes the chain twice: from a local and from a remote node.
pub(super) async fn measure(chain: &RecordedChain, conditions: Conditions) -> anyhow::Result<RemoteNodeFigures> {
    let (transactions, blocks) = (chain.transactions, chain.head + 1);
    report(format!("index: {blocks} blocks from a local node, and from a remote one"));
    let local_rate = transactions as f64 / full_index(&chain.url(), chain.head).await?.as_secs_f64();
    let round_trip = download::round_trip(&chain.serve(conditions).await?.url()).await?;
    let replay = chain.serve(conditions).await?;
    let took = full_index(&replay.url(), chain.head).await?;
    Ok(RemoteNodeFigures {
        conditions,
        round_trip,
        transactions,
        blocks,
        took,
        requests: replay.requests(),
        local_rate,
    })
}

pub(crate) async fn full_index(url: &str, head: u64) -> anyhow::Result<Duration> {
    let data = tempfile::tempdir()?;
    let started = Instant::now();
    let explorer = Explorer::start(url, data.path()).await?;
    explorer.wait_for_tip(head).await?;
    let took = started.elapsed();
    explorer.stop().await?;
    Ok(took)
}

impl RemoteNodeFigures {
    /// The rate that a round trip permits at the full concurrency.
    fn permitted(&self, round_trip: Duration) -> f64 {
        let requests = CONCURRENCY_CAP / round_trip.as_secs_f64();
        requests / REQUESTS_PER_BLOCK * self.transactions as f64 / self.blocks as f64
    }
}

impl fmt::Display for RemoteNodeFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = self.transactions as f64 / self.took.as_secs_f64();
        // The limit is the slower of the machine and the round trip.
        let limit = |round_trip: Duration| self.permitted(round_trip).min(self.local_rate);
        let (round_trip, errors) = (self.conditions.round_trip.as_millis(), self.conditions.errors * 100.0);
        writeln!(
            f,
            "| {round_trip} ms round trip, {errors:.1}% errors, {:.0} tx per block | |",
            self.transactions as f64 / self.blocks as f64
        )?;
        writeln!(f, "|---|---|")?;
        writeln!(f, "| a round trip without load | {} |", millis(self.round_trip))?;
        writeln!(
            f,
            "| the round trip permits, {CONCURRENCY_CAP:.0} requests in flight | {:.0} tx/s |",
            self.permitted(self.conditions.round_trip)
        )?;
        writeln!(f, "| full index without delay and errors | {:.0} tx/s |", self.local_rate)?;
        writeln!(f, "| full index, process start included | {rate:.0} tx/s |")?;
        writeln!(
            f,
            "| requests in flight on average, at least | {:.0} |",
            self.requests as f64 * self.round_trip.as_secs_f64() / self.took.as_secs_f64()
        )?;
        let share = rate / limit(self.conditions.round_trip);
        let share_of_measured = rate / limit(self.round_trip);
        writeln!(
            f,
            "| share of the lower of the two (bound: {MIN_SHARE}) | {share:.2}, {} |",
            reached(share >= MIN_SHARE)
        )?;
        writeln!(f, "| the same, with the measured round trip | {share_of_measured:.2} |")
    }
}
