use domain::{BlockGasPrice, BlockNumber, BlockRange, Stats, U256};
use store::{ChainTotals, StoreError};

use super::snapshot::ReadSnapshot;
use crate::meta::Tip;

/// Non-empty blocks included in the average gas price.
const GAS_PRICE_BLOCKS: u64 = 100;

impl ReadSnapshot {
    pub(crate) fn stats(&self) -> Result<Stats, StoreError> {
        let Some(tip) = self.tip() else { return Ok(Stats::default()) };
        Ok(Stats {
            latest_block: Some(tip.block.number),
            total_transactions: tip.totals.transactions,
            total_tokens: tip.totals.tokens,
            untraced_blocks: tip.totals.untraced_blocks,
            traced_range: self.traced_range()?,
            average_gas_price: self.average_gas_price(tip)?,
        })
    }

    /// Block rows contain cumulative totals, so the figures of one block are the difference to the next one.
    pub(crate) fn list_gas_prices(&self, blocks: u32) -> Result<Vec<BlockGasPrice>, StoreError> {
        let Some(tip) = self.tip() else { return Ok(Vec::new()) };
        let mut after = tip.totals;
        let newest = self.block_span(BlockRange::ALL).rev().take(usize::try_from(blocks).unwrap_or(usize::MAX));
        let price = |block: BlockNumber| {
            let before = self.totals_before(block)?;
            let mean = after.mean_gas_price_since(&before);
            after = before;
            Ok(BlockGasPrice { block, mean })
        };
        newest.map(price).collect()
    }

    fn average_gas_price(&self, tip: &Tip) -> Result<Option<U256>, StoreError> {
        let before = self.totals_before_newest_filled(tip)?;
        Ok(tip.totals.mean_gas_price_since(&before))
    }

    /// The totals before the newest hundred non-empty blocks. Block rows contain cumulative totals, so the block is
    /// found by search: a thousand empty blocks cost ten reads.
    fn totals_before_newest_filled(&self, tip: &Tip) -> Result<ChainTotals, StoreError> {
        let Some(target) = tip.totals.filled_blocks.checked_sub(GAS_PRICE_BLOCKS) else {
            return Ok(ChainTotals::default());
        };
        let filled_before =
            |number: BlockNumber| -> Result<u64, StoreError> { Ok(self.block_row(number)?.totals.filled_blocks) };

        // Exponential search backwards, then binary search. On most chains most blocks are non-empty, so the block is
        // near the tip.
        let (mut low, mut high) = (tip.start_block, tip.block.number);
        let mut stride = GAS_PRICE_BLOCKS;
        while let Some(probe) = tip.block.number.checked_sub(stride).filter(|probe| *probe > low) {
            if filled_before(probe)? <= target {
                low = probe;
                break;
            }
            high = probe;
            stride *= 2;
        }
        while low < high {
            let middle = high - (high - low) / 2;
            if filled_before(middle)? <= target {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        Ok(self.block_row(low)?.totals)
    }
}
