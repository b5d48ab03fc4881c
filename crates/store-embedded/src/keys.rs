//! The keys of the tables. Numbers are big-endian, so that keys sort as numbers do.

mod table;

use std::hash::{Hash, Hasher};

use alloy_primitives::{Address, B256, U256};
use domain::{ApiKeyId, BlockNumber, BlockRef, DeliveryId, DeliveryNumber, JobId, KeyDigest, UnixMillis, WebhookId};
use store::StoreError;
pub(crate) use store::{ListKey, ListKind};
pub(crate) use table::Table;

/// The sequential id of a transaction, in chain order, from 0.
pub(crate) type TxId = u64;
/// The sequential id of a transfer, in chain order, from 0.
pub(crate) type TransferId = u64;
/// The sequential id of a trade, in chain order, from 0.
pub(crate) type TradeId = u64;
/// The sequential id of a credit, in chain order, from 0.
pub(crate) type CreditId = u64;
/// The sequential id of a log, in chain order, from 0.
pub(crate) type LogId = u64;
/// The sequential id of a topic of a log, in the order of first appearance, from 0.
pub(crate) type TopicId = u64;
/// The sequential id of an emitter with a first topic, in the order of first appearance, from 0.
pub(crate) type SourceId = u64;
/// The sequential id of an address, in the order of first appearance, from 0.
pub(crate) type AddressId = u64;
/// The sequential id of an NFT, in the order of first transfers, from 0.
pub(crate) type NftId = u64;
/// The sequential id of an approval, in the order in which they were first given, from 0.
pub(crate) type ApprovalId = u64;
/// The id of an internal transaction, in chain order: see [`crate::internal`].
pub(crate) type InternalId = u64;
/// The sequential id of an address in internal transactions, in the order of tracing, from 0. It is never reverted.
pub(crate) type PartyId = u64;

/// Bytes of a sequential id in a key: enough for 10^12.
pub(crate) const ID_BYTES: usize = 5;
/// Larger ids do not fit into a key: its bytes would be those of another one.
const MAX_ID: u64 = (1 << (8 * ID_BYTES)) - 1;
/// Bytes of a hash in a key; the row distinguishes hashes with the same prefix.
const HASH_BYTES: usize = 8;
const MAX_KEY_LENGTH: usize = 56;

/// A key without the tag of its table. Small enough for the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    /// Zero from `len` on.
    bytes: [u8; MAX_KEY_LENGTH],
    len: usize,
}

/// Most keys are far shorter than the longest one.
impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

impl Key {
    /// Sorts before every other key.
    pub(crate) const EMPTY: Self = Self { bytes: [0; MAX_KEY_LENGTH], len: 0 };

    #[expect(clippy::indexing_slicing, reason = "no key is longer than MAX_KEY_LENGTH")]
    fn of(parts: &[&[u8]]) -> Self {
        let mut key = Self::EMPTY;
        for part in parts {
            key.bytes[key.len..key.len + part.len()].copy_from_slice(part);
            key.len += part.len();
        }
        key
    }

    pub(crate) fn name(name: &'static str) -> Self {
        Self::of(&[name.as_bytes()])
    }

    pub(crate) fn block(number: BlockNumber) -> Self {
        Self::of(&[&number.to_be_bytes()])
    }

    pub(crate) fn id(id: u64) -> Self {
        Self::of(&[&id_bytes(id)])
    }

    pub(crate) fn address(address: &Address) -> Self {
        Self::of(&[address.as_slice()])
    }

    pub(crate) fn hash(hash: &B256) -> Self {
        Self::of(&[hash.as_slice()])
    }

    /// Verified code that applies to one address only.
    pub(crate) fn code_at(code_hash: &B256, address: &Address) -> Self {
        Self::of(&[code_hash.as_slice(), address.as_slice()])
    }

    /// A verified contract.
    pub(crate) fn contract(address: &Address, code_hash: &B256) -> Self {
        Self::of(&[address.as_slice(), code_hash.as_slice()])
    }

