//! The tables and their keys. Numbers stand big-endian, so that keys sort as numbers do.

use alloy_primitives::{Address, B256};
use domain::{ApiKeyId, BlockNumber, KeyDigest, UnixMillis};

use crate::engine::Group;

/// The running number of a transaction, in chain order, from 0.
pub(crate) type TxId = u64;
/// The running number of an address, in the order in which they were first seen, from 0.
pub(crate) type AddressId = u64;

/// Bytes of a running number in a key: enough for a million million.
const ID_BYTES: usize = 5;
/// Bytes of a hash that stand in a key; the row behind it tells two hashes apart that begin alike.
const HASH_BYTES: usize = 8;
const LONGEST_KEY: usize = 32;

/// The number of a table is its mark on disk: it never changes, and is never given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Table {
    /// number -> header, and all running numbers as they stood before the block.
    Block = 0x10,
    /// transaction id -> row.
    Transaction = 0x11,
    /// address id -> address, first seen.
    Address = 0x12,
    /// start of hash, number -> nothing.
    BlockByHash = 0x20,
    /// start of hash, transaction id -> nothing.
    TransactionByHash = 0x21,
    /// address -> address id.
    AddressId = 0x22,
    /// address id -> id of the transaction that created a contract there.
    Creation = 0x23,
    /// list -> its open chunk.
    Tail = 0x30,
    /// list, chunk number -> a full chunk.
    Chunk = 0x31,
    /// field -> what the store knows of itself.
    Meta = 0x40,
    /// number -> what reverting that block needs.
    Undo = 0x41,
    /// address -> the node's last answer about the account.
    Account = 0x42,
    /// id -> an API key's record.
    ApiKey = 0x50,
    /// start of digest, id -> nothing.
    ApiKeyByDigest = 0x51,
    /// owner, id -> nothing.
    ApiKeyByOwner = 0x52,
    /// owner -> ids of the keys in use.
    ActiveApiKeys = 0x53,
    /// owner, time signed -> nothing.
    ApiKeyProof = 0x54,
}

impl Table {
    pub(crate) const ALL: [Self; 17] = [
        Self::Block,
        Self::Transaction,
        Self::Address,
        Self::BlockByHash,
        Self::TransactionByHash,
        Self::AddressId,
        Self::Creation,
        Self::Tail,
        Self::Chunk,
        Self::Meta,
        Self::Undo,
        Self::Account,
        Self::ApiKey,
        Self::ApiKeyByDigest,
        Self::ApiKeyByOwner,
        Self::ActiveApiKeys,
        Self::ApiKeyProof,
    ];

    pub(crate) fn group(self) -> Group {
        match self {
            Self::Block | Self::Transaction | Self::Address => Group::Dense,
            Self::BlockByHash | Self::TransactionByHash | Self::AddressId | Self::Creation => Group::Lookup,
            Self::Tail | Self::Chunk => Group::Lists,
            Self::Meta | Self::Undo | Self::Account => Group::State,
            // Too little and too seldom written for a keyspace of their own.
            Self::ApiKey | Self::ApiKeyByDigest | Self::ApiKeyByOwner | Self::ActiveApiKeys | Self::ApiKeyProof => {
                Group::State
            }
        }
    }
}

/// A key without the mark of its table. Short enough to live on the stack.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Key {
    bytes: [u8; LONGEST_KEY],
    len: usize,
}

impl Key {
    /// Before every other key.
    pub(crate) const EMPTY: Self = Self { bytes: [0; LONGEST_KEY], len: 0 };

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

    pub(crate) fn hash_prefix(hash: &B256) -> Self {
        Self::of(&[&hash[..HASH_BYTES]])
    }

    pub(crate) fn block_by_hash(hash: &B256, number: BlockNumber) -> Self {
        Self::of(&[&hash[..HASH_BYTES], &number.to_be_bytes()])
    }

    pub(crate) fn transaction_by_hash(hash: &B256, id: TxId) -> Self {
        Self::of(&[&hash[..HASH_BYTES], &id_bytes(id)])
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

    pub(crate) fn list(list: ListKey) -> Self {
        Self::of(&[&[list.kind as u8], &id_bytes(list.owner)])
    }

    pub(crate) fn chunk(list: ListKey, number: u32) -> Self {
        Self::of(&[&[list.kind as u8], &id_bytes(list.owner), &number.to_be_bytes()])
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// The key as the engine keeps it: the mark of the table, then the key.
    pub(crate) fn in_table(&self, table: Table) -> EngineKey {
        let mut bytes = [0; LONGEST_KEY + 1];
        bytes[0] = table as u8;
        bytes[1..=self.len].copy_from_slice(self.as_slice());
        EngineKey { bytes, len: self.len + 1 }
    }
}

#[derive(Debug)]
pub(crate) struct EngineKey {
    bytes: [u8; LONGEST_KEY + 1],
    len: usize,
}

impl AsRef<[u8]> for EngineKey {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Reads the number at the end of a key, after a start of known length.
pub(crate) fn number_in_key(key: &[u8], skip: usize) -> u64 {
    key.iter().skip(skip).fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// Reads the number that follows the start of a hash in a key.
pub(crate) fn number_after_hash(key: &[u8]) -> u64 {
    number_in_key(key, HASH_BYTES)
}

fn id_bytes(id: u64) -> [u8; ID_BYTES] {
    let [_, _, _, bytes @ ..] = id.to_be_bytes();
    bytes
}

/// One list: whose, and of what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ListKey {
    pub(crate) kind: ListKind,
    pub(crate) owner: AddressId,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum ListKind {
    /// Transactions that an address sent or received.
    Transactions = 0,
    /// Transactions that reached an address on the way.
    Involved = 1,
    /// Blocks that an address produced: numbers, not transaction ids.
    Mined = 2,
}

impl ListKind {
    pub(crate) fn from_byte(byte: u8) -> Option<Self> {
        [Self::Transactions, Self::Involved, Self::Mined].into_iter().find(|kind| *kind as u8 == byte)
    }

    pub(crate) fn of(self, owner: AddressId) -> ListKey {
        ListKey { kind: self, owner }
    }
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
    fn a_key_gives_its_number_back() {
        let hash = B256::repeat_byte(9);
        assert_eq!(number_after_hash(Key::transaction_by_hash(&hash, 77_777).as_slice()), 77_777);
        assert_eq!(number_after_hash(Key::block_by_hash(&hash, u64::MAX).as_slice()), u64::MAX);
    }

    #[test]
    fn no_two_tables_share_a_mark() {
        let mut marks = Table::ALL.map(|table| table as u8).to_vec();
        marks.dedup();
        assert_eq!(marks.len(), Table::ALL.len());
    }
}
