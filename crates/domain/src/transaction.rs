use alloy_primitives::{Address, B256, Bytes, U256};

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
    /// The most gas that it may use; None for a type of transaction without such a limit.
    pub gas_limit: Option<u64>,
    /// Gas used in the block up to and including this transaction; None if the node does not tell it.
    pub cumulative_gas_used: Option<u64>,
    /// The effective gas price in wei.
    pub gas_price: u128,
    /// None if it pays for its gas alone, in the chain's coin.
    pub charges: Option<Box<Charges>>,
    pub succeeded: bool,
    /// None for less than four bytes of call data, and for contract creations.
    pub method: Option<Selector>,
    /// Call data or creation code; None if it has more than [`Transaction::MAX_INPUT`] bytes.
    pub input: Option<Bytes>,
}

impl Transaction {
    /// A longer input is not kept: a page of transactions must fit in memory, whatever they call.
    pub const MAX_INPUT: usize = 4 * 1024;

    /// An input as it is kept.
    #[must_use]
    pub fn kept_input(input: &Bytes) -> Option<Bytes> {
        // A copy, so that a row does not hold the response of the node in memory.
        (input.len() <= Self::MAX_INPUT).then(|| Bytes::copy_from_slice(input))
    }

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
            gas_limit: Some(90_000),
            cumulative_gas_used: Some(1_021_000),
            gas_price: 1_000_000_007,
            charges: None,
            succeeded: true,
            method: Some([0xa9, 0x05, 0x9c, 0xbb]),
            input: Some(Bytes::from_static(&[0xa9, 0x05, 0x9c, 0xbb, 0, 0, 7])),
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
