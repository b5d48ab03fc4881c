//! The tables and their keys. Numbers stand big-endian, so that keys sort as numbers do.

use alloy_primitives::{Address, B256};
use domain::{ApiKeyId, BlockNumber, BlockRef, DeliveryId, DeliveryNumber, KeyDigest, UnixMillis, WebhookId};

use crate::engine::Group;

/// The running number of a transaction, in chain order, from 0.
pub(crate) type TxId = u64;
/// The running number of a transfer, in chain order, from 0.
pub(crate) type TransferId = u64;
/// The running number of a trade, in chain order, from 0.
pub(crate) type TradeId = u64;
/// The running number of an address, in the order in which they were first seen, from 0.
pub(crate) type AddressId = u64;

/// Bytes of a running number in a key: enough for a million million.
pub(crate) const ID_BYTES: usize = 5;
/// Bytes of a hash that stand in a key; the row behind it tells two hashes apart that begin alike.
const HASH_BYTES: usize = 8;
const LONGEST_KEY: usize = 56;

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
    /// transfer id -> row.
    Transfer = 0x13,
    /// trade id -> row.
    Trade = 0x14,
    /// start of hash, number -> nothing.
    BlockByHash = 0x20,
    /// start of hash, transaction id -> nothing.
    TransactionByHash = 0x21,
    /// address -> address id.
    AddressId = 0x22,
    /// address id -> id of the transaction that created a contract there, and of the contract that made it, if one did.
    Creation = 0x23,
    /// address id -> the pool that stands there.
    Pool = 0x24,
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
    /// address id -> what the transfers say of the token there.
    Token = 0x43,
    /// address id -> what the token's contract says of itself.
    TokenFacts = 0x44,
    /// address id -> since which block something must be asked again about the token there.
    TokenQuestion = 0x45,
    /// token, holder -> balance.
    Balance = 0x46,
    /// ranked set, sort key -> nothing.
    Ranked = 0x47,
    /// ranked set, length and start of a sort key -> how many members begin so.
    RankCount = 0x48,
    /// token, holder -> nothing: the place among the holders may be out of date.
    Unranked = 0x60,
    /// token, holder -> the balance by which the holder is ranked.
    RankedBalance = 0x61,
    /// token, holder -> since which block the contract must be asked for the balance.
    Unasked = 0x62,
    /// token, holder -> the balance that the contract gave.
    CallBalance = 0x63,
    /// token -> how many balances the contract gave, and how many of them are above zero.
    CallHolders = 0x64,
    /// token, holder -> the newest block in which an event that is no transfer touched the balance.
    TouchedHolder = 0x65,
    /// token -> how far its holders have been put on the lists of what is to be done, after its balances changed source.
    Sweep = 0x66,
    /// token -> how the last comparison with the contract's word came out.
    Audit = 0x67,
    /// token -> nothing: a comparison is due.
    Unaudited = 0x68,
    /// address id -> hash of the contract's code there; nothing where there was none when it was asked.
    CodeHash = 0x69,
    /// hash -> code.
    Code = 0x6a,
    /// address id -> since which block the code there must be asked.
    UnaskedCode = 0x6b,
    /// address id -> since which block there is a token that was never asked about itself.
    NewToken = 0x6c,
    /// name or symbol, address id -> nothing.
    TokenName = 0x6d,
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
    /// address -> running number of the verified contract there, and what lists tell of it.
    Verified = 0x58,
    /// address -> interface, settings and sources of the verified contract there.
    VerifiedDetail = 0x59,
    /// running number -> address of a verified contract.
    VerifiedByNumber = 0x5a,
    /// code hash -> address where this code was verified.
    VerifiedByCode = 0x5b,
    /// id -> a webhook's record.
    Webhook = 0x70,
    /// owner, id -> nothing.
    WebhookByOwner = 0x71,
    /// field -> what is known of webhooks as a whole: the cursor, the version of the watch list, the newest id.
    WebhookMeta = 0x72,
    /// webhook -> the numbers of its oldest and its next delivery.
    DeliveryLog = 0x73,
    /// webhook, number -> what became of a delivery.
    Delivery = 0x74,
    /// webhook, number -> what is sent.
    DeliveryBody = 0x75,
    /// webhook, delivery id -> number.
    DeliveryById = 0x76,
    /// webhook, number -> nothing: never sent yet.
    FreshDelivery = 0x77,
    /// webhook, time due, number -> nothing: to be sent again.
    RetryDelivery = 0x78,
    /// block, webhook, number -> nothing.
    DeliveryByBlock = 0x79,
    /// number -> hash of a block that was looked through for webhooks.
    MatchedBlock = 0x7a,
    /// number, start of hash -> how often the block left the chain after it was looked through.
    OrphanedBlock = 0x7b,
}