    pub(crate) fn job(id: &JobId) -> Self {
        Self::of(&[id.as_bytes()])
    }

    pub(crate) fn hash_prefix(hash: &B256) -> Self {
        Self::of(&[&hash.0[..HASH_BYTES]])
    }

    pub(crate) fn block_by_hash(hash: &B256, number: BlockNumber) -> Self {
        Self::of(&[&hash.0[..HASH_BYTES], &number.to_be_bytes()])
    }

    pub(crate) fn transaction_by_hash(hash: &B256, id: TxId) -> Self {
        Self::of(&[&hash.0[..HASH_BYTES], &id_bytes(id)])
    }

    pub(crate) fn digest_prefix(digest: &KeyDigest) -> Self {
        Self::of(&[&digest.as_bytes()[..HASH_BYTES]])
    }

    pub(crate) fn api_key_by_digest(digest: &KeyDigest, id: ApiKeyId) -> Self {
        Self::of(&[&digest.as_bytes()[..HASH_BYTES], &id_bytes(id)])
    }

    pub(crate) fn api_key_by_owner(owner: &Address, id: ApiKeyId) -> Self {
        Self::of(&[owner.as_slice(), &id_bytes(id)])
    }

    pub(crate) fn api_key_proof(owner: &Address, signed_at: UnixMillis) -> Self {
        Self::of(&[owner.as_slice(), &signed_at.to_be_bytes()])
    }

    pub(crate) fn webhook_by_owner(owner: &Address, id: WebhookId) -> Self {
        Self::of(&[owner.as_slice(), &id_bytes(id)])
    }

    pub(crate) fn webhook_by_address(watched: &Address, id: WebhookId) -> Self {
        Self::of(&[watched.as_slice(), &id_bytes(id)])
    }

    pub(crate) fn delivery(webhook: WebhookId, number: DeliveryNumber) -> Self {
        Self::of(&[&id_bytes(webhook), &id_bytes(number)])
    }

    pub(crate) fn delivery_by_id(webhook: WebhookId, id: &DeliveryId) -> Self {
        Self::of(&[&id_bytes(webhook), id.as_bytes()])
    }

    pub(crate) fn retry(webhook: WebhookId, due: UnixMillis, number: DeliveryNumber) -> Self {
        Self::of(&[&id_bytes(webhook), &due.to_be_bytes(), &id_bytes(number)])
    }

    pub(crate) fn delivery_by_block(block: BlockNumber, webhook: WebhookId, number: DeliveryNumber) -> Self {
        Self::of(&[&block.to_be_bytes(), &id_bytes(webhook), &id_bytes(number)])
    }

    pub(crate) fn orphaned_block(block: &BlockRef) -> Self {
        Self::of(&[&block.number.to_be_bytes(), &block.hash.0[..HASH_BYTES]])
    }

    /// An orphaned block by the first bytes of its hash.
    pub(crate) fn orphaned_prefix(number: BlockNumber, prefix: &[u8; HASH_BYTES]) -> Self {
        Self::of(&[&number.to_be_bytes(), prefix])
    }

    /// A topic, without leading zeros: most contain an address or a small number.
    pub(crate) fn topic(topic: &B256) -> Self {
        Self::of(&[trimmed(topic.as_slice())])
    }

    /// An emitter with a first topic; None is that of logs without topics.
    pub(crate) fn source(emitter: AddressId, topic: Option<TopicId>) -> Self {
        Self::of(&[&id_bytes(emitter), &id_bytes(topic.map_or(0, |topic| topic + 1))])
    }

    pub(crate) fn list(list: ListKey) -> Self {
        Self::of(&[&[list.kind as u8], &id_bytes(list.owner)])
    }

    pub(crate) fn chunk(list: ListKey, number: u32) -> Self {
        Self::of(&[&[list.kind as u8], &id_bytes(list.owner), &number.to_be_bytes()])
    }

