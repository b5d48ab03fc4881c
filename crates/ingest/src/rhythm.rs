//! Measures how regularly blocks arrive, and when a gap is too long.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

/// Commits in the sliding window.
const WINDOW: usize = 32;
/// Minimum number of blocks.
const MIN_BLOCKS: u64 = 10;
/// Shorter gaps are never too long, even on a fast chain.
const MIN_LIMIT: Duration = Duration::from_secs(30);
/// Block times after which a gap is too long ...
const LIMIT_IN_BLOCKS: u32 = 10;
/// ... but at least this multiple of the longest recent gap.
const LIMIT_IN_PAUSES: u32 = 4;

/// When arrivals count as regular.
#[derive(Debug, Clone, Copy)]
struct Regularity {
    observed_for: Duration,
    /// The longest gap, in mean block times.
    most_uneven: u32,
}

const ON_LIVE_CHAINS: Regularity = Regularity { observed_for: Duration::from_secs(5), most_uneven: 10 };
/// Many dev chains mine on demand, where a gap means nothing.
const ON_DEV_CHAINS: Regularity = Regularity { observed_for: Duration::from_secs(20), most_uneven: 3 };

/// Arrival times of blocks at the head. Backfilled blocks are excluded.
#[derive(Debug, Default)]
pub(crate) struct Rhythm {
    arrivals: VecDeque<(Instant, u64)>,
}

impl Rhythm {
    pub(crate) fn forget(&mut self) {
        self.arrivals.clear();
    }

    pub(crate) fn arrived(&mut self, blocks: u64, now: Instant) {
        if self.arrivals.len() == WINDOW {
            self.arrivals.pop_front();
        }
        self.arrivals.push_back((now, blocks));
    }

    /// When the current gap becomes too long; None if arrivals are irregular.
    pub(crate) fn quiet_from(&self, is_dev_chain: bool) -> Option<Instant> {
        let required = if is_dev_chain { ON_DEV_CHAINS } else { ON_LIVE_CHAINS };
        let ((first, _), (last, _)) = (self.arrivals.front()?, self.arrivals.back()?);
        let observed = last.duration_since(*first);
        let blocks: u64 = self.arrivals.iter().skip(1).map(|(_, blocks)| blocks).sum();
        if blocks < MIN_BLOCKS || observed < required.observed_for {
            return None;
        }
        let block_time = observed / u32::try_from(blocks).ok()?;
        let pauses = self.arrivals.iter().zip(self.arrivals.iter().skip(1));
        let longest = pauses.map(|((one, _), (next, _))| next.duration_since(*one)).max()?;
        if longest > block_time * required.most_uneven {
            return None;
        }
        Some(*last + MIN_LIMIT.max(block_time * LIMIT_IN_BLOCKS).max(longest * LIMIT_IN_PAUSES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long after the last block the gap is too long.
    fn limit(pauses: impl IntoIterator<Item = u64>, is_dev_chain: bool) -> Option<Duration> {
        let (mut rhythm, mut now) = (Rhythm::default(), Instant::now());
        rhythm.arrived(1, now);
        for millis in pauses {
            now += Duration::from_millis(millis);
            rhythm.arrived(1, now);
        }
        rhythm.quiet_from(is_dev_chain).map(|from| from.duration_since(now))
    }

    #[test]
    fn the_limit_follows_the_block_time() {
        assert_eq!(limit([1_000; 30], false), Some(Duration::from_secs(30)));
        assert_eq!(limit([12_000; 40], false), Some(Duration::from_secs(120)));
        assert_eq!(limit([12_000, 12_000, 12_000, 60_000].repeat(6), false), Some(Duration::from_secs(240)));
    }

    #[test]
    fn irregular_blocks_have_no_limit() {
        assert_eq!(limit([1_000; 5], false), None, "too few");
        assert_eq!(limit([10; 30], false), None, "too short");
        let uneven = [500; 14].into_iter().chain([90_000]).chain([500; 14]);
        assert_eq!(limit(uneven, false), None, "too uneven");
    }

    #[test]
    fn a_dev_chain_that_mines_on_demand_has_no_limit() {
        let on_demand = [300, 200, 2_500, 100, 4_000, 100].repeat(5);
        assert_eq!(limit(on_demand, true), None);
        assert_eq!(limit([1_000; 30], true), Some(Duration::from_secs(30)), "one that mines at intervals is");
    }
}