impl Table {
    pub(crate) const ALL: [Self; 56] = [
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
        Self::Transfer,
        Self::Trade,
        Self::Pool,
        Self::Token,
        Self::TokenFacts,
        Self::TokenQuestion,
        Self::Balance,
        Self::Ranked,
        Self::RankCount,
        Self::Unranked,
        Self::RankedBalance,
        Self::Unasked,
        Self::CallBalance,
        Self::CallHolders,
        Self::TouchedHolder,
        Self::Sweep,
        Self::Audit,
        Self::Unaudited,
        Self::CodeHash,
        Self::Code,
        Self::UnaskedCode,
        Self::NewToken,
        Self::TokenName,
        Self::ApiKey,
        Self::ApiKeyByDigest,
        Self::ApiKeyByOwner,
        Self::ActiveApiKeys,
        Self::ApiKeyProof,
        Self::Verified,
        Self::VerifiedDetail,
        Self::VerifiedByNumber,
        Self::VerifiedByCode,
        Self::Webhook,
        Self::WebhookByOwner,
        Self::WebhookMeta,
        Self::DeliveryLog,
        Self::Delivery,
        Self::DeliveryBody,
        Self::DeliveryById,
        Self::FreshDelivery,
        Self::RetryDelivery,
        Self::DeliveryByBlock,
        Self::MatchedBlock,
        Self::OrphanedBlock,
    ];

    pub(crate) fn from_mark(mark: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|table| *table as u8 == mark)
    }

    pub(crate) fn group(self) -> Group {
        match self {
            Self::Block | Self::Transaction | Self::Address | Self::Transfer | Self::Trade => Group::Dense,
            Self::BlockByHash | Self::TransactionByHash | Self::AddressId | Self::Creation | Self::Pool => {
                Group::Lookup
            }
            Self::Tail | Self::Chunk => Group::Lists,
            _ => Group::State,
        }
    }

    /// Whether the rows follow from the blocks alone, and at once. The others hold what the node was or is to be asked,
    /// what is made up behind the tip, what a revert needs, and what users
    /// leave.
    pub(crate) fn is_of_the_chain(self) -> bool {
        !matches!(
            self,
            Self::Undo
                | Self::Account
                | Self::TokenFacts
                | Self::TokenQuestion
                | Self::Unranked
                | Self::RankedBalance
                | Self::Unasked
                | Self::CallBalance
                | Self::CallHolders
                | Self::Sweep
                | Self::Audit
                | Self::Unaudited
                | Self::CodeHash
                | Self::Code
                | Self::UnaskedCode
                | Self::NewToken
                | Self::TokenName
                | Self::ApiKey
                | Self::ApiKeyByDigest
                | Self::ApiKeyByOwner
                | Self::ActiveApiKeys
                | Self::ApiKeyProof
                | Self::Verified
                | Self::VerifiedDetail
                | Self::VerifiedByNumber
                | Self::VerifiedByCode
                | Self::Webhook
                | Self::WebhookByOwner
                | Self::WebhookMeta
                | Self::DeliveryLog
                | Self::Delivery
                | Self::DeliveryBody
                | Self::DeliveryById
                | Self::FreshDelivery
                | Self::RetryDelivery
                | Self::DeliveryByBlock
                | Self::MatchedBlock
                | Self::OrphanedBlock
        )
    }
}

