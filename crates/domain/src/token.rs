use alloy_primitives::{Address, U256, Uint};

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

/// An amount of a token. Wide enough for the sum of many ids' amounts, each of which may fill 256 bits.
pub type Balance = Uint<320, 5>;

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
    /// The newest block at which balances were compared with what the contract says.
    pub audited_block: Option<BlockNumber>,
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

/// Who holds how much of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    pub address: Address,
    pub balance: Balance,
}

/// How much of a token someone holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenBalance {
    pub token: Token,
    pub balance: Balance,
}

/// A holder of a token whose balance events do not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BalanceQuestion {
    pub token: Address,
    pub holder: Address,
}

/// Balances of a token as its events add up to, to be compared with what its contract says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditSample {
    pub token: Address,
    pub holders: Vec<Holder>,
}

/// How a comparison came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditVerdict {
    AddsUp,
    DoesNotAddUp,
}
