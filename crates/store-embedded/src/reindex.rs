//! A new index, filled beside the one that is served: a data folder inside of the data folder. It has no records until it takes
//! the place of the other one.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use store::StoreError;

use crate::{
    engine::{self, Engine, EngineOptions, INDEX_FOLDER, from_io_error, sync_folder},
    meta::{self, SCHEMA},
    record_takeover, replacement,
};

/// Not the folder of [`replacement`], which is dropped when the data folder is opened.
const FOLDER: &str = "reindex";
/// In the folder, once the index has reached the head of the chain.
const READY: &str = "ready";

/// The folder of a new index, which may not exist.
#[derive(Debug, Clone)]
pub struct Reindex {
    folder: PathBuf,
}

/// Whether the served index can be read by this version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Served {
    Readable,
    Older,
}

impl Reindex {
    #[must_use]
    pub fn of(data: &Path) -> Self {
        Self { folder: data.join(FOLDER) }
    }

    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Removes the index.
    ///
    /// # Errors
    /// If a process fills it, or if the disk fails.
    pub fn remove(&self) -> Result<(), StoreError> {
        if !self.folder.exists() {
            return Ok(());
        }
        let _lock = engine::lock_folder(&self.folder)?;
        let _index = engine::lock_index(&self.folder.join(INDEX_FOLDER))?;
        fs::remove_dir_all(&self.folder).map_err(from_io_error)
    }

    /// Whether it has reached the head of the chain.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.folder.join(READY).exists()
    }

    /// # Errors
    /// If the disk fails.
    pub fn mark_ready(&self) -> Result<(), StoreError> {
        let mark = || -> io::Result<()> {
            fs::File::create(self.folder.join(READY))?.sync_all()?;
            sync_folder(&self.folder)
        };
        mark().map_err(from_io_error)
    }

    /// Puts the index in the place of the one in the data folder, with all records, and opens it. Returns the other one as it
    /// was if there is nothing to put there.
    pub(crate) fn take_place(
        &self,
        data: &Path,
        old: Engine,
        served: Served,
        options: &EngineOptions,
    ) -> Result<Engine, StoreError> {
        if !self.folder.exists() {
            return Ok(old);
        }
        if served == Served::Readable && !self.is_ready() {
            tracing::warn!(
                folder = %self.folder.display(),
                "there is a new index that is not ready: it is used from the first start on after `explorer reindex` has completed it"
            );
            return Ok(old);
        }
        // Held until the folder has moved, so that nothing begins to fill it.
        let locked = engine::lock_folder(&self.folder);
        let next = locked.and_then(|lock| Ok((lock, self.check(&old, options)?)));
        let (_lock, next) = match (next, served) {
            (Ok(next), _) => next,
            (Err(error), Served::Older) => return Err(self.unusable(&error)),
            (Err(error), Served::Readable) => {
                tracing::warn!(folder = %self.folder.display(), %error, "the new index is not used");
                return Ok(old);
            }
        };
        let block = meta::find_tip(&next.view())?.map(|tip| tip.block.number);
        let rows = record_takeover::take_over(&old.view(), &next)?;
        drop((old, next));
        replacement::replace_with(data, &self.folder)?;
        tracing::info!(block, rows, "the new index is in place, with the records of users");
        Engine::open(data, options.clone())
    }

    /// Opens the new index, if it is one of this version and of the same chain.
    fn check(&self, old: &Engine, options: &EngineOptions) -> Result<Engine, StoreError> {
        let next = Engine::open(&self.folder, options.clone())?;
        match meta::find_versions(&next.view())?.map_or(SCHEMA, |versions| versions.index) {
            SCHEMA => {}
            stored if stored > SCHEMA => return Err(StoreError::NewerSchema { stored, known: SCHEMA }),
            stored => return Err(StoreError::OlderSchema { stored, known: SCHEMA }),
        }
        let (served, filled) = (meta::find_binding(&old.view())?, meta::find_binding(&next.view())?);
        match (served, filled) {
            (Some(served), Some(filled)) if served.identity != filled.identity => {
                Err(StoreError::OtherChain { stored: filled.identity, requested: served.identity })
            }
            _ => Ok(next),
        }
    }

    fn unusable(&self, error: &StoreError) -> StoreError {
        let reason = match error {
            StoreError::InUse => "`explorer reindex` still fills it".to_owned(),
            StoreError::OtherChain { stored, .. } => format!("it has another chain, with id {}", stored.chain_id),
            StoreError::NewerSchema { .. } | StoreError::OlderSchema { .. } => {
                "another version has filled it".to_owned()
            }
            other => other.to_string(),
        };
        StoreError::UnusableReindex { folder: self.folder.display().to_string(), reason }
    }
}
