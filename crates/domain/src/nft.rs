use alloy_primitives::{Address, U256};

use crate::{Balance, TokenKind};

/// One id of a BEP721 or BEP1155 token, with what its transfers say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nft {
    pub token: Address,
    pub id: U256,
    pub kind: TokenKind,
    /// The owner of a BEP721 id; None if it was burned, and for a BEP1155 id.
    pub owner: Option<Address>,
    /// Addresses with an amount above zero, except the zero address.
    pub holder_count: u64,
    /// Number of transfers.
    pub transfer_count: u64,
}

/// An id that an address holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldNft {
    pub token: Address,
    pub kind: TokenKind,
    /// None if it was not read from the contract yet, like the symbol.
    pub token_name: Option<String>,
    pub token_symbol: Option<String>,
    pub id: U256,
    /// 1 for a BEP721 id.
    pub amount: Balance,
}
