use std::{path::Path, sync::Arc, time::Instant};

use async_trait::async_trait;
use domain::{BlockNumber, ChainIdentity, ReplicaStatus, SyncStatus};
use futures::future::BoxFuture;
use metrics::Histogram;
use store::{
    CacheUse, CachedAccounts, CachedFailures, CachedNftMetadata, ChainReader, IndexWriter, RawRecords, SnapshotContent,
    Store, StoreCheck, StoreError, UserRecords, VerifiedContracts, WebhookLimits, WebhookRecords,
};
use tokio::sync::watch;

use crate::{
    chain::Chain,
    database::{Database, execute, get},
    database_url::DatabaseUrl,
    error::{describe, is_tls, store_error},
    indexer::{self, SyncReport},
    matching_lock::MatchingLock,
    migrations::{MIGRATIONS, Migrations},
    nft_metadata::PostgresNftMetadata,
    open_error::OpenError,
    options::PostgresOptions,
    quotas::PostgresQuotas,
    raw_records::PostgresRawRecords,
    read::Intersections,
    reader::PostgresReader,
    replica::{Polling, Replica},
    rows::{RowExt, int8},
    servers::LookingAround,
    user_records::PostgresUserRecords,
    verified_contracts::{PostgresJobs, PostgresVerifiedContracts},
    versions::{Listener, Versions},
    webhook_records::PostgresWebhookRecords,
    writer::{PostgresWriter, Writers},
    writer_heartbeat::WriterHeartbeat,
};

/// A database. Any number of processes can have it open; one of them has the writer.
#[derive(Debug)]
pub struct PostgresStore {
    database: Database,
    versions: Arc<Versions>,
    writers: Arc<Writers>,
    webhook_records: PostgresWebhookRecords,
    replica: Option<(Arc<Replica>, Polling)>,
    /// Shared by all readers.
    intersections: Arc<Intersections>,
    read_times: Arc<Histogram>,
    _listener: Listener,
    _heartbeat: WriterHeartbeat,
    _looking: LookingAround,
}

