use alloy_primitives::Address;

use crate::{Block, Transaction};

/// All that one block adds to the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockChanges {
    pub block: Block,
    /// In the order of the block.
    pub transactions: Vec<Transaction>,
    /// Who took part in a transaction without sending or receiving it, ordered by transaction, each once.
    pub involved: Vec<Involvement>,
}

/// An address that a transaction reached without being its sender or receiver: a contract it created, a contract that
/// emitted a log on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Involvement {
    pub tx_index: u32,
    pub address: Address,
}
