//! Figures of days. Block rows contain cumulative totals, so that those of a day are the difference between two blocks, and
//! nothing has to be stored per day.

use std::ops::Range;

use domain::{BlockNumber, DAY, DayFigures};
use store::StoreError;

use super::snapshot::ReadSnapshot;
use crate::meta::Tip;

impl ReadSnapshot {
    /// The latest days up to that of the tip, the oldest first.
    pub(crate) fn list_days(&self, count: u32) -> Result<Vec<DayFigures>, StoreError> {
        let Some(tip) = self.tip() else { return Ok(Vec::new()) };
        let last = self.block_row(tip.block.number)?.timestamp / DAY;
        let first = self.block_row(tip.start_block)?.timestamp / DAY;
        let (mut end, mut after) = (tip.block.number + 1, tip.totals);
        let mut blocks_of_next = 1;
        let mut days = Vec::new();
        for day in (first..=last).rev().take(usize::try_from(count).unwrap_or(usize::MAX)) {
            let start = self.first_block_since(day * DAY, tip, end, blocks_of_next)?;
            let before = self.totals_before(start)?;
            days.push(after.figures_of_day(day * DAY, end - start, &before));
            blocks_of_next = end - start;
            (end, after) = (start, before);
        }
        days.reverse();
        Ok(days)
    }

    /// The first block below `end` with this time or a later one; `end` if none has it. `guess` is how far below it may be.
    fn first_block_since(&self, time: u64, tip: &Tip, end: BlockNumber, guess: u64) -> Result<BlockNumber, StoreError> {
        let is_since = |number: BlockNumber| Ok::<bool, StoreError>(self.block_row(number)?.timestamp >= time);
        // Exponential search backwards: days of a chain have about as many blocks as the next one.
        let (mut low, mut high) = (tip.start_block, end);
        let mut stride = guess.max(1);
        while let Some(probe) = end.checked_sub(stride).filter(|probe| *probe > low) {
            if !is_since(probe)? {
                low = probe + 1;
                break;
            }
            high = probe;
            stride = stride.saturating_mul(2);
        }
        first_since(low..high, is_since)
    }
}

/// The first block of a range that is late enough; its end if none is.
pub(crate) fn first_since(
    blocks: Range<BlockNumber>,
    is_since: impl Fn(BlockNumber) -> Result<bool, StoreError>,
) -> Result<BlockNumber, StoreError> {
    let Range { start: mut low, end: mut high } = blocks;
    while low < high {
        let middle = low + (high - low) / 2;
        if is_since(middle)? {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Ok(low)
}
