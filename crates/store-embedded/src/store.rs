use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use domain::{BlockNumber, ChainIdentity};
use metrics::Histogram;
use store::{
    CacheUse, CachedAccounts, CachedFailures, CachedNftMetadata, ChainReader, IndexWriter, OlderIndex, RawRecords,
    SnapshotContent, Store, StoreCheck, StoreError, UserRecords, VerifiedContracts, WebhookLimits, WebhookRecords,
};

use crate::{
    blocking::{ReadSlots, run_blocking},
    check,
    engine::{self, Engine, Repair},
    meta::{self, Binding},
    options::StoreOptions,
    private_files,
    raw_records::EmbeddedRawRecords,
    read::ReadCaches,
    reader::EmbeddedReader,
    reindex::Reindex,
    replacement, snapshot,
    upgrade::upgrade,
    user_records::EmbeddedUserRecords,
    verified_contracts::EmbeddedVerifiedContracts,
    webhook_records::EmbeddedWebhookRecords,
    write::start_over,
    writer::{EmbeddedWriter, Writers},
};

/// An open data folder. Only one process can have it open.
#[derive(Debug)]
pub struct EmbeddedStore {
    data: PathBuf,
    engine: Engine,
    options: StoreOptions,
    writers: Arc<Writers>,
    /// Shared by all readers, like the slots.
    read_caches: Arc<ReadCaches>,
    read_slots: Arc<ReadSlots>,
    read_times: Arc<Histogram>,
    user_records: EmbeddedUserRecords,
    verified_contracts: EmbeddedVerifiedContracts,
    webhook_records: EmbeddedWebhookRecords,
}

impl EmbeddedStore {
    /// Opens a data folder, or creates one.
    ///
    /// # Errors
    /// If another process has it open, if its version is newer, or older and not to be replaced, if it was changed or
    /// truncated since it was written, or if the disk fails.
    pub fn open(path: &Path, options: StoreOptions) -> Result<Self, StoreError> {
        std::fs::create_dir_all(path).map_err(|error| StoreError::Backend(error.into()))?;
        let _lock = engine::lock_folder(path)?;
        replacement::resume(path)?;
        snapshot::clean_up(path)?;
        let engine = Engine::open(path, options.engine())?;
        let engine = upgrade(engine, path, &options.engine(), options.older_index)?;
        start_over::resume(&engine)?;
        private_files::tighten(path).map_err(|error| StoreError::Backend(error.into()))?;
        let user_records = EmbeddedUserRecords::new(engine.clone());
        let read_slots = Arc::<ReadSlots>::default();
        let verified_contracts = EmbeddedVerifiedContracts::new(engine.clone(), Arc::clone(&read_slots));
        let webhook_records = EmbeddedWebhookRecords::new(engine.clone())?;
        Ok(Self {
            data: path.to_owned(),
            engine,
            options,
            writers: Arc::default(),
            read_caches: Arc::new(ReadCaches::new(options.row_cache_bytes)),
            read_slots,
            read_times: Arc::new(Histogram::of_latencies()),
            user_records,
            verified_contracts,
            webhook_records,
        })
    }

    /// Copies the current state to a new folder, which can be used as a data folder. Files that do not change are linked, if
    /// it is on the same file system. Meanwhile, commits wait, and reads go on. Returns the number of the last commit.
    ///
    /// # Errors
    /// If the folder exists and is not empty, or if the disk fails.
    pub fn snapshot(&self, target: &Path) -> Result<u64, StoreError> {
        snapshot::take(&self.engine, &self.data, target, SnapshotContent::Everything)
    }

    /// Restores a damaged data folder to its last complete commit; None if nothing is damaged.
    ///
    /// # Errors
    /// If no complete commit can be restored. Then the folder is left as it was.
    pub fn repair(path: &Path, options: StoreOptions) -> Result<Option<Repair>, StoreError> {
        let _lock = engine::lock_folder(path)?;
        replacement::resume(path)?;
        engine::repair(path, &options.engine())
    }

    /// The chain that the data belongs to; None before the first [`Self::bind`].
    ///
    /// # Errors
    /// If the disk fails.
    pub fn identity(&self) -> Result<Option<ChainIdentity>, StoreError> {
        Ok(meta::find_binding(&self.engine.view())?.map(|binding| binding.identity))
    }

    /// Binds the data to a chain permanently, or checks that it is bound to this one. Returns the first block to index.
    ///
    /// # Errors
    /// If the data belongs to another chain or starts at another block.
    pub fn bind(&self, identity: ChainIdentity, start_block: Option<BlockNumber>) -> Result<BlockNumber, StoreError> {
        let Some(stored) = meta::find_binding(&self.engine.view())? else {
            let binding = Binding { identity, start_block: start_block.unwrap_or(0) };
            let mut batch = self.engine.batch();
            meta::put_binding(&mut batch, &binding);
            batch.commit()?;
            self.engine.sync()?;
            return Ok(binding.start_block);
        };
        if stored.identity != identity {
            return Err(StoreError::OtherChain { stored: stored.identity, requested: identity });
        }
        match start_block {
            Some(requested) if requested != stored.start_block => {
                Err(StoreError::OtherStart { stored: stored.start_block, requested })
            }
            _ => Ok(stored.start_block),
        }
    }

