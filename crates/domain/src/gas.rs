use std::collections::HashMap;

use crate::{Block, BlockNumber, Transaction};

/// What recent transactions paid for gas, in wei.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecentGas {
    /// The newest block.
    pub block: BlockNumber,
    /// Of the newest block; None on a chain without base fees.
    pub base_fee: Option<u128>,
    /// Above the base fee of their blocks. None without recent transactions.
    pub priority_fees: Option<Quartiles>,
    /// How many transactions the priority fees are of.
    pub transactions: usize,
}

/// A quarter, half and three quarters of the values are at most these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quartiles {
    pub low: u128,
    pub median: u128,
    pub high: u128,
}

impl RecentGas {
    /// Blocks that are recent.
    pub const BLOCKS: u32 = 20;
    /// Of these blocks, the newest ones.
    pub const MAX_TRANSACTIONS: u32 = 500;

    /// From the newest blocks, the newest first, and the newest transactions: those of other blocks do not count. None without
    /// blocks.
    #[must_use]
    pub fn of(blocks: &[Block], transactions: &[Transaction]) -> Option<Self> {
        let newest = blocks.first()?;
        let base_fees: HashMap<BlockNumber, u128> =
            blocks.iter().map(|block| (block.number, block.base_fee_per_gas.unwrap_or_default())).collect();
        let priority = |tx: &Transaction| Some(tx.gas_price.saturating_sub(*base_fees.get(&tx.block_number)?));
        let mut fees: Vec<u128> = transactions.iter().filter(|tx| tx.is_priced()).filter_map(priority).collect();
        fees.sort_unstable();
        Some(Self {
            block: newest.number,
            base_fee: newest.base_fee_per_gas,
            priority_fees: Quartiles::of(&fees),
            transactions: fees.len(),
        })
    }
}

impl Quartiles {
    fn of(sorted: &[u128]) -> Option<Self> {
        let last = sorted.len().checked_sub(1)?;
        let at = |quarters: usize| sorted.get(last * quarters / 4).copied();
        Some(Self { low: at(1)?, median: at(2)?, high: at(3)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_are_values_that_were_paid() {
        assert_eq!(Quartiles::of(&[]), None);
        assert_eq!(Quartiles::of(&[7]), Some(Quartiles { low: 7, median: 7, high: 7 }));
        let fees: Vec<u128> = (0..=100).collect();
        assert_eq!(Quartiles::of(&fees), Some(Quartiles { low: 25, median: 50, high: 75 }));
    }
}
