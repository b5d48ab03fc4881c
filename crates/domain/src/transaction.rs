use alloy_primitives::{Address, B256, U256};

use crate::{BlockNumber, Charges, Fee, Payment};

/// The function selector: the first four bytes of the call data.
pub type Selector = [u8; 4];

/// A transaction with fields of its receipt.
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
    /// None for a contract creation.
    pub to: Option<Address>,
    /// The contract of a successful creation.
    pub created: Option<Address>,
    pub value: U256,
    pub nonce: u64,
    pub gas_used: u64,
    /// The effective gas price in wei.
    pub gas_price: u128,
    /// None if it pays for its gas alone, in the chain's coin.
    pub charges: Option<Box<Charges>>,
    pub succeeded: bool,
    /// None for less than four bytes of call data, and for contract creations.
    pub method: Option<Selector>,
}

impl Transaction {
    /// A successful call of the largest value, for tests.
    #[must_use]
    pub fn sample() -> Self {
        Self {
            hash: B256::repeat_byte(0xaa),
            block_number: 17,
            block_hash: B256::repeat_byte(0xbb),
            index: 2,
            timestamp: 1_794_700_800,
            from: Address::repeat_byte(0xcc),
            to: Some(Address::repeat_byte(0xdd)),
            created: None,
            value: U256::MAX,
            nonce: 9,
            gas_used: 21_000,
            gas_price: 1_000_000_007,
            charges: None,
            succeeded: true,
            method: Some([0xa9, 0x05, 0x9c, 0xbb]),
        }
    }
}

impl Transaction {
    /// All that it paid, in wei of the chain's coin.
    #[must_use]
    pub fn fee(&self) -> U256 {
        Fee::of(self, None).in_coin()
    }

    /// Whether its gas price is one in the chain's coin that somebody paid: others do not count in mean prices.
    #[must_use]
    pub fn is_priced(&self) -> bool {
        self.charges.as_ref().is_none_or(|charges| charges.payment == Payment::Coin)
    }

    /// Whether the address sent or received this transaction.
    #[must_use]
    pub fn touches(&self, address: &Address) -> bool {
        self.from == *address || self.to.as_ref() == Some(address)
    }
}
