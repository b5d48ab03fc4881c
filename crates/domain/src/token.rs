use alloy_primitives::{Address, U256, Uint};

use crate::{BlockNumber, BlockRef, Coverage};

crate::all_variants! {
    /// The token standard.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum TokenKind {
        /// Fungible (ERC-20).
        Bep20,
        /// Non-fungible (ERC-721).
        Bep721,
        /// Multi-token (ERC-1155).
        Bep1155,
    }
}

/// An amount of a token, wide enough for the sum over many ids of 256 bits each.
pub type Balance = Uint<320, 5>;

/// A token, with data from the index and from the node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub address: Address,
    pub kind: TokenKind,
    pub metadata: TokenMetadata,
    /// Addresses with a balance above zero, except the zero address.
    pub holder_count: u64,
    /// Number of transfers.
    pub transfer_count: u64,
    /// What all holders have together by transfers: the ids of a BEP721 that have an owner, the units of all ids of a BEP1155.
    pub held: Balance,
    pub balance_source: BalanceSource,
    /// The latest block at which balances were compared with the contract.
    pub audited_block: Option<BlockNumber>,
}

impl Token {
    /// What the contract says; what holders have, if it does not say and the index has all transfers and they add up. None if
    /// that is not known.
    #[must_use]
    pub fn total_supply(&self, coverage: Coverage) -> Option<Balance> {
        if !self.metadata.is_read() {
            return None;
        }
        let by_transfers = coverage.is_complete() && self.balance_source == BalanceSource::Events;
        self.metadata.total_supply.map(Balance::from).or(by_transfers.then_some(self.held))
    }
}

/// Metadata from the token's contract.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TokenMetadata {
    /// Empty if the contract has none, or if it was not read yet.
    pub name: String,
    /// Empty if the contract has none, or if it was not read yet.
    pub symbol: String,
    /// None if the contract has none, or if it was not read yet.
    pub decimals: Option<u8>,
    /// None if the contract has none, or if it was not read yet.
    pub total_supply: Option<U256>,
    /// The block at which it was read; None if it was not read yet.
    pub requested_at: Option<BlockNumber>,
}

impl TokenMetadata {
    /// Whether it was read from the contract. Otherwise nothing is known.
    #[must_use]
    pub fn is_read(&self) -> bool {
        self.requested_at.is_some()
    }

    /// None if it was not read yet.
    #[must_use]
    pub fn known_name(&self) -> Option<&str> {
        self.is_read().then_some(&self.name)
    }

    /// None if it was not read yet.
    #[must_use]
    pub fn known_symbol(&self) -> Option<&str> {
        self.is_read().then_some(&self.symbol)
    }
}

/// Where a token's balances come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BalanceSource {
    /// Summed from transfer events.
    Events,
    /// Read from the contract, since its events are inconsistent.
    Calls,
}

/// A token whose metadata has to be read from the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingToken {
    pub token: Address,
    pub kind: TokenKind,
}

/// A holder of a token and its balance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    pub address: Address,
    pub balance: Balance,
}

/// A token and the balance of one holder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenBalance {
    pub token: Token,
    pub balance: Balance,
}

/// A balance of a token at a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenBalanceAt {
    pub token: Token,
    /// As far as it is known: one that is read from the contract may lag behind the block.
    pub balance: Balance,
    pub block: BlockRef,
}

/// Identifies a balance: of a token, and of one holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BalanceKey {
    pub token: Address,
    pub holder: Address,
}

/// Balances from events, to be compared with the contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditSample {
    pub token: Address,
    pub holders: Vec<Holder>,
}

/// The result of the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditResult {
    AddsUp,
    DoesNotAddUp,
}
