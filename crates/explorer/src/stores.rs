//! Opens and repairs stores. The only module that names a storage engine.

pub(crate) mod advice;

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Context, anyhow, bail};
pub(crate) use store::OlderIndex;
use store::{RecordImport, Store, StoreError};
pub(crate) use store_embedded::{ARCHIVED, Inspected, LostRecords, Reindex, Repair, Restoration};
use store_embedded::{EmbeddedStore, INDEX_VERSION, RECORDS_VERSION, StoreOptions};
pub(crate) use store_postgres::{
    Compacted, PostgresStore as SharedStore, QueueNews, Sender, ServerVersion, SyncReport, TableSize,
};
use store_postgres::{OpenError, PostgresOptions, PostgresStore};

use self::advice::{explain_opening, explain_opening_to_snapshot, explain_reindexing, explain_restoring};
use crate::{
    config::{
        location::{DatabaseUrl, Location},
        memory::{MemoryBudget, StoreMemory},
    },
    process::open_files,
};

/// The newest versions of an index and of records that can be read.
pub(crate) const VERSIONS: (u32, u32) = (INDEX_VERSION, RECORDS_VERSION);

/// Pause between attempts to reach a database.
const RETRY: Duration = Duration::from_secs(1);

/// An open store.
pub(crate) struct OpenStore {
    pub(crate) store: Arc<dyn Store>,
    /// Set for a store that other processes may have open, too.
    pub(crate) shared: Option<Arc<SharedStore>>,
}

impl From<EmbeddedStore> for OpenStore {
    fn from(store: EmbeddedStore) -> Self {
        Self { store: Arc::new(store), shared: None }
    }
}

impl From<PostgresStore> for OpenStore {
    fn from(store: PostgresStore) -> Self {
        let store = Arc::new(store);
        Self { store: Arc::clone(&store) as Arc<dyn Store>, shared: Some(store) }
    }
}

/// How a store is opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Opening<'a> {
    pub(crate) location: &'a Location,
    pub(crate) create: Create,
    pub(crate) older_index: OlderIndex,
    pub(crate) purpose: Purpose,
}

/// Whether a missing data folder is created. The tables of a database always are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Create {
    IfMissing,
    No,
}

/// What a store is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A service with this much memory. It waits for a database that is not reachable.
    Service(MemoryBudget),
    /// A command that reads or changes what is in it.
    Command,
    /// All records are copied from or to it.
    CopyRecords,
    /// The tables of a database are created, compacted or measured.
    Tables,
    Snapshot,
}

impl<'a> Opening<'a> {
    /// An existing store for a command that reads or changes what is in it.
    pub(crate) fn of_command(location: &'a Location, older_index: OlderIndex) -> Self {
        Self { location, create: Create::No, older_index, purpose: Purpose::Command }
    }

    pub(crate) async fn open(self) -> anyhow::Result<OpenStore> {
        let opened = match self.location {
            Location::Folder(data) => self.open_folder(data)?.into(),
            Location::Database { url, read_url, connections } => {
                self.open_database(url, read_url.as_ref(), *connections).await?.into()
            }
        };
        match self.purpose {
            Purpose::Service(_) | Purpose::Command => require_complete_records(&opened, self.location).await?,
            Purpose::CopyRecords | Purpose::Tables | Purpose::Snapshot => {}
        }
        Ok(opened)
    }

    fn open_folder(self, data: &Path) -> anyhow::Result<EmbeddedStore> {
        if self.create == Create::No {
            require(data)?;
        }
        let options = match self.purpose {
            Purpose::Service(memory) => folder_options(memory, self.older_index),
            Purpose::Command | Purpose::CopyRecords | Purpose::Tables | Purpose::Snapshot => {
                StoreOptions { older_index: self.older_index, ..StoreOptions::default() }
            }
        };
        EmbeddedStore::open(data, options).map_err(|error| match self.purpose {
            Purpose::Snapshot => explain_opening_to_snapshot(error, data),
            Purpose::Service(_) | Purpose::Command | Purpose::CopyRecords | Purpose::Tables => {
                explain_opening(error, data)
            }
        })
    }

    async fn open_database(
        self,
        url: &DatabaseUrl,
        read_url: Option<&DatabaseUrl>,
        connections: Option<usize>,
    ) -> anyhow::Result<PostgresStore> {
        let mut options = PostgresOptions { older_index: self.older_index, ..PostgresOptions::default() };
        let Purpose::Service(memory) = self.purpose else {
            options.accepts_standby = matches!(self.purpose, Purpose::Command | Purpose::Tables);
            return PostgresStore::open(url.reveal(), options).await.map_err(explain_database);
        };
        options.writer_cache_entries = memory.store().writer_cache_entries;
        options.connections = connections.unwrap_or(options.connections);
        options.read_url = read_url.map(|url| url.reveal().to_owned());
        loop {
            match PostgresStore::open(url.reveal(), options.clone()).await {
                Err(OpenError::Store(error)) if error.is_transient() => {
                    tracing::warn!(%error, "waiting for the database");
                    tokio::time::sleep(RETRY).await;
                }
                opened => return opened.map_err(explain_database),
            }
        }
    }
}

