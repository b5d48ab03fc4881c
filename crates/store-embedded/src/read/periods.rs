//! Figures of days. Block rows contain cumulative totals, so that those of a day are the difference between two blocks, and
//! nothing has to be stored per day.

use domain::{BlockNumber, PeriodFigures, U256};
use store::StoreError;

use super::ReadSnapshot;
use crate::{meta::Tip, rows::Totals};

impl ReadSnapshot {
    /// The latest periods up to that of the tip, the oldest first.
    pub(crate) fn list_periods(&self, length: u64, count: u32) -> Result<Vec<PeriodFigures>, StoreError> {
        let (Some(tip), true) = (self.tip(), length > 0) else { return Ok(Vec::new()) };
        let last = self.block_row(tip.block.number)?.timestamp / length;
        let first = self.block_row(tip.start_block)?.timestamp / length;
        let (mut end, mut after) = (tip.block.number + 1, tip.totals);
        let mut blocks_of_next = 1;
        let mut periods = Vec::new();
        for period in (first..=last).rev().take(usize::try_from(count).unwrap_or(usize::MAX)) {
            let start = self.first_block_since(period * length, tip, end, blocks_of_next)?;
            let before = self.totals_before(start)?;
            periods.push(figures(period * length, end - start, &before, &after));
            blocks_of_next = end - start;
            (end, after) = (start, before);
        }
        periods.reverse();
        Ok(periods)
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
}

fn figures(start: u64, blocks: u64, before: &Totals, after: &Totals) -> PeriodFigures {
    let transactions = after.transactions - before.transactions;
    PeriodFigures {
        start,
        blocks,
        transactions,
        transfers: after.transfers - before.transfers,
        trades: after.trades - before.trades,
        logs: after.logs - before.logs,
        new_addresses: after.addresses - before.addresses,
        new_tokens: after.tokens - before.tokens,
        mean_gas_price: (after.gas_prices - before.gas_prices).checked_div(U256::from(transactions)),
    }
}
