//! Opens and repairs the store. The only module that names a storage engine.

use std::{path::Path, sync::Arc};

use anyhow::{Context, anyhow, bail};
use store::{Store, StoreError};
use store_embedded::{EmbeddedStore, StoreOptions};
pub(crate) use store_embedded::{LostRecords, Repair};

use crate::{
    memory::{MemoryBudget, StoreMemory},
    open_files,
};

/// Opens a data folder, or creates one.
pub(crate) fn open(data: &Path, memory: MemoryBudget) -> anyhow::Result<Arc<dyn Store>> {
    let StoreMemory { cache_bytes, row_cache_bytes, write_buffer_bytes, writer_cache_entries } = memory.store();
    let descriptors = open_files::store_share();
    let options = StoreOptions { cache_bytes, row_cache_bytes, write_buffer_bytes, writer_cache_entries, descriptors };
    open_with(data, options)
}

/// Opens an existing data folder for a maintenance command.
pub(crate) fn open_existing(data: &Path) -> anyhow::Result<Arc<dyn Store>> {
    require(data)?;
    open_with(data, StoreOptions::default())
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

fn require(data: &Path) -> anyhow::Result<()> {
    if !data.is_dir() {
        bail!("there is no data folder {}: give the right one with --data", data.display());
    }
    Ok(())
}

fn open_with(data: &Path, options: StoreOptions) -> anyhow::Result<Arc<dyn Store>> {
    let store = EmbeddedStore::open(data, options).map_err(|error| explain_open(error, data))?;
    Ok(Arc::new(store))
}

fn explain_open(error: StoreError, data: &Path) -> anyhow::Error {
    let data = data.display();
    let advice = match &error {
        StoreError::InUse => {
            format!("another explorer has {data} open: stop it, or use another folder with --data")
        }
        StoreError::NewerSchema { .. } => {
            format!("{data} was written by a newer explorer: use that one, or another folder with --data")
        }
        StoreError::OlderSchema { .. } => {
            format!("{data} was written by an older explorer: index again into another folder with --data")
        }
        StoreError::Damaged { .. } | StoreError::Corrupt(_) => format!(
            "{data} is damaged: restore a backup, or run `explorer repair --data {data}` to drop unreadable data (it reports \
             what is lost), or index into an empty folder"
        ),
        _ => format!("cannot open the data folder {data}"),
    };
    anyhow!(error).context(advice)
}

pub(crate) fn explain_binding(error: StoreError, data: &Path) -> anyhow::Error {
    let data = data.display();
    let advice = match &error {
        StoreError::OtherChain { .. } => {
            format!(
                "{data} holds another chain than the node's: point --rpc at the right node, or use another folder with --data"
            )
        }
        StoreError::OtherStart { stored, .. } => {
            format!("{data} begins at block {stored}: leave --start-block out, or use another folder with --data")
        }
        _ => format!("cannot use the data folder {data}"),
    };
    anyhow!(error).context(advice)
}