/// Refuses a store that has only a part of the records of a file. From now on, it has records of its own.
async fn require_complete_records(opened: &OpenStore, location: &Location) -> anyhow::Result<()> {
    let raw = opened.store.raw_records();
    match raw.find_import().await? {
        None => Ok(()),
        Some(RecordImport { is_complete: false, source, .. }) => bail!(
            "{location} has only a part of the records of {source}: run `explorer records import` again, until it is complete"
        ),
        Some(_) => Ok(raw.save_import(None).await?),
    }
}

fn folder_options(memory: MemoryBudget, older_index: OlderIndex) -> StoreOptions {
    let StoreMemory { cache_bytes, row_cache_bytes, write_buffer_bytes, writer_cache_entries } = memory.store();
    let descriptors = open_files::store_share();
    StoreOptions {
        cache_bytes,
        row_cache_bytes,
        write_buffer_bytes,
        writer_cache_entries,
        descriptors,
        older_index,
        ..StoreOptions::default()
    }
}

/// Opens the new index beside the one of a data folder, or begins one.
pub(crate) fn open_reindex(reindex: &Reindex, memory: MemoryBudget) -> anyhow::Result<Arc<dyn Store>> {
    let opened = reindex.open(folder_options(memory, OlderIndex::Refuse));
    Ok(Arc::new(opened.map_err(|error| explain_reindexing(error, reindex.folder()))?))
}

/// Restores a damaged data folder to its last intact commit; None if it is not damaged.
pub(crate) fn repair(data: &Path) -> anyhow::Result<Option<Repair>> {
    require(data)?;
    EmbeddedStore::repair(data, StoreOptions::default()).with_context(|| {
        format!(
            "{} cannot be repaired and was not changed: restore a backup, or index into an empty folder with --data",
            data.display()
        )
    })
}

/// Says what a snapshot that nothing else uses contains. The process may have another store open.
pub(crate) fn inspect(snapshot: &Path) -> Result<Inspected, StoreError> {
    store_embedded::inspect(
        snapshot,
        StoreOptions { cache_bytes: 8 << 20, descriptors: 150, ..StoreOptions::default() },
    )
}

/// Copies a snapshot to an empty data folder.
pub(crate) fn restore(snapshot: &Path, data: &Path) -> anyhow::Result<()> {
    if !snapshot.join("index").is_dir() {
        bail!("{} is not a snapshot: give a folder or file that `explorer snapshot` created", snapshot.display());
    }
    store_embedded::restore(snapshot, data, StoreOptions::default()).map_err(|error| explain_restoring(error, data))
}

/// Begins to restore a snapshot in an empty data folder.
pub(crate) fn begin_restoration(data: &Path) -> anyhow::Result<Restoration> {
    Restoration::begin(data).map_err(|error| explain_restoring(error, data))
}

/// Moves complete files to the data folder.
pub(crate) fn finish_restoration(restoration: Restoration, files: &Path) -> Result<(), StoreError> {
    restoration.finish(files, StoreOptions::default())
}

/// Whether a data folder has an index.
pub(crate) fn has_index(data: &Path) -> bool {
    store_embedded::has_index(data)
}

/// Begins to fill a data folder without an index; it may have other files, such as the key of webhook secrets.
pub(crate) fn begin_bootstrap(data: &Path) -> anyhow::Result<Restoration> {
    Restoration::begin_beside_files(data).map_err(|error| explain_opening(error, data))
}

/// Rewrites a snapshot to a new folder, without any records of users.
pub(crate) fn copy_index(snapshot: &Path, into: &Path) -> Result<(), StoreError> {
    store_embedded::copy_index(snapshot, into, StoreOptions::default())
}

/// Opens an index that is not in its data folder yet.
pub(crate) fn open_bootstrapped(files: &Path) -> anyhow::Result<Arc<dyn Store>> {
    Ok(Arc::new(EmbeddedStore::open(files, StoreOptions::default())?))
}

fn require(data: &Path) -> anyhow::Result<()> {
    if !data.is_dir() {
        bail!("there is no data folder {}: give the right one with --data", data.display());
    }
    Ok(())
}

fn explain_database(error: OpenError) -> anyhow::Error {
    let advice = match &error {
        OpenError::InvalidUrl(_) => "invalid --database: give a URL such as postgres://user:password@host/database",
        OpenError::Refused(_) => "cannot log in to the database: check the user and the password in --database",
        OpenError::NoDatabase(_) => "the database does not exist: create it, or give another one with --database",
        OpenError::MissingRights(_) => {
            "the user of --database may not create or change its tables: grant it the rights, or make it the owner of the \
             database"
        }
        OpenError::Tls(_) => {
            "no encrypted connection to the database: check sslmode and sslrootcert in the URL of --database"
        }
        OpenError::OldServer(_) => "the server of --database is too old",
        OpenError::Store(StoreError::NewerSchema { .. }) => {
            "the database was written by a newer explorer: use that one, or another database with --database"
        }
        OpenError::Store(StoreError::OlderSchema { .. }) => {
            "the index in the database was written by an older explorer: `explorer database migrate`, or `explorer run` with \
             the role index, empties it to index the chain again, and keeps keys, webhooks and verified contracts"
        }
        OpenError::Store(_) => "cannot open the database",
    };
    anyhow!(error).context(advice)
}
