use std::{path::Path, sync::Arc};

use async_trait::async_trait;
use domain::{BlockNumber, ChainIdentity};
use metrics::Histogram;

use crate::{
    CachedAccounts, CachedFailures, CachedNftMetadata, ChainReader, IndexWriter, RawRecords, StoreCheck, StoreError,
    UserRecords, VerifiedContracts, WebhookLimits, WebhookRecords,
};

/// Lookups in a cache since the store was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheUse {
    pub cache: &'static str,
    pub hits: u64,
    pub misses: u64,
}

/// What a snapshot contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotContent {
    Everything,
    /// What was read from the chain, rewritten without data of users: no keys, webhooks, verified contracts, and nothing that
    /// was stored since somebody looked at it.
    Index,
}

/// An open store: access to its parts, and operations on all of them.
///
/// Only the code that opens a store names its engine; all other code uses this trait.
#[async_trait]
pub trait Store: Send + Sync {
    /// The chain that the data belongs to; None before the first [`Self::bind`].
    async fn identity(&self) -> Result<Option<ChainIdentity>, StoreError>;

    /// Binds the data to a chain permanently, or checks that it is bound to this one. Returns the first block to index.
    async fn bind(&self, identity: ChainIdentity, start_block: Option<BlockNumber>) -> Result<BlockNumber, StoreError>;

    /// Whether the index was filled from a chain for development, as [`Self::set_dev_chain`] said.
    async fn is_dev_chain(&self) -> Result<bool, StoreError>;

    /// Says whether the chain is one for development. Called while the index is empty: a copy of a public chain, served by a
    /// node for development, does not make a dev chain of an index that was filled before.
    async fn set_dev_chain(&self, is_dev_chain: bool) -> Result<(), StoreError>;

    /// Returns when everything committed so far is durable, also after a loss of power.
    async fn sync(&self) -> Result<(), StoreError>;

    /// Becomes the writer of the index. Whoever was the writer before is replaced: what it has committed stays, a write in
    /// progress completes first or fails, and later ones fail with [`StoreError::WriterReplaced`].
    fn writer(&self) -> Box<dyn IndexWriter>;

    fn reader(&self) -> Arc<dyn ChainReader>;

    fn accounts(&self) -> Arc<dyn CachedAccounts>;

    fn failures(&self) -> Arc<dyn CachedFailures>;

    fn nft_metadata(&self) -> Arc<dyn CachedNftMetadata>;

    fn user_records(&self) -> Arc<dyn UserRecords>;

    fn verified_contracts(&self) -> Arc<dyn VerifiedContracts>;

    fn webhook_records(&self, limits: WebhookLimits) -> Arc<dyn WebhookRecords>;

    /// For copying records to another store, or from one.
    fn raw_records(&self) -> Arc<dyn RawRecords>;

    /// Rewrites the index so that it takes as little space as possible, and returns its size in bytes; reads and writes
    /// continue. None if the store does so by itself.
    async fn compact(&self) -> Result<Option<u64>, StoreError>;

    /// Reads all rows, and compares counts, lists and rows with each other. Slow.
    async fn check(&self) -> Result<StoreCheck, StoreError>;

    /// Copies the current state to a new folder, which can be used as a data folder; reads continue, and writes wait while files
    /// are linked. Only one snapshot can be taken at a time. Returns the number of the last commit; None if the store is a
    /// database, which its server backs up.
    async fn snapshot(&self, target: &Path, content: SnapshotContent) -> Result<Option<u64>, StoreError>;

    /// How long queries of the readers took since the store was opened.
    fn read_times(&self) -> &Histogram;

    /// How often the caches of the readers had what was looked up.
    fn cache_uses(&self) -> Vec<CacheUse>;
}
