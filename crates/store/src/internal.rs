use async_trait::async_trait;
use domain::{BlockNumber, InternalBlock, InternalFrontier, TracedRange};

use crate::StoreError;

/// Writes internal transactions. They are traced behind the tip, from a first block on in both directions: upwards to the tip,
/// and downwards to the first block of the index. A revert removes them together with their blocks.
#[async_trait]
pub trait InternalWriter: Send + Sync {
    /// The next blocks to trace; None for an empty index.
    async fn internal_frontier(&self) -> Result<Option<InternalFrontier>, StoreError>;

    /// Stores the internal transactions of blocks, each of which must be the next one in its direction. Returns how many
    /// blocks were stored: it stops at the first one that is not next or no longer indexed, after a reorg for example.
    async fn save_internal(&mut self, blocks: Vec<InternalBlock>) -> Result<usize, StoreError>;

    /// Gives up the blocks from the upper frontier to `last`, which cannot be traced: from now on, the internal
    /// transactions are complete only above it.
    async fn skip_internal(&mut self, last: BlockNumber) -> Result<(), StoreError>;
}

/// How far internal transactions are indexed, and how many there are on both sides of the first traced block. The ids of
/// both sides only grow, so that lists of them are only appended to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InternalProgress {
    /// The first block of the upper side. No block below it can be reverted.
    pub anchor: BlockNumber,
    /// The next block of the upper side.
    pub above: BlockNumber,
    /// The next block of the lower side; None if there are no more.
    pub below: Option<BlockNumber>,
    /// The first and the last block of the upper side that were given up.
    pub gap: Option<(BlockNumber, BlockNumber)>,
    pub above_count: u64,
    pub below_count: u64,
}

impl InternalProgress {
    /// Before the first trace. Starting at the lowest block that can be reverted, no revert reaches the lower side.
    #[must_use]
    pub fn start(oldest_revertible: BlockNumber) -> Self {
        let anchor = oldest_revertible + 1;
        Self { anchor, above: anchor, below: Some(oldest_revertible), gap: None, above_count: 0, below_count: 0 }
    }

    #[must_use]
    pub fn frontier(&self) -> InternalFrontier {
        InternalFrontier { above: self.above, below: self.below }
    }

    /// `first_block` is that of the index.
    #[must_use]
    pub fn traced_range(&self, first_block: BlockNumber) -> Option<TracedRange> {
        let lowest = self.below.map_or(first_block, |below| below + 1);
        let from = self.gap.map_or(lowest, |(_, last)| last + 1);
        (from < self.above).then(|| TracedRange { from, to: self.above - 1 })
    }

    /// The lowest block that was traced or given up.
    #[must_use]
    pub fn lowest(&self, first_block: BlockNumber) -> BlockNumber {
        self.below.map_or(first_block, |below| below + 1)
    }

    /// Moves the lower frontier past the block that was stored.
    pub(crate) fn step_down(&mut self, first_block: BlockNumber) {
        self.below = self.below.and_then(|below| below.checked_sub(1)).filter(|next| *next >= first_block);
    }

    /// Gives up the blocks from the upper frontier to `last`.
    pub fn skip(&mut self, last: BlockNumber) {
        let first = self.gap.map_or(self.above, |(first, _)| first);
        self.gap = Some((first, last));
        self.above = last + 1;
    }

    /// The state when `number` is the tip. `above_count` is the number of entries of the upper side up to it.
    #[must_use]
    pub fn reverted(self, number: BlockNumber, above_count: u64) -> Self {
        let gap = self.gap.filter(|(first, _)| *first <= number).map(|(first, last)| (first, last.min(number)));
        Self { above: self.above.min(number + 1), gap, above_count, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn internal_transactions_are_complete_from_below_up_to_the_last_gap() {
        let mut progress = InternalProgress::start(10);
        assert_eq!(progress.traced_range(0), None);
        progress.above = 14;
        assert_eq!(progress.traced_range(0), Some(TracedRange { from: 11, to: 13 }));
        progress.step_down(9);
        assert_eq!((progress.below, progress.traced_range(9)), (Some(9), Some(TracedRange { from: 10, to: 13 })));
        progress.step_down(9);
        assert_eq!((progress.below, progress.traced_range(9)), (None, Some(TracedRange { from: 9, to: 13 })));
        progress.skip(15);
        assert_eq!(progress.traced_range(9), None);
        progress.above = 20;
        assert_eq!(progress.traced_range(9), Some(TracedRange { from: 16, to: 19 }));
        assert_eq!(progress.reverted(15, 0).traced_range(9), None);
        assert_eq!(
            progress.reverted(13, 0).traced_range(9),
            Some(TracedRange { from: 9, to: 13 }),
            "the gap is reverted"
        );
    }
}