    pub(crate) fn balance(pair: Pair) -> Self {
        Self::of(&[&id_bytes(pair.token), &id_bytes(pair.holder)])
    }

    /// An id of a token. Only for exact lookups: the keys of a token do not sort by id.
    pub(crate) fn nft(token: AddressId, id: &U256) -> Self {
        Self::of(&[&id_bytes(token), &id.to_be_bytes_trimmed_vec()])
    }

    pub(crate) fn nft_metadata(token: &Address, id: &U256) -> Self {
        Self::of(&[token.as_slice(), &id.to_be_bytes_trimmed_vec()])
    }

    pub(crate) fn nft_balance(nft: NftId, holder: AddressId) -> Self {
        Self::of(&[&id_bytes(nft), &id_bytes(holder)])
    }

    /// A key read from the engine; None if it is longer than any key.
    pub(crate) fn from_slice(bytes: &[u8]) -> Option<Self> {
        (bytes.len() <= MAX_KEY_LENGTH).then(|| Self::of(&[bytes]))
    }

    /// This key with more bytes appended.
    pub(crate) fn then(&self, more: &[u8]) -> Self {
        Self::of(&[self.as_slice(), more])
    }

    #[expect(clippy::indexing_slicing, reason = "the length is at most that of the array")]
    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// The key as stored in the engine: the tag of the table, then the key.
    #[expect(clippy::indexing_slicing, reason = "the array is one longer than that of any key")]
    pub(crate) fn in_table(&self, table: Table) -> EngineKey {
        let mut bytes = [0; MAX_KEY_LENGTH + 1];
        bytes[0] = table as u8;
        bytes[1..=self.len].copy_from_slice(self.as_slice());
        EngineKey { bytes, len: self.len + 1 }
    }
}

#[derive(Debug)]
pub(crate) struct EngineKey {
    bytes: [u8; MAX_KEY_LENGTH + 1],
    len: usize,
}

impl EngineKey {
    /// The first key that sorts after every key with this prefix; None if there is none.
    #[expect(clippy::indexing_slicing, reason = "the length is above 0 and at most that of the array")]
    pub(crate) fn prefix_end(mut self) -> Option<Self> {
        while self.len > 0 {
            if let Some(next) = self.bytes[self.len - 1].checked_add(1) {
                self.bytes[self.len - 1] = next;
                return Some(self);
            }
            self.len -= 1;
        }
        None
    }
}

impl AsRef<[u8]> for EngineKey {
    #[expect(clippy::indexing_slicing, reason = "the length is at most that of the array")]
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

const MALFORMED_KEY: StoreError = StoreError::Corrupt("a key of an invalid length");

/// Reads the number at the end of a key, after a prefix of known length: a sequential id, or a number of 8 bytes.
pub(crate) fn number_in_key(key: &[u8], skip: usize) -> Result<u64, StoreError> {
    match *key.get(skip..).ok_or(MALFORMED_KEY)? {
        [a, b, c, d, e] => Ok(u64::from_be_bytes([0, 0, 0, a, b, c, d, e])),
        [a, b, c, d, e, f, g, h] => Ok(u64::from_be_bytes([a, b, c, d, e, f, g, h])),
        _ => Err(MALFORMED_KEY),
    }
}

fn only_id(bytes: &[u8]) -> Result<u64, StoreError> {
    if bytes.len() == ID_BYTES { number_in_key(bytes, 0) } else { Err(MALFORMED_KEY) }
}

/// Splits a key behind a part of known length.
pub(crate) fn split_key(key: &[u8], length: usize) -> Result<(&[u8], &[u8]), StoreError> {
    key.split_at_checked(length).ok_or(MALFORMED_KEY)
}

/// Reads the two sequential ids of a key.
pub(crate) fn ids_in_key(key: &[u8]) -> Result<(u64, u64), StoreError> {
    let (first, second) = split_key(key, ID_BYTES)?;
    Ok((only_id(first)?, only_id(second)?))
}

/// Reads the due time and the number in the key of a retry.
pub(crate) fn retry_in_key(key: &[u8]) -> Result<(UnixMillis, DeliveryNumber), StoreError> {
    let (due, number) = split_key(split_key(key, ID_BYTES)?.1, 8)?;
    Ok((number_in_key(due, 0)?, only_id(number)?))
}

/// Reads the block, the webhook and the first number in the key of a block's deliveries.
pub(crate) fn deliveries_in_block_key(key: &[u8]) -> Result<(BlockNumber, WebhookId, DeliveryNumber), StoreError> {
    let (block, rest) = split_key(key, 8)?;
    let (webhook, number) = ids_in_key(rest)?;
    Ok((number_in_key(block, 0)?, webhook, number))
}

/// Reads the delivery number after the webhook id in a key.
pub(crate) fn number_after_id(key: &[u8]) -> Result<u64, StoreError> {
    number_in_key(key, ID_BYTES)
}

/// Reads the number after the hash prefix in a key.
pub(crate) fn number_after_hash(key: &[u8]) -> Result<u64, StoreError> {
    number_in_key(key, HASH_BYTES)
}

/// A token and an address that holds or held it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Pair {
    pub(crate) token: AddressId,
    pub(crate) holder: AddressId,
}