impl PostgresStore {
    /// Connects to a database, and creates or updates its tables.
    ///
    /// # Errors
    /// If the server is not reachable, refuses the user or is too old, or if the tables have a newer schema, or
    /// an index that is older and not to be replaced.
    pub fn open(url: &str, options: PostgresOptions) -> BoxFuture<'_, Result<Self, OpenError>> {
        Box::pin(Self::open_with(url, options, MIGRATIONS))
    }

    pub(crate) async fn open_with(
        url: &str,
        options: PostgresOptions,
        migrations: Migrations<'_>,
    ) -> Result<Self, OpenError> {
        let url = DatabaseUrl::parse(url)?;
        let parse_for_reads = |read_url: &str| DatabaseUrl::parse_for_reads(read_url, Arc::clone(&url.check.expected));
        let read_url = options.read_url.as_deref().map(parse_for_reads).transpose()?;
        // An untrusted certificate is a permanent error: not retried.
        match url.connect_unchecked().await {
            Err(error) if is_tls(&error) => Err(OpenError::Tls(describe(&error))),
            _ => Ok(Self::connect(url, read_url, options, migrations).await?),
        }
    }

    async fn connect(
        url: DatabaseUrl,
        read_url: Option<DatabaseUrl>,
        options: PostgresOptions,
        migrations: Migrations<'_>,
    ) -> Result<Self, StoreError> {
        let database = Database::new(url, &options)?;
        let mut client = database.connection().await?;
        migrations.migrate(&mut client, &options.schema, options.older_index).await?;
        let expected = &database.url().check.expected;
        expected.note_origin(&client).await;
        if let Some(chain) = Chain::read(&client).await?.identity {
            expected.note_chain(chain, None);
        }
        drop(client);
        let versions = Arc::new(Versions::new(Arc::clone(expected)));
        let may_be_standby = options.accepts_standby;
        let listener = Listener::start(database.url().clone(), Arc::clone(&versions), may_be_standby).await?;
        let pool = database.separate_pool(1)?;
        let writers = Arc::new(Writers::new(pool, Arc::clone(&versions), options.writer_cache_entries));
        let webhook_records = PostgresWebhookRecords::open(database.clone()).await?;
        let read_database = read_url.map(|url| Database::new(url, &options)).transpose()?;
        let replica = read_database.map(|database| Replica::start(database, Arc::clone(&versions)));
        let looking = LookingAround::start(database.url().clone());
        let heartbeat = WriterHeartbeat::start(database.clone(), Arc::clone(&writers));
        Ok(Self {
            database,
            versions,
            writers,
            webhook_records,
            replica,
            intersections: Arc::new(Intersections::new(options.list_step)),
            read_times: Arc::new(Histogram::of_latencies()),
            _listener: listener,
            _heartbeat: heartbeat,
            _looking: looking,
        })
    }

    pub(crate) fn database(&self) -> &Database {
        &self.database
    }

    pub(crate) fn intersections(&self) -> &Intersections {
        &self.intersections
    }

    /// The chain that the data belongs to; None before the first [`Self::bind`].
    ///
    /// # Errors
    /// If the database fails.
    pub fn identity(&self) -> BoxFuture<'_, Result<Option<ChainIdentity>, StoreError>> {
        Box::pin(async move { Ok(Chain::read(&self.database.connection().await?).await?.identity) })
    }

    /// Binds the data to a chain permanently, or checks that it is bound to this one. Returns the first block to index.
    ///
    /// # Errors
    /// If the data belongs to another chain or starts at another block.
    pub fn bind(
        &self,
        identity: ChainIdentity,
        start_block: Option<BlockNumber>,
    ) -> BoxFuture<'_, Result<BlockNumber, StoreError>> {
        Box::pin(async move {
            let mut client = self.database.connection().await?;
            let tx = client.transaction().await.map_err(store_error)?;
            // Two processes may start together.
            get(&tx, "select 1 from chain for update", &[]).await?;
            let chain = Chain::read(&tx).await?;
            let Some((stored, start)) = chain.identity.zip(chain.start_block) else {
                let start = start_block.unwrap_or(0);
                let sql = "update chain set chain_id = $1, genesis_hash = $2, start_block = $3";
                let hash = identity.genesis_hash;
                execute(&tx, sql, &[&int8(identity.chain_id), &hash.as_slice(), &int8(start)]).await?;
                tx.commit().await.map_err(store_error)?;
                self.database.url().check.expected.note_chain(identity, None);
                return Ok(start);
            };
            if stored != identity {
                return Err(StoreError::OtherChain { stored, requested: identity });
            }
            match start_block {
                Some(requested) if requested != start => Err(StoreError::OtherStart { stored: start, requested }),
                _ => Ok(start),
            }
        })
    }

    /// Becomes the writer. One that was taken from this store before is replaced, and can no longer write; one of another
    /// process is replaced when it ends or loses its connection, and until then the new one fails with
    /// [`StoreError::InUse`].
    #[must_use]
    pub fn writer(&self) -> PostgresWriter {
        PostgresWriter::new(Arc::clone(&self.writers))
    }

    /// Whether this process writes the index, as far as it knows.
    #[must_use]
    pub fn is_writer(&self) -> bool {
        self.writers.is_elected()
    }

    /// Publishes the sync status of the indexing process, for those that do not index. Call it about once a second in the one
    /// that does.
    ///
    /// # Errors
    /// If the database fails.
    pub fn report_sync<'a>(&'a self, status: &'a SyncStatus) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { indexer::report(&self.database.connection().await?, status, Instant::now()).await })
    }

    /// The sync status of the indexing process. Says so if none has reported for a while.
    ///
    /// # Errors
    /// If the database fails.
    pub fn read_sync(&self) -> BoxFuture<'_, Result<SyncReport, StoreError>> {
        Box::pin(async move {
            let report = indexer::read(&self.database.connection().await?, Instant::now()).await?;
            if let Some(chain) = report.status.chain {
                self.database.url().check.expected.note_chain(chain, report.settled);
            }
            Ok(report)
        })
    }

    /// The same as the standby knows it; None while no standby answers reads.
    ///
    /// # Errors
    /// If the standby fails.
    pub fn read_sync_of_standby(&self) -> BoxFuture<'_, Result<Option<SyncReport>, StoreError>> {
        Box::pin(async move {
            let Some((replica, _)) = self.replica.as_ref().filter(|(replica, _)| replica.usable_version().is_some())
            else {
                return Ok(None);
            };
            indexer::read(&replica.connection().await?, Instant::now()).await.map(Some)
        })
    }

    /// Whether a server of the URL can be written and is not used, since it lacks what this process has seen: the primary before a
    /// failover.
    #[must_use]
    pub fn has_old_primary(&self) -> bool {
        self.database.url().choice.has_old_primary()
    }

    /// Whether another process has the database open.
    ///
    /// # Errors
    /// If the database fails.
    pub fn is_used_elsewhere(&self) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(async move {
            let sql = "select exists (select 1 from pg_stat_activity where datname = current_database()
                and application_name like 'explorer %' and application_name <> current_setting('application_name'))";
            get(&self.database.connection().await?, sql, &[]).await?.value(0)
        })
    }

    /// Becomes the process that matches blocks with webhooks; None if another one is.
    ///
    /// # Errors
    /// If the database fails.
    pub fn lock_matching(&self) -> BoxFuture<'_, Result<Option<MatchingLock>, StoreError>> {
        Box::pin(async move { MatchingLock::acquire(self.database.url()).await })
    }

    #[must_use]
    pub fn reader(&self) -> PostgresReader {
        let replica = self.replica.as_ref().map(|(replica, _)| Arc::clone(replica));
        let measured = (Arc::clone(&self.intersections), Arc::clone(&self.read_times));
        PostgresReader::new(self.database.clone(), Arc::clone(&self.versions), replica, measured)
    }

    /// The state of the standby that answers reads; None if there is none.
    #[must_use]
    pub fn replica(&self) -> Option<watch::Receiver<ReplicaStatus>> {
        self.replica.as_ref().map(|(replica, _)| replica.status())
    }

    #[must_use]
    pub fn user_records(&self) -> PostgresUserRecords {
        PostgresUserRecords::new(self.database.clone())
    }

    #[must_use]
    pub fn verified_contracts(&self) -> PostgresVerifiedContracts {
        PostgresVerifiedContracts::new(self.database.clone(), Arc::clone(&self.versions))
    }

    #[must_use]
    pub fn webhook_records(&self) -> PostgresWebhookRecords {
        self.webhook_records.clone()
    }

    /// Counts the requests of callers over all processes.
    #[must_use]
    pub fn quotas(&self) -> PostgresQuotas {
        PostgresQuotas::new(self.database.clone())
    }

    /// Verification jobs that run in any process.
    #[must_use]
    pub fn running_jobs(&self) -> PostgresJobs {
        PostgresJobs::new(self.database.clone())
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn identity(&self) -> Result<Option<ChainIdentity>, StoreError> {
        Self::identity(self).await
    }

    async fn bind(&self, identity: ChainIdentity, start_block: Option<BlockNumber>) -> Result<BlockNumber, StoreError> {
        Self::bind(self, identity, start_block).await
    }

    async fn is_dev_chain(&self) -> Result<bool, StoreError> {
        get(&self.database.connection().await?, "select is_dev_chain from chain", &[]).await?.value(0)
    }

    async fn set_dev_chain(&self, is_dev_chain: bool) -> Result<(), StoreError> {
        execute(&self.database.connection().await?, "update chain set is_dev_chain = $1", &[&is_dev_chain]).await?;
        Ok(())
    }

    /// A commit has already waited for the disk, unless the server is configured otherwise.
    async fn sync(&self) -> Result<(), StoreError> {
        Ok(())
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
        Arc::new(PostgresNftMetadata(self.database.clone()))
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
        let (database, versions) = (self.database.clone(), Arc::clone(&self.versions));
        Arc::new(PostgresRawRecords::new(database, versions, Self::webhook_records(self)))
    }

    /// Rows of lists are merged in small steps by the process that writes.
    async fn compact(&self) -> Result<Option<u64>, StoreError> {
        Ok(None)
    }

    async fn check(&self) -> Result<StoreCheck, StoreError> {
        Self::check(self).await
    }

    /// The server backs it up.
    async fn snapshot(&self, _target: &Path, _content: SnapshotContent) -> Result<Option<u64>, StoreError> {
        Ok(None)
    }

    fn read_times(&self) -> &Histogram {
        &self.read_times
    }

    fn cache_uses(&self) -> Vec<CacheUse> {
        vec![self.intersections.uses()]
    }
}
