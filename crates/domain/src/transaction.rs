use alloy_primitives::{Address, B256, U256};

use crate::BlockNumber;

/// The first four bytes of the call data: which function is called.
pub type Selector = [u8; 4];

/// A transaction with what its receipt says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transaction {
    pub hash: B256,
    pub block_number: BlockNumber,
    pub block_hash: B256,
    /// Position in the block, from 0.
    pub index: u32,
    /// The block's time, unix seconds.
    pub timestamp: u64,
    pub from: Address,
    /// None: the transaction creates a contract.
    pub to: Option<Address>,
    /// The contract that a successful creation made.
    pub created: Option<Address>,
    pub value: U256,
    pub nonce: u64,
    pub gas_used: u64,
    /// What a unit of gas really cost, in wei.
    pub gas_price: u128,
    pub succeeded: bool,
    /// None where there are fewer than four bytes of call data, or where the data is a new contract's code.
    pub method: Option<Selector>,
}

impl Transaction {
    /// Whether the address sent or received this transaction.
    #[must_use]
    pub fn touches(&self, address: &Address) -> bool {
        self.from == *address || self.to.as_ref() == Some(address)
    }
}
