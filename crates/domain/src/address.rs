use alloy_primitives::{Address, B256};

use crate::{BlockRef, CreationId, Token, Transaction};

/// What the index knows of an address. Balance, nonce and code are the node's to tell: see [`crate::Account`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressFacts {
    pub address: Address,
    /// Transactions from or to the address.
    pub tx_count: u64,
    /// Time of the first block in which the address took part, unix seconds.
    pub first_seen: u64,
    /// Time of the newest block in which the address took part, unix seconds.
    pub last_seen: u64,
    /// Set where a transaction of the index is known to have created a contract at this address.
    pub creation: Option<Creation>,
}

/// Who made a contract, a person or another contract, and by which transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Creation {
    pub creator: Address,
    pub tx_hash: B256,
    /// Of the block that the transaction stands in.
    pub block_hash: B256,
}

impl Creation {
    /// The execution that created the contract.
    #[must_use]
    pub fn id(&self) -> CreationId {
        CreationId { tx_hash: self.tx_hash, block_hash: self.block_hash }
    }
}

/// An address with what was last done there, as of one block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressOverview {
    /// The newest indexed block.
    pub tip: BlockRef,
    pub facts: AddressFacts,
    /// The newest transactions from or to the address, the newest first.
    pub recent: Vec<Transaction>,
    /// The token at the address.
    pub token: Option<Token>,
}
