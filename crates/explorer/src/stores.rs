//! Where data is kept. The only place that names a storage engine.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use store::{Store, StoreError};
use store_embedded::{EmbeddedStore, StoreOptions};
pub(crate) use store_embedded::{LostRecords, Repair};

use crate::memory::{MemoryBudget, StoreMemory};
use crate::open_files;

/// Opens a data folder, or makes a new one.
pub(crate) fn open(data: &Path, memory: MemoryBudget) -> anyhow::Result<Arc<dyn Store>> {
    let StoreMemory { cache_bytes, write_buffer_bytes, writer_cache_entries } = memory.store();
    let descriptors = open_files::store_share();
    open_with(data, StoreOptions { cache_bytes, write_buffer_bytes, writer_cache_entries, descriptors })
}

/// Opens a data folder for a command of the operator. It must be there.
pub(crate) fn open_existing(data: &Path) -> anyhow::Result<Arc<dyn Store>> {
    require(data)?;
    open_with(data, StoreOptions::default())
}

/// Brings a damaged data folder back to its last whole commit; None where nothing is damaged.
pub(crate) fn repair(data: &Path) -> anyhow::Result<Option<Repair>> {
    require(data)?;
    EmbeddedStore::repair(data, StoreOptions::default()).with_context(|| {
        format!(
            "{} cannot be repaired, and is as it was: put a copy of it back, or index in an empty folder with --data",
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
            format!("another explorer has {data} open: end it, or give this one a folder of its own with --data")
        }
        StoreError::NewerSchema { .. } => {
            format!("{data} was written by a newer explorer: use that one, or another folder with --data")
        }
        StoreError::OlderSchema { .. } => {
            format!("{data} was written by an older explorer: index anew in another folder with --data")
        }
        StoreError::Damaged { .. } | StoreError::Corrupt(_) => format!(
            "{data} is damaged: put a copy of it back, or let `explorer repair --data {data}` drop what cannot be read (it says \
             what is lost), or index in an empty folder"
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
