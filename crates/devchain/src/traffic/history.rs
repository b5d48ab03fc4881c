//! The schedule of a history.

use super::deploy::DEPLOYMENT_BLOCKS;

/// Average number of transactions per block.
const TRANSACTIONS_PER_BLOCK: u64 = 8;

/// A history of evenly spaced blocks that ends at a given time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryPlan {
    /// Approximate number of transactions; it may be exceeded by two.
    pub transactions: u64,
    /// The time of the last block, in unix seconds.
    pub end: u64,
    /// Seconds between blocks; should equal `block_seconds` of the chain.
    pub block_seconds: u64,
}

impl HistoryPlan {
    pub fn blocks(&self) -> u64 {
        self.transactions.div_ceil(TRANSACTIONS_PER_BLOCK)
    }

    /// A genesis time that is early enough for the deployment and the history.
    pub fn genesis_timestamp(&self) -> u64 {
        let span = (self.blocks() + DEPLOYMENT_BLOCKS) * self.block_seconds;
        self.end.saturating_sub(span)
    }

    /// The time of each block, oldest first.
    pub(super) fn timestamps(&self) -> impl Iterator<Item = u64> + use<> {
        let Self { end, block_seconds, .. } = *self;
        (0..self.blocks()).rev().map(move |left| end.saturating_sub(left * block_seconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_blocks_are_evenly_spaced_and_the_last_is_at_the_end() {
        let plan = HistoryPlan { transactions: 20, end: 1_000, block_seconds: 3 };
        assert_eq!(plan.timestamps().collect::<Vec<_>>(), [994, 997, 1_000]);
        assert_eq!(plan.genesis_timestamp(), 994 - 3 - 4 * 3);
    }
}
