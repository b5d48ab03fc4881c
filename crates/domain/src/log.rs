use alloy_primitives::{Address, B256, Bytes};

use crate::{Block, Transaction};

/// An event that a contract emitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// Position of the transaction in its block.
    pub tx_index: u32,
    /// Position of the log in its block.
    pub log_index: u32,
    pub address: Address,
    pub topics: Vec<B256>,
    pub data: Bytes,
}

/// A block from a node: header, transactions with their receipts, and logs in chain order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedBlock {
    pub block: Block,
    pub transactions: Vec<Transaction>,
    pub logs: Vec<Log>,
}

impl FetchedBlock {
    /// Approximate memory of this block in bytes, for budgets.
    #[must_use]
    pub fn weight(&self) -> usize {
        let logs: usize = self.logs.iter().map(|log| size_of::<Log>() + log.topics.len() * 32 + log.data.len()).sum();
        size_of::<Block>() + self.transactions.len() * size_of::<Transaction>() + logs
    }
}
