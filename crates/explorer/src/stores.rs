//! Opens and repairs stores. The only module that names a storage engine.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Context, anyhow, bail};
use domain::ChainIdentity;
pub(crate) use store::OlderIndex;
use store::{RecordImport, Store, StoreError};
pub(crate) use store_embedded::{ARCHIVED, Inspected, LostRecords, Reindex, Repair, Restoration};
use store_embedded::{EmbeddedStore, INDEX_VERSION, RECORDS_VERSION, StoreOptions};
pub(crate) use store_postgres::{Compacted, PostgresStore as SharedStore, QueueNews, Sender, ServerVersion, TableSize};
use store_postgres::{OpenError, PostgresOptions, PostgresStore};

use crate::{
    cli::DatabaseUrl,
    config::Location,
    memory::{MemoryBudget, StoreMemory},
    open_files,
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

/// Opens a store, or creates one. Waits for a database that is not reachable.
pub(crate) async fn open(
    location: &Location,
    memory: MemoryBudget,
    older_index: OlderIndex,
) -> anyhow::Result<OpenStore> {
    let opened = open_any(location, memory, older_index).await?;
    admit(opened.store.as_ref(), location).await?;
    Ok(opened)
}

async fn open_any(location: &Location, memory: MemoryBudget, older_index: OlderIndex) -> anyhow::Result<OpenStore> {
    match location {
        Location::Folder(data) => Ok(open_folder(data, folder_options(memory, older_index))?.into()),
        Location::Database { url, read_url } => {
            let StoreMemory { writer_cache_entries, .. } = memory.store();
            let read_url = read_url.as_ref().map(|url| url.reveal().to_owned());
            let options = PostgresOptions { writer_cache_entries, read_url, older_index, ..PostgresOptions::default() };
            loop {
                match PostgresStore::open(url.reveal(), options.clone()).await {
                    Err(OpenError::Store(error)) if error.is_transient() => {
                        tracing::warn!(%error, "waiting for the database");
                        tokio::time::sleep(RETRY).await;
                    }
                    opened => return Ok(opened.map_err(explain_database)?.into()),
                }
            }
        }
    }
}

fn folder_options(memory: MemoryBudget, older_index: OlderIndex) -> StoreOptions {
    let StoreMemory { cache_bytes, row_cache_bytes, write_buffer_bytes, writer_cache_entries } = memory.store();
    let descriptors = open_files::store_share();
    StoreOptions { cache_bytes, row_cache_bytes, write_buffer_bytes, writer_cache_entries, descriptors, older_index }
}

/// Opens the new index beside the one of a data folder, or begins one.
pub(crate) fn open_reindex(reindex: &Reindex, memory: MemoryBudget) -> anyhow::Result<Arc<dyn Store>> {
    let store = reindex.open(folder_options(memory, OlderIndex::Refuse)).map_err(|error| {
        let folder = reindex.folder().display();
        let advice = match &error {
            StoreError::InUse => format!("another `explorer reindex` fills {folder}"),
            StoreError::OlderSchema { .. } | StoreError::NewerSchema { .. } => {
                format!("another version has begun to fill {folder}: begin again with --from-scratch")
            }
            StoreError::Damaged { .. } | StoreError::Corrupt(_) => {
                format!("{folder} is damaged: begin again with --from-scratch")
            }
            _ => format!("cannot open {folder}"),
        };
        anyhow!(error).context(advice)
    })?;
    Ok(Arc::new(store))
}

/// Opens an existing store for a maintenance command.
pub(crate) async fn open_existing(location: &Location) -> anyhow::Result<Arc<dyn Store>> {
    require_folder(location)?;
    let store = open_or_create(location, OlderIndex::Refuse).await?.store;
    admit(store.as_ref(), location).await?;
    Ok(store)
}

/// Opens an existing store for a command that uses nothing but records.
pub(crate) async fn open_records(location: &Location) -> anyhow::Result<Arc<dyn Store>> {
    require_folder(location)?;
    let store = open_or_create(location, OlderIndex::Leave).await?.store;
    admit(store.as_ref(), location).await?;
    Ok(store)
}

/// Opens or creates a store that takes the records of a file.
pub(crate) async fn open_to_import(location: &Location) -> anyhow::Result<OpenStore> {
    open_or_create(location, OlderIndex::Refuse).await
}

/// Opens an existing store, whose records are written to a file.
pub(crate) async fn open_to_export(location: &Location) -> anyhow::Result<OpenStore> {
    require_folder(location)?;
    open_or_create(location, OlderIndex::Leave).await
}

async fn open_or_create(location: &Location, older_index: OlderIndex) -> anyhow::Result<OpenStore> {
    match location {
        Location::Folder(data) => {
            Ok(open_folder(data, StoreOptions { older_index, ..StoreOptions::default() })?.into())
        }
        Location::Database { url, .. } => Ok(open_database(url, older_index).await?.into()),
    }
}

/// Refuses a store that has only a part of the records of a file. From now on, it has records of its own.
async fn admit(store: &dyn Store, location: &Location) -> anyhow::Result<()> {
    let transfer = store.record_transfer();
    match transfer.find_import().await? {
        None => Ok(()),
        Some(RecordImport { is_complete: false, source, .. }) => bail!(
            "{location} has only a part of the records of {source}: run `explorer records import` again, until it is complete"
        ),
        Some(_) => Ok(transfer.save_import(None).await?),
    }
}

/// Opens a database, and creates or updates its tables.
pub(crate) async fn open_database(url: &DatabaseUrl, older_index: OlderIndex) -> anyhow::Result<SharedStore> {
    let options = PostgresOptions { older_index, ..PostgresOptions::default() };
    PostgresStore::open(url.reveal(), options).await.map_err(explain_database)
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

/// Opens an existing data folder, from which a snapshot is taken.
pub(crate) fn open_to_snapshot(data: &Path) -> anyhow::Result<Arc<dyn Store>> {
    require(data)?;
    let options = StoreOptions { older_index: OlderIndex::Leave, ..StoreOptions::default() };
    let store = EmbeddedStore::open(data, options).map_err(|error| match error {
        StoreError::InUse => anyhow!(error).context(format!(
            "an explorer has {} open and does not listen on its admin socket: give the socket with --admin-socket, or stop it \
             for the snapshot",
            data.display()
        )),
        other => explain_open(other, data),
    })?;
    Ok(Arc::new(store))
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
    Restoration::begin_beside_files(data).map_err(|error| explain_open(error, data))
}

/// Rewrites a snapshot to a new folder, without any record of users.
pub(crate) fn copy_index(snapshot: &Path, into: &Path) -> Result<(), StoreError> {
    store_embedded::copy_index(snapshot, into, StoreOptions::default())
}

/// Opens an index that is not in its data folder yet.
pub(crate) fn open_bootstrapped(files: &Path) -> anyhow::Result<Arc<dyn Store>> {
    Ok(Arc::new(EmbeddedStore::open(files, StoreOptions::default())?))
}

/// Why the chain of a node is not that of a snapshot.
pub(crate) fn explain_bootstrapped(error: StoreError) -> anyhow::Error {
    let advice = match &error {
        StoreError::OtherChain { .. } => "the snapshot has another chain than the node: use one of this chain",
        StoreError::OtherStart { .. } => {
            "the snapshot begins at another block than --start-block: leave one of them out"
        }
        _ => "cannot use the snapshot",
    };
    anyhow!(error).context(advice)
}

fn explain_restoring(error: StoreError, data: &Path) -> anyhow::Error {
    let data = data.display();
    let advice = match &error {
        StoreError::NotEmpty { .. } => "a snapshot is restored to an empty folder: give one with --data".to_owned(),
        StoreError::InUse => format!("an explorer has {data} open: give an empty folder with --data"),
        StoreError::Damaged { .. } => "the snapshot is damaged: use another one".to_owned(),
        _ => format!("cannot restore the snapshot to {data}"),
    };
    anyhow!(error).context(advice)
}

fn require_folder(location: &Location) -> anyhow::Result<()> {
    match location {
        Location::Folder(data) => require(data),
        Location::Database { .. } => Ok(()),
    }
}

fn require(data: &Path) -> anyhow::Result<()> {
    if !data.is_dir() {
        bail!("there is no data folder {}: give the right one with --data", data.display());
    }
    Ok(())
}

fn open_folder(data: &Path, options: StoreOptions) -> anyhow::Result<EmbeddedStore> {
    EmbeddedStore::open(data, options).map_err(|error| explain_open(error, data))
}

fn explain_open(error: StoreError, data: &Path) -> anyhow::Error {
    let data = data.display();
    let advice = match &error {
        StoreError::InUse => {
            format!("another explorer has {data} open: stop it, or use another folder with --data")
        }
        StoreError::NewerSchema { .. } | StoreError::NewerRecords { .. } => {
            format!("{data} was written by a newer explorer: use that one, or another folder with --data")
        }
        StoreError::OlderSchema { .. } => {
            format!(
                "the index in {data} was written by an older explorer: `explorer run` indexes the chain again, and keeps keys, \
                 webhooks and verified contracts (`explorer reindex` indexes it while the older one goes on serving)"
            )
        }
        StoreError::UnusableReindex { folder, .. } => format!(
            "the index in {data} was written by an older explorer, and `explorer reindex` has begun a new one: complete that one \
             and stop the command, or remove {folder}, then `explorer run` begins with an empty index"
        ),
        StoreError::Damaged { .. } | StoreError::Corrupt(_) => format!(
            "{data} is damaged: restore a backup, or run `explorer repair --data {data}` to drop unreadable data (it reports \
             what is lost), or index into an empty folder"
        ),
        _ => format!("cannot open the data folder {data}"),
    };
    anyhow!(error).context(advice)
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

/// What to do if the node serves another chain than the indexed one.
pub(crate) fn advise_other_chain(location: &Location, indexed: &ChainIdentity, found: &ChainIdentity) -> String {
    let (name, other) = match location {
        Location::Folder(data) => (data.display().to_string(), "folder with --data"),
        Location::Database { .. } => ("the database".to_owned(), "database with --database"),
    };
    format!(
        "{name} holds another chain than the node's: it has {indexed}, the node is on {found}. Point --rpc at the right node, use \
         another {other}, or give --on-new-chain reset once, which drops the index and keeps keys, webhooks and verified sources"
    )
}

pub(crate) fn explain_binding(error: StoreError, location: &Location) -> anyhow::Error {
    let (name, other) = match location {
        Location::Folder(data) => (data.display().to_string(), "folder with --data"),
        Location::Database { .. } => ("the database".to_owned(), "database with --database"),
    };
    let advice = match &error {
        StoreError::OtherChain { stored, requested } => advise_other_chain(location, stored, requested),
        StoreError::OtherStart { stored, .. } => {
            format!("{name} begins at block {stored}: leave --start-block out, or use another {other}")
        }
        _ => format!("cannot use {name}"),
    };
    anyhow!(error).context(advice)
}
