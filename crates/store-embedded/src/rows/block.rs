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
        let mut row = RowWriter::with_capacity(128);
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
