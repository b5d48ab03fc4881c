use alloy_primitives::Address;

use crate::{Block, Pool, TradeEvent, Transaction, TransferEvent};

/// All that one block adds to the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockChanges {
    pub block: Block,
    /// In the order of the block.
    pub transactions: Vec<Transaction>,
    /// Who took part in a transaction without sending or receiving it, ordered by transaction, each once.
    pub involved: Vec<Involvement>,
    /// In the order of the block's logs.
    pub transfers: Vec<TransferEvent>,
    /// Whose balance of a token changed by an event that is no transfer, such as a deposit of the wrapped coin.
    pub touched_holders: Vec<TouchedHolder>,
    /// In the order of the block's logs; each names a pool that stands in `pools` or in an earlier block's.
    pub trades: Vec<TradeEvent>,
    /// Pools that trade in this block. One that the index knows already does no harm.
    pub pools: Vec<Pool>,
    /// Contracts that other contracts made, in the order of their making; None where nobody told. Who made and who was
    /// made stand in `involved` as well.
    pub inner_creations: Option<Vec<InnerCreation>>,
}

/// A contract that was made on the way, inside a call of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InnerCreation {
    /// Position of the transaction in its block.
    pub tx_index: u32,
    /// The contract that made it.
    pub creator: Address,
    pub created: Address,
}

/// An address that a transaction reached without being its sender or receiver: a contract it created, a contract that
/// emitted a log on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Involvement {
    pub tx_index: u32,
    pub address: Address,
}

/// A sign that a balance changed, whatever the amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TouchedHolder {
    pub token: Address,
    pub holder: Address,
}
