use async_trait::async_trait;
use domain::{
    Account, Address, B256, BlockChanges, BlockNumber, BlockRef, ChainIdentity, NftMetadata, TransactionFailure, U256,
};

use crate::{ContractDataWriter, InternalWriter, StoreError};

/// Whether the blocks of a commit may be reverted later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undo {
    /// Keep the undo data that [`ChainWriter::revert_to`] needs to return to `down_to`, and drop that of older blocks.
    Keep { down_to: BlockNumber },
    /// The blocks are finalized: no undo data is kept, and no revert goes below them.
    Discard,
}

/// Writes blocks.
///
/// Commits and reverts are atomic, and a reader sees either the state before or the state after. `revert_to(n)`
/// restores exactly the state in which `n` was the tip.
///
/// After a failure that may be transient, a caller reads the tip again: a commit may have succeeded before its result was
/// lost.
#[async_trait]
pub trait ChainWriter: Send + Sync {
    /// The newest indexed block.
    async fn tip(&self) -> Result<Option<BlockRef>, StoreError>;

    /// The hash of an indexed block, used to find the fork point of two branches.
    async fn find_block_hash(&self, number: BlockNumber) -> Result<Option<B256>, StoreError>;

    /// The lowest block that [`Self::revert_to`] accepts.
    async fn oldest_revertible(&self) -> Result<Option<BlockNumber>, StoreError>;

    /// Appends blocks atomically. Each must be the child of the one before.
    async fn commit(&mut self, blocks: Vec<BlockChanges>, undo: Undo) -> Result<(), StoreError>;

    /// Reverts every block above `number`, atomically.
    async fn revert_to(&mut self, number: BlockNumber) -> Result<(), StoreError>;

    /// Empties the index, and binds it to a chain that is in the place of the one before. Records stay; webhooks are matched
    /// with the new chain from its first block on. From the beginning on, readers find no tip; if it is interrupted, it goes on
    /// when the store is opened again.
    async fn start_over(&mut self, chain: ChainIdentity) -> Result<(), StoreError>;
}

/// The writer of the index: of its blocks, of the data fetched from contracts for them, and of internal transactions.
///
/// A store has one writer. Taking another one replaces it ([`Store::writer`](crate::Store::writer)): from then on, every
/// method of the replaced writer fails with [`StoreError::WriterReplaced`], and it changes nothing.
pub trait IndexWriter: ChainWriter + ContractDataWriter + InternalWriter {}

impl<Writer: ChainWriter + ContractDataWriter + InternalWriter> IndexWriter for Writer {}

/// Accounts as the node last returned them, stored for when the node is unavailable.
#[async_trait]
pub trait CachedAccounts: Send + Sync {
    async fn find_account(&self, address: Address) -> Result<Option<Account>, StoreError>;

    async fn save_account(&self, address: Address, account: Account) -> Result<(), StoreError>;
}

/// Metadata of NFTs, as the hosts that contracts name last gave it, or why it is missing. Whoever reads it checks that the
/// block at which the contract was asked is canonical.
#[async_trait]
pub trait CachedNftMetadata: Send + Sync {
    async fn find_nft_metadata(&self, token: Address, id: U256) -> Result<Option<NftMetadata>, StoreError>;

    async fn save_nft_metadata(&self, token: Address, id: U256, metadata: NftMetadata) -> Result<(), StoreError>;
}

/// Why transactions failed, as the node told, stored so that it is asked once. Data of orphaned blocks is never returned: a
/// failure belongs to a transaction in a block.
#[async_trait]
pub trait CachedFailures: Send + Sync {
    async fn find_failure(&self, transaction: B256, block: B256) -> Result<Option<TransactionFailure>, StoreError>;

    async fn save_failure(&self, transaction: B256, block: B256, failure: TransactionFailure)
    -> Result<(), StoreError>;
}
