//! The schedule of a history.

use super::deploy::DEPLOYMENT_BLOCKS;

/// Average number of transactions per block.
const TRANSACTIONS_PER_BLOCK: u64 = 8;

/// The newest blocks, which are as far apart as live ones.
const RECENT_BLOCKS: u64 = 100;
const DAY: u64 = 24 * 60 * 60;

/// A history of blocks that ends at a given time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryPlan {
    /// Approximate number of transactions; it may be exceeded by two.
    pub transactions: u64,
    /// The time of the last block, in unix seconds.
    pub end: u64,
    /// Seconds between blocks; should equal `block_seconds` of the chain.
    pub block_seconds: u64,
    /// Days over which all but the newest blocks are spread; 0 for a history of evenly spaced blocks.
    pub days: u64,
}

impl HistoryPlan {
    pub fn blocks(&self) -> u64 {
        self.transactions.div_ceil(TRANSACTIONS_PER_BLOCK)
    }

    /// A genesis time that is early enough for the deployment and the history.
    pub fn genesis_timestamp(&self) -> u64 {
        let first = self.timestamps().next().unwrap_or(self.end);
        first.saturating_sub((1 + DEPLOYMENT_BLOCKS) * self.block_seconds)
    }

    /// The time of each block, oldest first.
    pub(super) fn timestamps(&self) -> impl Iterator<Item = u64> + use<> {
        let Self { end, block_seconds, days, .. } = *self;
        let recent = if days == 0 { self.blocks() } else { self.blocks().min(RECENT_BLOCKS) };
        let step = (days * DAY).checked_div(self.blocks() - recent).unwrap_or_default().max(block_seconds);
        (0..self.blocks()).rev().map(move |left| {
            let after = left.min(recent) * block_seconds + left.saturating_sub(recent) * step;
            end.saturating_sub(after)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_blocks_are_evenly_spaced_and_the_last_is_at_the_end() {
        let plan = HistoryPlan { transactions: 20, end: 1_000, block_seconds: 3, days: 0 };
        assert_eq!(plan.timestamps().collect::<Vec<_>>(), [994, 997, 1_000]);
        assert_eq!(plan.genesis_timestamp(), 994 - 3 - 4 * 3);
    }

    #[test]
    fn older_blocks_are_spread_over_days() {
        let plan = HistoryPlan { transactions: 2_400, end: 2_000_000_000, block_seconds: 2, days: 20 };
        let times: Vec<u64> = plan.timestamps().collect();
        assert!(times.is_sorted_by(|before, after| before < after));
        assert_eq!((times.len(), times.last()), (300, Some(&2_000_000_000)));
        assert_eq!(times[199], 2_000_000_000 - RECENT_BLOCKS * 2);
        assert_eq!(times[199] - times[0], 199 * DAY / 10);
        assert!(plan.genesis_timestamp() < times[0]);
    }
}
