//! Whether indexing gets slower as the index grows.

use std::fmt;
use std::time::{Duration, Instant};

use crate::chain::RecordedChain;
use crate::explorer::Explorer;
use crate::progress::tell;

const TOLD_EVERY: Duration = Duration::from_secs(10);

/// Tips seen while indexing below which nothing can be said about quarters: each tip is the end of a commit.
const FEWEST_TIPS: usize = 16;

/// The rate of each quarter of the chain's transactions.
pub(super) struct Growth {
    rates: [f64; 4],
    tips: usize,
}

impl Growth {
    /// Waits until all is indexed.
    pub(super) async fn watch(explorer: &Explorer, chain: &RecordedChain, begun: Instant) -> anyhow::Result<Self> {
        // How many transactions were indexed when: commits are large, so their ends are what can be seen.
        // The start of the process is no part of the first quarter.
        let mut seen = vec![(0, begun.elapsed())];
        let mut told = Instant::now();
        explorer
            .watch_tip(chain.head, |tip| {
                seen.push((chain.transactions_up_to(tip), begun.elapsed()));
                if told.elapsed() > TOLD_EVERY {
                    told = Instant::now();
                    tell(format!("indexed {} of {} transactions", chain.transactions_up_to(tip), chain.transactions));
                }
            })
            .await?;
        let ends = [0.0, 0.25, 0.5, 0.75, 1.0].map(|share| time_at(&seen, share * chain.transactions as f64));
        let quarter = chain.transactions as f64 / 4.0;
        let rates = std::array::from_fn(|n| quarter / (ends[n + 1] - ends[n]).max(f64::EPSILON));
        Ok(Self { rates, tips: seen.len() - 1 })
    }

    /// Whether the last quarter is at least so fast, by the first one; None where the chain is too short to tell.
    pub(super) fn keeps(&self, least: f64) -> Option<bool> {
        (self.tips >= FEWEST_TIPS).then(|| self.last_to_first() >= least)
    }

    pub(super) fn last_to_first(&self) -> f64 {
        self.rates[3] / self.rates[0]
    }
}

/// When so many transactions were indexed, in seconds: evenly between two commits.
fn time_at(seen: &[(u64, Duration)], transactions: f64) -> f64 {
    let after = seen.partition_point(|(count, _)| (*count as f64) < transactions).min(seen.len() - 1);
    let (count, time) = seen[after];
    let (count_before, time_before) = seen[after.saturating_sub(1)];
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
            "\nRates are taken between the {tips} tips that were seen; fewer than {FEWEST_TIPS} tell nothing of growth."
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_two_commits_time_passes_evenly() {
        let at = Duration::from_secs;
        let seen = [(0, at(0)), (100, at(1)), (200, at(3))];
        assert_eq!([0.0, 50.0, 100.0, 150.0, 200.0].map(|count| time_at(&seen, count)), [0.0, 0.5, 1.0, 2.0, 3.0]);
    }
}
