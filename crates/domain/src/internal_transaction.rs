use alloy_primitives::{Address, B256, U256};

use crate::{BlockNumber, BlockRange, BlockRef, Page};

crate::all_variants! {
    /// What a call inside a transaction did. Only calls that can move value are internal transactions: no delegate or static
    /// call.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum InternalKind {
        Call,
        Create,
        Create2,
        SelfDestruct,
        /// Coins that moved by a call, a creation or a self-destruct, known from a log of EIP-7708 and not from a trace.
        Transfer,
        /// Coins that were destroyed, known likewise.
        Burn,
    }
}

impl InternalKind {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Create => "create",
            Self::Create2 => "create2",
            Self::SelfDestruct => "selfdestruct",
            Self::Transfer => "transfer",
            Self::Burn => "burn",
        }
    }

    #[must_use]
    pub fn is_creation(self) -> bool {
        match self {
            Self::Create | Self::Create2 => true,
            Self::Call | Self::SelfDestruct | Self::Transfer | Self::Burn => false,
        }
    }

    /// Whether it is from a trace. A log tells neither the gas nor how coins moved.
    #[must_use]
    pub fn is_traced(self) -> bool {
        match self {
            Self::Call | Self::Create | Self::Create2 | Self::SelfDestruct => true,
            Self::Transfer | Self::Burn => false,
        }
    }
}

/// A call with a value, a contract creation or a self-destruct inside a transaction, from the trace of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InternalEvent {
    /// Position of the transaction in its block.
    pub tx_index: u32,
    /// Position among the internal transactions of the transaction, in the order of execution (depth first), from 0.
    pub position: u32,
    pub kind: InternalKind,
    pub from: Address,
    /// The receiver, or the created contract; None for a failed creation, and for coins that were destroyed.
    pub to: Option<Address>,
    pub value: U256,
    /// Zero, as is the next, if it is not from a trace.
    pub gas: u64,
    pub gas_used: u64,
    /// Why the call, or one that it is inside of, failed: then no value moved.
    pub error: Option<String>,
}

impl InternalEvent {
    /// The gas that was given; None if a log tells of it.
    #[must_use]
    pub fn known_gas(&self) -> Option<u64> {
        self.kind.is_traced().then_some(self.gas)
    }

    /// The gas that was used; None if a log tells of it, and if a failed call used none: lists of traces do not say what such a call
    /// used.
    #[must_use]
    pub fn known_gas_used(&self) -> Option<u64> {
        let is_told = self.error.is_none() || self.gas_used > 0;
        (self.kind.is_traced() && is_told).then_some(self.gas_used)
    }

    /// Whether coins moved.
    #[must_use]
    pub fn moves_value(&self) -> bool {
        self.error.is_none() && !self.value.is_zero()
    }

    #[must_use]
    pub fn touches(&self, address: &Address) -> bool {
        self.from == *address || self.to.as_ref() == Some(address)
    }
}

/// The internal transactions of a block, in the order of execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InternalBlock {
    pub block: BlockRef,
    pub events: Vec<InternalEvent>,
}

/// An internal transaction with its transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InternalTransaction {
    pub event: InternalEvent,
    pub tx_hash: B256,
    pub block_number: BlockNumber,
    /// Unix seconds.
    pub timestamp: u64,
}

/// The blocks whose internal transactions are all indexed. Those of other blocks may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TracedRange {
    pub from: BlockNumber,
    /// Inclusive.
    pub to: BlockNumber,
}

/// Internal transactions, and the blocks for which the list is complete; None if there are none yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InternalPage {
    pub page: Page<InternalTransaction>,
    pub traced_range: Option<TracedRange>,
}

/// The next blocks to trace, in both directions from the first traced block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InternalFrontier {
    /// May be above the tip.
    pub above: BlockNumber,
    /// None if every older block is traced.
    pub below: Option<BlockNumber>,
}

/// A filter of internal transactions: all conditions that are set must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InternalFilter {
    /// Sender or receiver.
    pub address: Option<Address>,
    pub from: Option<Address>,
    pub to: Option<Address>,
    pub transaction: Option<B256>,
    pub blocks: BlockRange,
}

impl InternalFilter {
    /// Internal transactions from or to an address.
    #[must_use]
    pub fn touching(address: Address) -> Self {
        Self { address: Some(address), ..Self::default() }
    }

    /// The internal transactions of a transaction.
    #[must_use]
    pub fn of(transaction: B256) -> Self {
        Self { transaction: Some(transaction), ..Self::default() }
    }

    /// The reference semantics of the filter; stores use an index.
    #[must_use]
    pub fn matches(&self, found: &InternalTransaction) -> bool {
        let event = &found.event;
        self.address.is_none_or(|address| event.touches(&address))
            && self.from.is_none_or(|from| event.from == from)
            && self.to.is_none_or(|to| event.to == Some(to))
            && self.transaction.is_none_or(|hash| found.tx_hash == hash)
            && self.blocks.contains(found.block_number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gas_that_no_trace_tells_is_unknown() {
        let event = |kind, gas_used, error: Option<&str>| InternalEvent {
            tx_index: 0,
            position: 0,
            kind,
            from: Address::ZERO,
            to: None,
            value: U256::ZERO,
            gas: 9,
            gas_used,
            error: error.map(str::to_owned),
        };
        let known = |event: InternalEvent| (event.known_gas(), event.known_gas_used());
        assert_eq!(known(event(InternalKind::Call, 0, None)), (Some(9), Some(0)));
        assert_eq!(known(event(InternalKind::Call, 3, Some("out of gas"))), (Some(9), Some(3)));
        assert_eq!(known(event(InternalKind::Call, 0, Some("out of gas"))), (Some(9), None));
        assert_eq!(known(event(InternalKind::Transfer, 0, None)), (None, None));
    }
}
