use alloy_primitives::Address;

use crate::{BlockNumber, Transaction};

/// An inclusive range of block numbers; None means unbounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlockRange {
    pub from: Option<BlockNumber>,
    pub to: Option<BlockNumber>,
}

impl BlockRange {
    /// Every block.
    pub const ALL: Self = Self { from: None, to: None };
    /// No block.
    pub const EMPTY: Self = Self { from: Some(1), to: Some(0) };

    #[must_use]
    pub fn only(number: BlockNumber) -> Self {
        Self { from: Some(number), to: Some(number) }
    }

    #[must_use]
    pub fn contains(&self, number: BlockNumber) -> bool {
        self.from.is_none_or(|from| number >= from) && self.to.is_none_or(|to| number <= to)
    }
}

/// A filter of transactions: all conditions that are set must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TransactionFilter {
    /// Sender or receiver.
    pub address: Option<Address>,
    pub from: Option<Address>,
    pub to: Option<Address>,
    pub blocks: BlockRange,
}

impl TransactionFilter {
    /// Transactions from or to an address.
    #[must_use]
    pub fn touching(address: Address) -> Self {
        Self { address: Some(address), ..Self::default() }
    }

    /// The reference semantics of the filter; stores use an index.
    #[must_use]
    pub fn matches(&self, tx: &Transaction) -> bool {
        self.address.is_none_or(|address| tx.touches(&address))
            && self.from.is_none_or(|from| tx.from == from)
            && self.to.is_none_or(|to| tx.to == Some(to))
            && self.blocks.contains(tx.block_number)
    }
}