impl Pair {
    pub(crate) fn from_key(key: &[u8]) -> Result<Self, StoreError> {
        let (token, holder) = ids_in_key(key)?;
        Ok(Self { token, holder })
    }
}

/// Bytes without leading zeros.
pub(crate) fn trimmed(bytes: &[u8]) -> &[u8] {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    // At most as many as there are bytes.
    bytes.get(zeros..).unwrap_or_default()
}

pub(crate) fn fits_into_key(id: u64) -> bool {
    id <= MAX_ID
}

pub(crate) fn id_bytes(id: u64) -> [u8; ID_BYTES] {
    let [_, _, _, bytes @ ..] = id.to_be_bytes();
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_as_their_numbers_do() {
        let numbers = [0, 1, 255, 256, 65_535, 1 << 32, (1 << 40) - 1];
        assert!(numbers.map(|id| Key::id(id).as_slice().to_vec()).is_sorted());
        assert!(numbers.map(|number| Key::block(number).as_slice().to_vec()).is_sorted());
    }

    #[test]
    fn numbers_are_read_back_from_keys() {
        let hash = B256::repeat_byte(9);
        assert_eq!(number_after_hash(Key::transaction_by_hash(&hash, 77_777).as_slice()).unwrap(), 77_777);
        assert_eq!(number_after_hash(Key::block_by_hash(&hash, u64::MAX).as_slice()).unwrap(), u64::MAX);
        let pair = Pair { token: 3, holder: (1 << 40) - 1 };
        assert_eq!(Pair::from_key(Key::balance(pair).as_slice()).unwrap(), pair);
        assert_eq!(retry_in_key(Key::retry(1, u64::MAX, 7).as_slice()).unwrap(), (u64::MAX, 7));
        assert_eq!(deliveries_in_block_key(Key::delivery_by_block(9, 8, 7).as_slice()).unwrap(), (9, 8, 7));
    }

    #[test]
    fn a_key_that_is_too_short_or_too_long_is_corrupt() {
        let long = [7; 30];
        for length in 0..=long.len() {
            let key = &long[..length];
            let readable = [
                (number_in_key(key, 0).is_ok(), [5, 8].contains(&length)),
                (number_after_id(key).is_ok(), [10, 13].contains(&length)),
                (number_after_hash(key).is_ok(), [13, 16].contains(&length)),
                (Pair::from_key(key).is_ok(), length == 10),
                (retry_in_key(key).is_ok(), length == 18),
                (deliveries_in_block_key(key).is_ok(), length == 18),
            ];
            for (is_read, is_expected) in readable {
                assert_eq!(is_read, is_expected, "{length} bytes");
            }
        }
    }
}
