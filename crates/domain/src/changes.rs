use alloy_primitives::Address;

use crate::{ApprovalEvent, Block, CreditEvent, LogEvent, Pool, TradeEvent, Transaction, TransferEvent};

/// Everything that one block adds to the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockChanges {
    pub block: Block,
    /// In block order.
    pub transactions: Vec<Transaction>,
    /// Addresses involved in a transaction other than its sender and receiver, ordered by transaction, without duplicates.
    pub involved: Vec<Involvement>,
    /// In log order.
    pub logs: Vec<LogEvent>,
    /// In log order.
    pub transfers: Vec<TransferEvent>,
    /// In log order.
    pub approvals: Vec<ApprovalEvent>,
    /// Holders whose balance changed by an event other than a transfer, such as a deposit of the wrapped coin.
    pub touched_holders: Vec<TouchedHolder>,
    /// In log order; the pool of each is in `pools` of this or an earlier block.
    pub trades: Vec<TradeEvent>,
    /// Pools with trades in this block; may include pools that are already indexed.
    pub pools: Vec<Pool>,
    /// Contracts created by other contracts, in order of creation; None if the block was not traced. Creators and created
    /// contracts are in `involved` as well.
    pub inner_creations: Option<Vec<InnerCreation>>,
    /// What the protocol paid, after the transactions.
    pub credits: Vec<CreditEvent>,
}

impl BlockChanges {
    /// A block that adds nothing but itself and that was not traced, for tests.
    #[must_use]
    pub fn of(block: Block) -> Self {
        Self {
            block,
            transactions: Vec::new(),
            involved: Vec::new(),
            logs: Vec::new(),
            transfers: Vec::new(),
            approvals: Vec::new(),
            touched_holders: Vec::new(),
            trades: Vec::new(),
            pools: Vec::new(),
            inner_creations: None,
            credits: Vec::new(),
        }
    }
}

/// A contract created inside a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InnerCreation {
    /// Position of the transaction in its block.
    pub tx_index: u32,
    /// The contract that created it.
    pub creator: Address,
    pub created: Address,
}

/// An address involved in a transaction other than its sender and receiver: a created contract, or a contract that emitted
/// a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Involvement {
    pub tx_index: u32,
    pub address: Address,
}

/// A holder whose balance changed by an unknown amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TouchedHolder {
    pub token: Address,
    pub holder: Address,
}
