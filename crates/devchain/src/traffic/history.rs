//! When the blocks of a history are made.

use super::deploy::DEPLOYMENT_BLOCKS;

/// Transactions in a block of a history, on average.
const TRANSACTIONS_PER_BLOCK: u64 = 8;

/// A past of evenly spaced blocks that ends at a given time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryPlan {
    /// How many transactions it is to have, give or take two.
    pub transactions: u64,
    /// The time of the last block, in unix seconds.
    pub end: u64,
    /// Seconds from block to block; the chain's own `block_seconds` should be the same.
    pub block_seconds: u64,
}

impl HistoryPlan {
    pub fn blocks(&self) -> u64 {
        self.transactions.div_ceil(TRANSACTIONS_PER_BLOCK)
    }

    /// The genesis time that leaves room for the deployment before the history.
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
