//! Whether indexing slows down as the index grows.

use std::{
    fmt,
    time::{Duration, Instant},
};

use crate::{chain::RecordedChain, explorer::Explorer, progress::report};

const REPORT_INTERVAL: Duration = Duration::from_secs(10);

/// The minimum number of observed tips for a comparison of quarters; each tip is the end of a commit.
const MIN_TIPS: usize = 16;

/// The rate for each quarter of the transactions.
pub(super) struct Growth {
    rates: [f64; 4],
    tips: usize,
}

impl Growth {
    /// Measures until everything is indexed.
    pub(super) async fn watch(explorer: &Explorer, chain: &RecordedChain, started: Instant) -> anyhow::Result<Self> {
        // The number of indexed transactions by time, observed at the end of each commit.
        // The first quarter does not include the start of the process.
        let mut seen = vec![(0, started.elapsed())];
        let mut reported = Instant::now();
        explorer
            .watch_tip(chain.head, |tip| {
                seen.push((chain.transactions_up_to(tip), started.elapsed()));
                if reported.elapsed() > REPORT_INTERVAL {
                    reported = Instant::now();
                    report(format!("indexed {} of {} transactions", chain.transactions_up_to(tip), chain.transactions));
                }
            })
            .await?;
        let quarter = chain.transactions as f64 / 4.0;
        let mut start = time_at(&seen, 0.0);
        let rates = [1.0, 2.0, 3.0, 4.0].map(|quarters| {
            let end = time_at(&seen, quarters * quarter);
            let took = end - std::mem::replace(&mut start, end);
            quarter / took.max(f64::EPSILON)
        });
        Ok(Self { rates, tips: seen.len() - 1 })
    }

    /// Whether the last quarter has at least this share of the rate of the first; None if the chain is too short.
    pub(super) fn reaches(&self, share: f64) -> Option<bool> {
        (self.tips >= MIN_TIPS).then(|| self.last_to_first() >= share)
    }

    pub(super) fn last_to_first(&self) -> f64 {
        self.rates[3] / self.rates[0]
    }
}

/// The time in seconds at which a number of transactions was indexed, interpolated between commits.
fn time_at(seen: &[(u64, Duration)], transactions: f64) -> f64 {
    let (before, after) = seen.split_at(seen.partition_point(|(count, _)| (*count as f64) < transactions));
    let (count, time) = after.first().or(before.last()).copied().unwrap_or_default();
    let (count_before, time_before) = before.last().copied().unwrap_or((count, time));
    let share = (transactions - count_before as f64) / ((count - count_before) as f64).max(1.0);
    let (time, time_before) = (time.as_secs_f64(), time_before.as_secs_f64());
    time_before + (time - time_before) * share.clamp(0.0, 1.0)
}

impl fmt::Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, second, third, last] = self.rates;
        writeln!(f, "| quarter of the chain | first | second | third | last | last to first |")?;
        writeln!(f, "|---|---|---|---|---|---|")?;
        let ratio = self.last_to_first();
        writeln!(f, "| tx/s | {first:.0} | {second:.0} | {third:.0} | {last:.0} | {ratio:.2} |")?;
        let tips = self.tips;
        writeln!(
            f,
            "\nRates are interpolated between {tips} observed tips; fewer than {MIN_TIPS} are not enough to measure growth."
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_interpolated_between_commits() {
        let at = Duration::from_secs;
        let seen = [(0, at(0)), (100, at(1)), (200, at(3))];
        assert_eq!([0.0, 50.0, 100.0, 150.0, 200.0].map(|count| time_at(&seen, count)), [0.0, 0.5, 1.0, 2.0, 3.0]);
    }
}
