use alloy_primitives::{Address, B256};

use crate::{BlockRef, CreationId, Token, TracedRange, Transaction};

/// What the index has about an address. Balance, nonce and code come from the node: see [`crate::Account`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressSummary {
    pub address: Address,
    /// Transactions from or to the address.
    pub tx_count: u64,
    /// Time of the first block that involves the address, unix seconds.
    pub first_seen: u64,
    /// Time of the latest block that involves the address, unix seconds.
    pub last_seen: u64,
    /// Set if an indexed transaction created a contract at this address.
    pub creation: Option<Creation>,
}

/// What the index has to name an address by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AddressFacts {
    /// Of the code, as far as it is indexed.
    pub code_hash: Option<B256>,
    /// Whether there was no code when it was looked for. Otherwise an address without a hash may have code.
    pub has_no_code: bool,
    /// None if it is not a token.
    pub token: Option<TokenName>,
}

/// From what the index knows an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddressOrigin {
    /// Blocks, transactions and logs, in the order of first appearance. A revert removes the last ones.
    Blocks,
    /// Internal transactions alone, in the order of tracing. No revert removes them.
    InternalTransactions,
}

/// Consecutive addresses of the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedAddresses {
    pub addresses: Vec<Address>,
    /// The position after the last one.
    pub next: u64,
    /// The position after all of them.
    pub end: u64,
}

/// What a token calls itself. Anyone can choose it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenName {
    pub symbol: String,
    pub name: String,
}

/// The creator of a contract, an account or another contract, and the transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Creation {
    pub creator: Address,
    pub tx_hash: B256,
    /// The block of the transaction.
    pub block_hash: B256,
}

impl Creation {
    /// Identifies the execution that created the contract.
    #[must_use]
    pub fn id(&self) -> CreationId {
        CreationId { tx_hash: self.tx_hash, block_hash: self.block_hash }
    }
}

/// An address with its latest transactions, as of one block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressOverview {
    /// The latest indexed block.
    pub tip: BlockRef,
    pub summary: AddressSummary,
    /// Token transfers from or to the address.
    pub transfer_count: u64,
    /// Trades that the address made; of a pool, its trades.
    pub trade_count: u64,
    /// Internal transactions from or to the address, as far as they are indexed.
    pub internal_tx_count: u64,
    /// Logs that the address emitted.
    pub log_count: u64,
    /// The blocks whose internal transactions are indexed.
    pub traced_range: Option<TracedRange>,
    /// The latest transactions from or to the address, newest first.
    pub recent: Vec<Transaction>,
    /// Set if the address is a token.
    pub token: Option<Token>,
}
