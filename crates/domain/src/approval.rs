use alloy_primitives::{Address, B256, U256};

use crate::{BlockNumber, TokenKind};

/// What an approval is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ApprovalScope {
    /// An amount of a BEP20 token.
    Amount,
    /// One id of a BEP721 token.
    Id(U256),
    /// All ids of a BEP721 or BEP1155 token.
    All,
}

/// An approval or its revocation, from the logs of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApprovalEvent {
    /// Position of the transaction in its block.
    pub tx_index: u32,
    /// Position of the log in its block.
    pub log_index: u32,
    pub token: Address,
    pub owner: Address,
    pub spender: Address,
    pub scope: ApprovalScope,
    /// The amount; for ids, 1 if approved and 0 if revoked.
    pub value: U256,
}

/// An approval that was not revoked, as its last event says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    pub token: Address,
    /// None if no transfer of the token is indexed.
    pub token_kind: Option<TokenKind>,
    /// None if it was not read from the contract yet, like the symbol.
    pub token_name: Option<String>,
    pub token_symbol: Option<String>,
    /// None if it was not read yet, or if the contract has none.
    pub token_decimals: Option<u8>,
    pub spender: Address,
    pub scope: ApprovalScope,
    /// The amount; 1 for ids.
    pub value: U256,
    pub tx_hash: B256,
    pub block_number: BlockNumber,
    /// Unix seconds.
    pub timestamp: u64,
}
