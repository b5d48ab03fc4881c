use alloy_primitives::{Address, B256, U256};
use domain::{Block, BlockNumber};
use store::StoreError;

use crate::{
    codec::{RowReader, RowWriter},
    keys::{AddressId, ApprovalId, LogId, NftId, SourceId, TopicId, TradeId, TransferId, TxId},
};

/// Cumulative counts along the chain, at a position between two blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Totals {
    pub(crate) transactions: TxId,
    pub(crate) addresses: AddressId,
    pub(crate) transfers: TransferId,
    pub(crate) trades: TradeId,
    pub(crate) logs: LogId,
    /// Distinct topics of logs.
    pub(crate) log_topics: TopicId,
    /// Emitters with a first topic.
    pub(crate) log_sources: SourceId,
    pub(crate) tokens: u64,
    pub(crate) nfts: NftId,
    pub(crate) approvals: ApprovalId,
    /// Blocks with transactions.
    pub(crate) filled_blocks: u64,
    /// Blocks whose inner creations are unknown.
    pub(crate) untraced_blocks: u64,
    /// Sum of the gas prices of all transactions.
    pub(crate) gas_prices: U256,
    /// Gas used by all blocks.
    pub(crate) gas_used: u64,
    pub(crate) fees: U256,
    pub(crate) burnt_fees: U256,
    /// Creations of contracts that are known.
    pub(crate) contracts: u64,
    /// For each day, the addresses that were active on it.
    pub(crate) active_addresses: u64,
}

impl Totals {
    pub(crate) fn write(&self, row: &mut RowWriter) {
        row.varint(self.transactions);
        row.varint(self.addresses);
        row.varint(self.transfers);
        row.varint(self.trades);
        row.varint(self.logs);
        row.varint(self.log_topics);
        row.varint(self.log_sources);
        row.varint(self.tokens);
        row.varint(self.nfts);
        row.varint(self.approvals);
        row.varint(self.filled_blocks);
        row.varint(self.untraced_blocks);
        row.amount(&self.gas_prices);
        row.varint(self.gas_used);
        row.amount(&self.fees);
        row.amount(&self.burnt_fees);
        row.varint(self.contracts);
        row.varint(self.active_addresses);
    }

    pub(crate) fn read(row: &mut RowReader<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            transactions: row.varint()?,
            addresses: row.varint()?,
            transfers: row.varint()?,
            trades: row.varint()?,
            logs: row.varint()?,
            log_topics: row.varint()?,
            log_sources: row.varint()?,
            tokens: row.varint()?,
            nfts: row.varint()?,
            approvals: row.varint()?,
            filled_blocks: row.varint()?,
            untraced_blocks: row.varint()?,
            gas_prices: row.amount()?,
            gas_used: row.varint()?,
            fees: row.amount()?,
            burnt_fees: row.amount()?,
            contracts: row.varint()?,
            active_addresses: row.varint()?,
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlockRow {
    /// The totals before this block.
    pub(crate) totals: Totals,
    pub(crate) hash: B256,
    pub(crate) timestamp: u64,
    pub(crate) tx_count: u32,
    pub(crate) miner: AddressId,
    pub(crate) parent_hash: B256,
    gas_used: u64,
    gas_limit: u64,
    base_fee_per_gas: Option<u128>,
    size: u64,
}

impl BlockRow {
    pub(crate) fn new(block: &Block, miner: AddressId, totals: Totals) -> Self {
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
    pub(crate) fn leads_to(&self, next: &Totals) -> bool {
        let burnt = U256::from(self.base_fee_per_gas.unwrap_or_default()) * U256::from(self.gas_used);
        self.totals.transactions + u64::from(self.tx_count) == next.transactions
            && self.totals.gas_used.saturating_add(self.gas_used) == next.gas_used
            && self.totals.burnt_fees + burnt == next.burnt_fees
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
        self.totals.write(&mut row);
        row.bytes(self.hash.as_slice());
        row.bytes(self.parent_hash.as_slice());
        row.varint(self.timestamp);
        row.varint(self.tx_count);
        row.varint(self.miner);
        row.varint(self.gas_used);
        row.varint(self.gas_limit);
        row.varint(self.size);
        // 0 if absent, else the fee plus one.
        row.varint(self.base_fee_per_gas.map_or(0, |fee| fee.saturating_add(1)));
        row.finish()
    }

    pub(crate) fn from_row(row: &[u8]) -> Result<Self, StoreError> {
        let mut row = RowReader::new(row);
        Ok(Self {
            totals: Totals::read(&mut row)?,
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
    use super::*;

    /// The totals of a busy chain after some years.
    fn totals_of_years() -> Totals {
        Totals {
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
            filled_blocks: 60_000_000,
            untraced_blocks: 0,
            gas_prices: U256::from(9_000_000_000_u64) * U256::from(5_000_000_000_u64),
            ..Totals::default()
        }
    }

    fn row_of(totals: Totals) -> BlockRow {
        let block = Block {
            number: 60_000_000,
            hash: B256::repeat_byte(7),
            parent_hash: B256::repeat_byte(6),
            timestamp: 1_790_000_000,
            miner: Address::ZERO,
            tx_count: 180,
            gas_used: 21_000_000,
            gas_limit: 140_000_000,
            base_fee_per_gas: Some(1_000_000_000),
            size: 77_012,
        };
        BlockRow::new(&block, 40, totals)
    }

    #[test]
    fn figures_of_days_take_some_forty_bytes_of_a_row() {
        let before = row_of(totals_of_years());
        let coin = U256::from(10).pow(U256::from(18));
        let after = row_of(Totals {
            gas_used: 1_200_000_000_000_000,
            fees: U256::from(6_000_000) * coin,
            burnt_fees: U256::from(4_000_000) * coin,
            contracts: 90_000_000,
            active_addresses: 3_000_000_000,
            ..totals_of_years()
        });
        assert_eq!(BlockRow::from_row(&after.to_row()).unwrap(), after);
        // Five bytes of the shorter row are zeros of the same fields.
        assert_eq!((before.to_row().len() - 5, after.to_row().len()), (151, 192));
    }

    #[test]
    fn totals_that_do_not_follow_from_the_header_are_noticed() {
        let row = row_of(totals_of_years());
        let next = Totals {
            transactions: row.totals.transactions + 180,
            gas_used: 21_000_000,
            burnt_fees: U256::from(21_000_000_000_000_000_u64),
            ..row.totals
        };
        assert!(row.leads_to(&next));
        assert!(!row.leads_to(&Totals { transactions: next.transactions + 1, ..next }));
        assert!(!row.leads_to(&Totals { gas_used: 0, ..next }));
        assert!(!row.leads_to(&Totals { burnt_fees: U256::ZERO, ..next }));
    }
}
