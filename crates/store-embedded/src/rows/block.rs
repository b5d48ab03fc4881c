use alloy_primitives::{Address, B256};
use domain::{Block, BlockNumber};
use store::{ChainTotals, StoreError};

use crate::{
    codec::{RowReader, RowWriter},
    keys::AddressId,
};

/// Increased by every change of these rows that other versions cannot read.
pub(super) const LAYOUT: u32 = 1;

impl RowWriter {
    pub(crate) fn totals(&mut self, totals: &ChainTotals) {
        self.varint(totals.transactions);
        self.varint(totals.addresses);
        self.varint(totals.transfers);
        self.varint(totals.trades);
        self.varint(totals.logs);
        self.varint(totals.log_topics);
        self.varint(totals.log_sources);
        self.varint(totals.tokens);
        self.varint(totals.nfts);
        self.varint(totals.approvals);
        self.varint(totals.credits);
        self.varint(totals.filled_blocks);
        self.varint(totals.untraced_blocks);
        self.amount(&totals.gas_prices);
        self.varint(totals.unpriced_transactions);
        self.varint(totals.gas_used);
        self.amount(&totals.fees);
        self.amount(&totals.burnt_fees);
        self.varint(totals.contracts);
        self.varint(totals.active_addresses);
    }
}

impl RowReader<'_> {
    pub(crate) fn totals(&mut self) -> Result<ChainTotals, StoreError> {
        Ok(ChainTotals {
            transactions: self.varint()?,
            addresses: self.varint()?,
            transfers: self.varint()?,
            trades: self.varint()?,
            logs: self.varint()?,
            log_topics: self.varint()?,
            log_sources: self.varint()?,
            tokens: self.varint()?,
            nfts: self.varint()?,
            approvals: self.varint()?,
            credits: self.varint()?,
            filled_blocks: self.varint()?,
            untraced_blocks: self.varint()?,
            gas_prices: self.amount()?,
            unpriced_transactions: self.varint()?,
            gas_used: self.varint()?,
            fees: self.amount()?,
            burnt_fees: self.amount()?,
            contracts: self.varint()?,
            active_addresses: self.varint()?,
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlockRow {
    /// The totals before this block.
    pub(crate) totals: ChainTotals,
    pub(crate) hash: B256,
    pub(crate) timestamp: u64,
    pub(crate) tx_count: u32,
    pub(crate) miner: AddressId,
    pub(crate) parent_hash: B256,
    gas_used: u64,
    gas_limit: u64,
    pub(crate) base_fee_per_gas: Option<u128>,
    size: u64,
}

impl BlockRow {
    pub(crate) fn new(block: &Block, miner: AddressId, totals: ChainTotals) -> Self {
        Self {
            totals,
            hash: block.hash,
            timestamp: block.timestamp,
            tx_count: block.tx_count,
            miner,
            parent_hash: block.parent_hash,
            gas_used: block.gas_used,
            gas_limit: block.gas_limit,
            base_fee_per_gas: block.base_fee_per_gas,
            size: block.size,
        }
    }

    /// Whether these are the totals before the next block, as far as the header says.
    pub(crate) fn leads_to(&self, next: &ChainTotals) -> bool {
        self.totals.transactions + u64::from(self.tx_count) == next.transactions
            && self.totals.gas_used.wrapping_add(self.gas_used) == next.gas_used
    }

    pub(crate) fn to_block(&self, number: BlockNumber, miner: Address) -> Block {
        Block {
            number,
            hash: self.hash,
            parent_hash: self.parent_hash,
            timestamp: self.timestamp,
            miner,
            tx_count: self.tx_count,
            gas_used: self.gas_used,
            gas_limit: self.gas_limit,
            base_fee_per_gas: self.base_fee_per_gas,
            size: self.size,
        }
    }

    pub(crate) fn to_row(&self) -> Vec<u8> {
        let mut row = RowWriter::with_capacity(192);
        row.totals(&self.totals);
        row.bytes(self.hash.as_slice());
        row.bytes(self.parent_hash.as_slice());
        row.varint(self.timestamp);
        row.varint(self.tx_count);
        row.varint(self.miner);
        row.varint(self.gas_used);
        row.varint(self.gas_limit);
        row.varint(self.size);
        // 0 if absent, else the fee plus one.
        // No chain has as many coins as a fee of 2^128 - 1 for one unit of gas.
        row.varint(self.base_fee_per_gas.map_or(0, |fee| fee.saturating_add(1)));
        row.finish()
    }

    pub(crate) fn from_row(row: &[u8]) -> Result<Self, StoreError> {
        let mut row = RowReader::new(row);
        Ok(Self {
            totals: row.totals()?,
            hash: row.hash()?,
            parent_hash: row.hash()?,
            timestamp: row.varint()?,
            tx_count: row.varint()?,
            miner: row.varint()?,
            gas_used: row.varint()?,
            gas_limit: row.varint()?,
            size: row.varint()?,
            base_fee_per_gas: row.wide_varint()?.checked_sub(1),
        })
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::U256;

    use super::*;

    /// The totals of a busy chain after some years.
    fn totals_of_years() -> ChainTotals {
        ChainTotals {
            transactions: 9_000_000_000,
            addresses: 800_000_000,
            transfers: 12_000_000_000,
            trades: 900_000_000,
            logs: 25_000_000_000,
            log_topics: 1_500_000_000,
            log_sources: 60_000_000,
            tokens: 5_000_000,
            nfts: 300_000_000,
            approvals: 600_000_000,
            credits: 90_000_000,
            filled_blocks: 60_000_000,
            untraced_blocks: 0,
            gas_prices: U256::from(9_000_000_000_u64) * U256::from(5_000_000_000_u64),
            ..ChainTotals::default()
        }
    }

    fn row_of(totals: ChainTotals) -> BlockRow {
        let block = Block {
            number: 60_000_000,
            tx_count: 180,
            gas_used: 21_000_000,
            gas_limit: 140_000_000,
            base_fee_per_gas: Some(1_000_000_000),
            size: 77_012,
            ..Block::sample()
        };
        BlockRow::new(&block, 40, totals)
    }

    #[test]
    fn figures_of_days_take_some_forty_bytes_of_a_row() {
        let before = row_of(totals_of_years());
        let coin = U256::from(10).pow(U256::from(18));
        let after = row_of(ChainTotals {
            gas_used: 1_200_000_000_000_000,
            fees: U256::from(6_000_000) * coin,
            burnt_fees: U256::from(4_000_000) * coin,
            contracts: 90_000_000,
            active_addresses: 3_000_000_000,
            ..totals_of_years()
        });
        assert_eq!(BlockRow::from_row(&after.to_row()).unwrap(), after);
        // Five bytes of the shorter row are zeros of the same fields.
        assert_eq!((before.to_row().len() - 5, after.to_row().len()), (156, 197));
    }

    #[test]
    fn totals_that_do_not_follow_from_the_header_are_noticed() {
        let row = row_of(totals_of_years());
        let next = ChainTotals { transactions: row.totals.transactions + 180, gas_used: 21_000_000, ..row.totals };
        assert!(row.leads_to(&next));
        assert!(!row.leads_to(&ChainTotals { transactions: next.transactions + 1, ..next }));
        assert!(!row.leads_to(&ChainTotals { gas_used: 0, ..next }));
    }
}
