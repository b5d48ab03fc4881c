use alloy_primitives::{Address, B256, Bytes, U256};

use crate::{BlockNumber, Charges, Fee, Payment, difference::differing};

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
    /// True as well if it is not known whether the transaction succeeded.
    pub succeeded: bool,
    /// False if nothing says whether it succeeded: receipts before Byzantium have no status, and the block was not traced.
    pub status_known: bool,
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
            status_known: true,
            method: Some([0xa9, 0x05, 0x9c, 0xbb]),
            input: Some(Bytes::from_static(&[0xa9, 0x05, 0x9c, 0xbb, 0, 0, 7])),
        }
    }
}

/// How a transaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Succeeded,
    Failed,
    Unknown,
}

impl Outcome {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }
}

impl Fee {
    /// What a transaction paid, given the base fee of its block.
    #[must_use]
    pub fn of(tx: &Transaction, base_fee: Option<u128>) -> Self {
        Self::for_gas(tx.gas_used, tx.gas_price, tx.charges.as_deref(), base_fee)
    }
}

impl Transaction {
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        match (self.status_known, self.succeeded) {
            (true, true) => Outcome::Succeeded,
            (true, false) => Outcome::Failed,
            (false, _) => Outcome::Unknown,
        }
    }

    /// A sample in which all that does not follow from its block and its addresses is made of random bits, for tests: numbers of all
    /// sizes, and values that may be missing.
    #[must_use]
    pub fn varied(mut bits: impl FnMut() -> u64) -> Self {
        let shift = usize::try_from(bits() % 257).unwrap_or_default();
        let value = U256::from_limbs([bits(), bits(), bits(), bits()]) >> shift;
        let method: Option<Selector> =
            (bits() % 10 < 6).then(|| bits().to_be_bytes()).and_then(|bytes| bytes.first_chunk().copied());
        // It begins with the selector; then come bytes, or words of a few bytes, as call data mostly has.
        let mut input: Vec<u8> = method.into_iter().flatten().collect();
        let is_words = bits().is_multiple_of(2);
        for _ in 0..bits() % 8 {
            input.extend(is_words.then_some([0; 24]).into_iter().flatten().chain(bits().to_be_bytes()));
        }
        // An unknown outcome counts as a success.
        let status_known = !bits().is_multiple_of(20);
        Self {
            value,
            nonce: bits() >> (30 + bits() % 34),
            gas_used: 21_000 + bits() % 10_000_000,
            gas_price: (u128::from(bits()) << 16 | u128::from(bits() >> 48)) >> (bits() % 80),
            gas_limit: (!bits().is_multiple_of(20)).then(|| bits() % 30_000_000),
            cumulative_gas_used: (!bits().is_multiple_of(20)).then(|| bits() >> 24),
            succeeded: !bits().is_multiple_of(10) || !status_known,
            status_known,
            method,
            input: (!bits().is_multiple_of(10)).then(|| input.into()),
            ..Self::sample()
        }
    }

    /// The fields in which two versions of a transaction differ. Those of its block are compared with the block. Where the other version
    /// does not know whether it succeeded, this one may.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<&'static str> {
        // Every field is named, so that a new one is compared, too.
        let Self {
            hash,
            block_number: _,
            block_hash: _,
            index: _,
            timestamp: _,
            from,
            to,
            created,
            value,
            nonce,
            gas_used,
            gas_limit,
            cumulative_gas_used,
            gas_price,
            charges,
            succeeded,
            status_known,
            method,
            input,
        } = other;
        let is_undecided = !status_known;
        differing([
            ("hash", self.hash == *hash),
            ("sender", self.from == *from),
            ("receiver", self.to == *to),
            ("created contract", self.created == *created || is_undecided),
            ("value", self.value == *value),
            ("nonce", self.nonce == *nonce),
            ("status", self.succeeded == *succeeded || is_undecided),
            ("gas used", self.gas_used == *gas_used),
            ("gas limit", self.gas_limit == *gas_limit),
            ("cumulative gas", self.cumulative_gas_used == *cumulative_gas_used),
            ("gas price", self.gas_price == *gas_price),
            ("fee", self.charges == *charges),
            ("method", self.method == *method),
            ("input", self.input == *input),
        ])
    }

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
