//! What a store does with a block that is walked: it gives ids, appends to lists, and keeps rows.

use domain::{
    Address, B256, Balance, Block, BlockNumber, CreditEvent, LogEvent, PoolStyle, TokenKind, TradeEvent, Transaction,
    TransferEvent, U256,
};

use super::{ApprovalKey, ApprovalState, ChainTotals, ListKey, TokenState, fetch_policy::KnownCode};
use crate::{Party, StoreError};

/// The addresses of a transaction, as ids.
#[derive(Debug, Clone, Copy)]
pub struct TransactionIds {
    pub from: u64,
    pub to: Option<u64>,
    pub created: Option<u64>,
}

/// What a log refers to, as ids.
#[derive(Debug, Clone, Copy)]
pub struct LogIds<'a> {
    /// The emitter with the first topic.
    pub source: u64,
    pub topics: &'a [u64],
}

/// The addresses of a transfer, as ids.
#[derive(Debug, Clone, Copy)]
pub struct TransferIds {
    pub token: u64,
    pub from: u64,
    pub to: u64,
}

/// A transfer, and what its sender did not have.
#[derive(Debug, Clone, Copy)]
pub struct MovedTransfer<'a> {
    pub event: &'a TransferEvent,
    /// The part of the value that the sender did not have.
    pub shortfall: Option<Balance>,
    /// That which it did not have of the id of a multi-token.
    pub nft_shortfall: Option<Balance>,
}

/// An exchange, with its factory as an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    pub style: PoolStyle,
    pub factory: u64,
}

/// A pool, with addresses as ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolIds {
    pub exchange: Exchange,
    pub token0: u64,
    pub token1: u64,
}

/// How a contract was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Creation {
    pub tx: u64,
    /// None if the transaction itself created it, with its sender as creator.
    pub creator: Option<u64>,
}

/// An id of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NftKey {
    pub token: u64,
    pub kind: TokenKind,
    pub id: U256,
}

/// Takes what [`super::Walk`] finds in blocks. Ids follow each other: a new value gets `next`, which is then incremented. Later blocks
/// of a commit see what earlier ones wrote.
pub trait BlockSink {
    /// What the transfers of a token say about it.
    type Token: TokenState;

    /// Begins a block. `before` are the totals before it.
    fn put_block(&mut self, block: &Block, miner: u64, before: &ChainTotals) -> Result<(), StoreError>;

    /// Ends the block that was begun last.
    fn end_block(&mut self, number: BlockNumber) -> Result<(), StoreError>;

    fn address_id(&mut self, address: Address, block: BlockNumber, next: &mut u64) -> Result<u64, StoreError>;

    fn topic_id(&mut self, topic: B256, next: &mut u64) -> Result<u64, StoreError>;

    /// The id of an emitter with the first topic.
    fn log_source_id(&mut self, emitter: u64, topic: Option<u64>, next: &mut u64) -> Result<u64, StoreError>;

    fn nft_id(&mut self, nft: NftKey, next: &mut u64) -> Result<u64, StoreError>;

    /// Appends an entry to a list. Returns the entry before, which is used for transactions of an address only.
    fn append(&mut self, list: ListKey, entry: u64, party: Party) -> Result<Option<u64>, StoreError>;

    fn put_transaction(&mut self, id: u64, tx: &Transaction, ids: TransactionIds) -> Result<(), StoreError>;

    /// Replaces what is known: contracts can be destroyed and created again at one address.
    fn put_creation(&mut self, created: u64, creation: Creation) -> Result<(), StoreError>;

    fn put_log(&mut self, id: u64, tx: u64, event: &LogEvent, ids: LogIds<'_>) -> Result<(), StoreError>;

    fn put_transfer(
        &mut self,
        id: u64,
        tx: u64,
        transfer: MovedTransfer<'_>,
        ids: TransferIds,
    ) -> Result<(), StoreError>;

    fn put_trade(&mut self, id: u64, tx: u64, event: &TradeEvent, pool: u64) -> Result<(), StoreError>;

    fn put_credit(&mut self, id: u64, block: BlockNumber, event: &CreditEvent, to: u64) -> Result<(), StoreError>;

    /// The exchange of a pool that is known.
    fn find_exchange(&mut self, pool: u64) -> Result<Option<Exchange>, StoreError>;

    fn put_pool(&mut self, id: u64, pool: PoolIds, block: BlockNumber) -> Result<(), StoreError>;

    fn find_token(&mut self, id: u64) -> Result<Option<Self::Token>, StoreError>;

    /// A token that has its first transfer.
    fn new_token(&mut self, id: u64, event: &TransferEvent, block: BlockNumber) -> Self::Token;

    /// Keeps a token, once for each of its transfers.
    fn put_token(&mut self, id: u64, token: Self::Token) -> Result<(), StoreError>;

    /// The metadata of a token has to be fetched, at a block or later. Does nothing if it is not known as a token.
    fn mark_token_pending(&mut self, token: u64, since: BlockNumber) -> Result<(), StoreError>;

    /// A balance by transfers.
    fn balance(&mut self, token: u64, holder: u64) -> Result<Balance, StoreError>;

    /// Keeps a balance after a transfer, also one that did not change.
    fn put_balance(&mut self, token: u64, holder: u64, balance: Balance, transfer: u64) -> Result<(), StoreError>;

    /// An event other than a transfer changed a balance.
    fn touch_holder(&mut self, token: u64, holder: u64, block: BlockNumber) -> Result<(), StoreError>;

    /// The owner of a non-fungible id.
    fn nft_owner(&mut self, nft: u64) -> Result<Option<u64>, StoreError>;

    fn put_nft_owner(&mut self, nft: u64, owner: Option<u64>) -> Result<(), StoreError>;

    /// What a holder has of the id of a multi-token.
    fn nft_amount(&mut self, nft: u64, holder: u64) -> Result<Balance, StoreError>;

    fn put_nft_amount(&mut self, nft: u64, holder: u64, amount: Balance) -> Result<(), StoreError>;

    fn find_approval(&mut self, key: &ApprovalKey) -> Result<Option<(u64, ApprovalState)>, StoreError>;

    fn add_approval(&mut self, id: u64, key: &ApprovalKey, state: ApprovalState) -> Result<(), StoreError>;

    fn change_approval(&mut self, id: u64, key: &ApprovalKey, state: ApprovalState) -> Result<(), StoreError>;

    /// Whether the code at an address is cached as known or pending.
    fn is_code_cached(&mut self, address: u64) -> bool;

    fn cache_code(&mut self, address: u64);

    fn known_code(&mut self, address: u64) -> Result<KnownCode, StoreError>;

    /// The code at an address has to be fetched, at a block or later.
    fn mark_code_pending(&mut self, address: u64, since: BlockNumber);
}