    /// Becomes the writer. The one before is replaced, and can no longer write.
    #[must_use]
    pub fn writer(&self) -> EmbeddedWriter {
        let (entries, listing) = (self.options.writer_cache_entries, self.verified_contracts.listing());
        let (writers, caches) = (Arc::clone(&self.writers), Arc::clone(&self.read_caches));
        EmbeddedWriter::new(self.engine.clone(), writers, caches, entries, listing)
    }

    #[must_use]
    pub fn reader(&self) -> EmbeddedReader {
        EmbeddedReader::new(
            self.engine.clone(),
            Arc::clone(&self.read_caches),
            Arc::clone(&self.read_slots),
            Arc::clone(&self.read_times),
        )
    }

    #[must_use]
    pub fn user_records(&self) -> EmbeddedUserRecords {
        self.user_records.clone()
    }

    #[must_use]
    pub fn verified_contracts(&self) -> EmbeddedVerifiedContracts {
        self.verified_contracts.clone()
    }

    #[must_use]
    pub fn webhook_records(&self) -> EmbeddedWebhookRecords {
        self.webhook_records.clone()
    }

    /// Returns when everything committed so far is durable, also after a loss of power.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn sync(&self) -> Result<(), StoreError> {
        self.engine.sync()
    }

    /// Compacts the tables fully, and returns their size in bytes. Slow: for measurements.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn compacted_bytes(&self) -> Result<u64, StoreError> {
        self.engine.compact()?;
        Ok(self.engine.table_bytes())
    }
}

impl Reindex {
    /// Opens the index to fill it, or begins one.
    ///
    /// # Errors
    /// If another process fills it, if another version has written it, or if the disk fails.
    pub fn open(&self, options: StoreOptions) -> Result<EmbeddedStore, StoreError> {
        EmbeddedStore::open(self.folder(), StoreOptions { older_index: OlderIndex::Refuse, ..options })
    }
}

#[async_trait]
impl Store for EmbeddedStore {
    async fn identity(&self) -> Result<Option<ChainIdentity>, StoreError> {
        Self::identity(self)
    }

    async fn bind(&self, identity: ChainIdentity, start_block: Option<BlockNumber>) -> Result<BlockNumber, StoreError> {
        Self::bind(self, identity, start_block)
    }

    async fn is_dev_chain(&self) -> Result<bool, StoreError> {
        meta::is_dev_chain(&self.engine.view())
    }

    async fn set_dev_chain(&self, is_dev_chain: bool) -> Result<(), StoreError> {
        let mut batch = self.engine.batch();
        meta::set_dev_chain(&mut batch, is_dev_chain);
        batch.commit_durably()
    }

    async fn sync(&self) -> Result<(), StoreError> {
        Self::sync(self)
    }

    fn writer(&self) -> Box<dyn IndexWriter> {
        Box::new(Self::writer(self))
    }

    fn reader(&self) -> Arc<dyn ChainReader> {
        Arc::new(Self::reader(self))
    }

    fn accounts(&self) -> Arc<dyn CachedAccounts> {
        Arc::new(Self::reader(self))
    }

    fn failures(&self) -> Arc<dyn CachedFailures> {
        Arc::new(Self::reader(self))
    }

    fn nft_metadata(&self) -> Arc<dyn CachedNftMetadata> {
        Arc::new(Self::reader(self))
    }

    fn user_records(&self) -> Arc<dyn UserRecords> {
        Arc::new(Self::user_records(self))
    }

    fn verified_contracts(&self) -> Arc<dyn VerifiedContracts> {
        Arc::new(Self::verified_contracts(self))
    }

    fn webhook_records(&self, limits: WebhookLimits) -> Arc<dyn WebhookRecords> {
        Arc::new(Self::webhook_records(self).with_limits(limits))
    }

    fn raw_records(&self) -> Arc<dyn RawRecords> {
        let (verified, webhooks) = (Self::verified_contracts(self), Self::webhook_records(self));
        Arc::new(EmbeddedRawRecords::new(self.engine.clone(), verified, webhooks))
    }

    async fn compact(&self) -> Result<Option<u64>, StoreError> {
        let engine = self.engine.clone();
        run_blocking(move || {
            engine.compact()?;
            Ok(Some(engine.table_bytes()))
        })
        .await
    }

    async fn check(&self) -> Result<StoreCheck, StoreError> {
        let engine = self.engine.clone();
        run_blocking(move || Ok(check::check(&engine.view()))).await
    }

    async fn snapshot(&self, target: &Path, content: SnapshotContent) -> Result<Option<u64>, StoreError> {
        let (engine, data, target) = (self.engine.clone(), self.data.clone(), target.to_owned());
        run_blocking(move || snapshot::take(&engine, &data, &target, content).map(Some)).await
    }

    fn read_times(&self) -> &Histogram {
        &self.read_times
    }

    fn cache_uses(&self) -> Vec<CacheUse> {
        self.read_caches.uses()
    }
}
