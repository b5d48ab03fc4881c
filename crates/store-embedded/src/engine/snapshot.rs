//! Copies the files of an open index, while it is used. Tables never change, so links to them do; the other files are copied.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use fjall::PersistMode;
use store::StoreError;

use super::{
    Engine, EngineOptions, INDEX_FOLDER,
    errors::{from_io_error, store_error},
    journals,
    opened::{Opened, index_folder},
    watermark::{self, sync_folder},
};

/// The engine may remove a file that is about to be copied, since it has written a newer one. Then all is copied again.
const ATTEMPTS: usize = 20;
/// Of the engine that checks a copy, while the index is in use.
const CHECK_CACHE_BYTES: u64 = 8 << 20;
const CHECK_DESCRIPTORS: usize = 150;
const KEYSPACES: &str = "keyspaces";
const TABLES: &str = "tables";

impl Engine {
    /// Copies the current state to a new folder on the same file system, as a data folder. Commits wait meanwhile. Returns
    /// the number of the last commit in it.
    pub(crate) fn snapshot(&self, into: &Path) -> Result<u64, StoreError> {
        let mut attempt = 1;
        loop {
            let copied = self.copy_files(into)?;
            let checked = copied.map(|()| Opened::open(into, &self.small_options()));
            match checked {
                Some(Ok((opened, last))) => {
                    drop(opened);
                    return Ok(last);
                }
                Some(Err(error @ StoreError::Damaged { .. })) if attempt == ATTEMPTS => return Err(error),
                Some(Err(StoreError::Damaged { .. })) | None if attempt < ATTEMPTS => {
                    attempt += 1;
                    fs::remove_dir_all(into).map_err(from_io_error)?;
                }
                Some(Err(other)) => return Err(other),
                None => {
                    let reason = "the engine is too busy for a snapshot".to_owned();
                    return Err(StoreError::Unavailable { reason });
                }
            }
        }
    }

    /// For a second engine in the same process.
    pub(crate) fn small_options(&self) -> EngineOptions {
        EngineOptions { cache_bytes: CHECK_CACHE_BYTES, descriptors: CHECK_DESCRIPTORS, ..self.shared.options.clone() }
    }

    /// None if a file was removed meanwhile.
    fn copy_files(&self, into: &Path) -> Result<Option<()>, StoreError> {
        let mut commits = self.shared.commits();
        let opened = self.writable(&mut commits)?;
        if let Err(error) = opened.db.persist(PersistMode::SyncAll) {
            return Err(self.fail(&mut commits, store_error(error)));
        }
        let last = commits.last;
        commits.watermark.set(last).map_err(from_io_error)?;
        match copy(&self.shared.data, into) {
            Ok(()) => Ok(Some(())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(from_io_error(error)),
        }
    }
}

fn copy(data: &Path, into: &Path) -> io::Result<()> {
    let (from, to) = (index_folder(data), into.join(INDEX_FOLDER));
    fs::create_dir_all(&to)?;
    // Before the tables: what is flushed to a table meanwhile is in both.
    for (_, journal) in journals::list(&from).map_err(io::Error::other)? {
        copy_into(&journal, &to)?;
    }
    copy_into(&from.join("version"), &to)?;
    // The engine opens it, and does not create it.
    fs::File::create(to.join("lock"))?;
    for keyspace in fs::read_dir(from.join(KEYSPACES))? {
        let keyspace = keyspace?;
        if keyspace.file_type()?.is_dir() {
            copy_keyspace(&keyspace.path(), &to.join(KEYSPACES).join(keyspace.file_name()))?;
        }
    }
    sync_folder(&to.join(KEYSPACES))?;
    sync_folder(&to)?;
    copy_into(&watermark::path(data), into)?;
    sync_folder(into)
}

/// Tables are linked before and after the list of those that count, since both change.
fn copy_keyspace(from: &Path, to: &Path) -> io::Result<()> {
    let tables = to.join(TABLES);
    fs::create_dir_all(&tables)?;
    link_all(&from.join(TABLES), &tables)?;
    for file in fs::read_dir(from)? {
        let file = file?;
        if file.file_type()?.is_file() {
            copy_into(&file.path(), to)?;
        }
    }
    link_all(&from.join(TABLES), &tables)?;
    sync_folder(&tables)?;
    sync_folder(to)
}

fn link_all(from: &Path, to: &Path) -> io::Result<()> {
    for file in fs::read_dir(from)? {
        let file = file?;
        let target = to.join(file.file_name());
        if target.exists() {
            continue;
        }
        match fs::hard_link(file.path(), &target) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(error),
            // A file system without links.
            Err(_) => copy_into(&file.path(), to)?,
            Ok(()) => {}
        }
    }
    Ok(())
}

fn copy_into(file: &Path, folder: &Path) -> io::Result<()> {
    let target: PathBuf = folder.join(file.file_name().unwrap_or_default());
    fs::copy(file, &target)?;
    fs::File::open(target)?.sync_all()
}