/// A key without the mark of its table. Short enough to live on the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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

    pub(crate) fn hash(hash: &B256) -> Self {
        Self::of(&[hash.as_slice()])
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

    pub(crate) fn webhook_by_owner(owner: &Address, id: WebhookId) -> Self {
        Self::of(&[owner.as_slice(), &id_bytes(id)])
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
        Self::of(&[&block.number.to_be_bytes(), &block.hash[..HASH_BYTES]])
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

    /// A key as the engine gave it; None where it is longer than any key.
    pub(crate) fn from_slice(bytes: &[u8]) -> Option<Self> {
        (bytes.len() <= LONGEST_KEY).then(|| Self::of(&[bytes]))
    }

    /// This key with more behind it.
    pub(crate) fn then(&self, more: &[u8]) -> Self {
        Self::of(&[self.as_slice(), more])
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

impl EngineKey {
    /// The first key that sorts after every key that begins like this one; None where there is none.
    pub(crate) fn after_all_that_begin_so(mut self) -> Option<Self> {
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
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Reads the number at the end of a key, after a start of known length.
pub(crate) fn number_in_key(key: &[u8], skip: usize) -> u64 {
    key.iter().skip(skip).fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// Reads the time and the number in the key of a delivery that is to be sent again.
pub(crate) fn retry_in_key(key: &[u8]) -> (UnixMillis, DeliveryNumber) {
    let (due, number) = key.get(ID_BYTES..).and_then(|rest| rest.split_at_checked(8)).unwrap_or_default();
    (number_in_key(due, 0), number_in_key(number, 0))
}

/// Reads the webhook and the number in the key of a block's delivery.
pub(crate) fn delivery_in_block_key(key: &[u8]) -> (WebhookId, DeliveryNumber) {
    let (webhook, number) = key.get(8..).and_then(|rest| rest.split_at_checked(ID_BYTES)).unwrap_or_default();
    (number_in_key(webhook, 0), number_in_key(number, 0))
}

/// Reads the number of a delivery that follows its webhook in a key.
pub(crate) fn number_after_id(key: &[u8]) -> u64 {
    number_in_key(key, ID_BYTES)
}

/// Reads the number that follows the start of a hash in a key.
pub(crate) fn number_after_hash(key: &[u8]) -> u64 {
    number_in_key(key, HASH_BYTES)
}

/// A token and someone who holds it, or did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Pair {
    pub(crate) token: AddressId,
    pub(crate) holder: AddressId,
}

impl Pair {
    pub(crate) fn from_key(key: &[u8]) -> Self {
        let (token, holder) = key.split_at_checked(ID_BYTES).unwrap_or_default();
        Self { token: number_in_key(token, 0), holder: number_in_key(holder, 0) }
    }
}

pub(crate) fn id_bytes(id: u64) -> [u8; ID_BYTES] {
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
    /// Transfers that an address gave or received.
    Transfers = 3,
    /// Transfers of the token at an address.
    TokenTransfers = 4,
    /// Trades that an address made.
    MakerTrades = 5,
    /// Trades in the v2 pools of the factory at an address.
    V2Trades = 6,
    /// Trades in the v3 pools of the factory at an address.
    V3Trades = 7,
}

impl ListKind {
    const ALL: [Self; 8] = [
        Self::Transactions,
        Self::Involved,
        Self::Mined,
        Self::Transfers,
        Self::TokenTransfers,
        Self::MakerTrades,
        Self::V2Trades,
        Self::V3Trades,
    ];

    pub(crate) fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == byte)
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
        marks.sort_unstable();
        marks.dedup();
        assert_eq!(marks.len(), Table::ALL.len());
    }
}
