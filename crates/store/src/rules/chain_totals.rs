//! Running totals of the chain, from which figures of days follow.

use domain::{DayFigures, Fee, Transaction, U256};

/// Cumulative counts along the chain, at a position between two blocks. They are also the next ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ChainTotals {
    pub transactions: u64,
    pub addresses: u64,
    pub transfers: u64,
    pub trades: u64,
    pub logs: u64,
    /// Distinct topics of logs.
    pub log_topics: u64,
    /// Emitters with a first topic.
    pub log_sources: u64,
    pub tokens: u64,
    pub nfts: u64,
    pub approvals: u64,
    /// What the protocol paid.
    pub credits: u64,
    /// Blocks with transactions.
    pub filled_blocks: u64,
    /// Blocks whose inner creations are unknown.
    pub untraced_blocks: u64,
    /// Sum of the gas prices of the transactions that have one in the chain's coin.
    pub gas_prices: U256,
    /// Transactions without one: deposits, those of the chain itself, and those that pay in a token.
    pub unpriced_transactions: u64,
    /// Gas used by all blocks. It wraps, as sums of fees do: figures are differences, which stay right.
    pub gas_used: u64,
    pub fees: U256,
    pub burnt_fees: U256,
    /// Creations of contracts that are known.
    pub contracts: u64,
    /// For each day, the addresses that were active on it.
    pub active_addresses: u64,
}

impl ChainTotals {
    /// The mean gas price from a position up to this one, rounded down; None without a transaction that has a price.
    #[must_use]
    pub fn mean_gas_price_since(&self, before: &Self) -> Option<U256> {
        let priced = |totals: &Self| totals.transactions - totals.unpriced_transactions;
        (self.gas_prices - before.gas_prices).checked_div(U256::from(priced(self) - priced(before)))
    }

    /// Adds what a transaction paid, in a block with this base fee.
    pub(crate) fn add_fee(&mut self, tx: &Transaction, base_fee: Option<u128>) {
        let fee = Fee::of(tx, base_fee);
        self.fees += fee.in_coin();
        self.burnt_fees += fee.burnt();
        if tx.is_priced() {
            self.gas_prices += U256::from(tx.gas_price);
        } else {
            self.unpriced_transactions += 1;
        }
    }

    /// Adds what a block used, according to its header.
    pub(crate) fn add_gas(&mut self, used: u64) {
        self.gas_used = self.gas_used.wrapping_add(used);
    }

    /// The figures of the day that begins at `start` and ends here, given its blocks and the totals at its start.
    #[must_use]
    pub fn figures_of_day(&self, start: u64, blocks: u64, before: &Self) -> DayFigures {
        let transactions = self.transactions - before.transactions;
        DayFigures {
            start,
            blocks,
            transactions,
            transfers: self.transfers - before.transfers,
            trades: self.trades - before.trades,
            logs: self.logs - before.logs,
            active_addresses: self.active_addresses - before.active_addresses,
            new_addresses: self.addresses - before.addresses,
            new_tokens: self.tokens - before.tokens,
            new_contracts: self.contracts - before.contracts,
            untraced_blocks: self.untraced_blocks - before.untraced_blocks,
            gas_used: self.gas_used.wrapping_sub(before.gas_used),
            fees: self.fees - before.fees,
            burnt_fees: self.burnt_fees - before.burnt_fees,
            mean_gas_price: self.mean_gas_price_since(before),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_total_of_gas_that_does_not_fit_leaves_the_figures_of_days_right() {
        let before = ChainTotals { gas_used: u64::MAX - 5, ..ChainTotals::default() };
        let mut after = before;
        after.add_gas(7);
        after.add_gas(21_000);
        assert_eq!(after.figures_of_day(0, 2, &before).gas_used, 21_007);
    }
}
