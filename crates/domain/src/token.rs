use alloy_primitives::{Address, U256};

use crate::BlockNumber;

/// The standard that a token's events follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// Amounts that are alike (ERC-20).
    Bep20,
    /// Single pieces, each with an id (ERC-721).
    Bep721,
    /// Amounts of many ids (ERC-1155).
    Bep1155,
}

/// A token as the index and the node together know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub address: Address,
    pub kind: TokenKind,
    pub facts: TokenFacts,
    /// Addresses with a balance above zero, the zero address left out.
    pub holder_count: u64,
    /// Transfers of this token.
    pub transfer_count: u64,
    pub balance_source: BalanceSource,
}

/// What a token's contract says of itself. Whatever it does not say sensibly is empty or zero.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TokenFacts {
    pub name: String,
    pub symbol: String,
    pub decimals: u8,
    pub total_supply: U256,
    /// The block at which it was asked; None: not asked yet.
    pub asked_at: Option<BlockNumber>,
}

/// Where a token's balances come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BalanceSource {
    /// Added up from transfers.
    Events,
    /// Its events do not add up: asked of the contract.
    Calls,
}

/// What the index wants to be asked about a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenQuestion {
    pub token: Address,
    pub kind: TokenKind,
}
