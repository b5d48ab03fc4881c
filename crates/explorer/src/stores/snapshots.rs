//! Snapshots of data folders.

use std::{path::Path, sync::Arc};

use anyhow::{anyhow, bail};
use store::{Store, StoreError};
pub(crate) use store_embedded::{ARCHIVED, Inspected, Restoration};
use store_embedded::{EmbeddedStore, INDEX_VERSION, RECORDS_VERSION, StoreOptions};

use super::{OlderIndex, explain_open, require};

/// The newest versions of an index and of records that can be read.
pub(crate) const VERSIONS: (u32, u32) = (INDEX_VERSION, RECORDS_VERSION);

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

/// Says what a snapshot that nothing else uses contains.
pub(crate) fn inspect(snapshot: &Path) -> Result<Inspected, StoreError> {
    store_embedded::inspect(snapshot, StoreOptions::default())
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
