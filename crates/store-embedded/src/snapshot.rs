//! Snapshots of a data folder: folders that can be used as one.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use domain::{BlockNumber, BlockRef, ChainIdentity};
use store::{SnapshotContent, StoreError};

use crate::{
    StoreOptions,
    engine::{self, Engine, INDEX_FOLDER, WATERMARK_FILE, from_io_error, sync_folder},
    keys::{Key, Table},
    meta, private_files, replacement,
};

/// Next to the index, since links do not lead to another file system.
const UNFINISHED: &str = "snapshot.tmp";
const RESTORED: &str = "restore.tmp";
const LOCK: &str = "lock";

/// The folder in a data folder for a snapshot of which an archive is made. It is removed when the data folder is opened.
pub const ARCHIVED: &str = "archive.tmp";

/// Removes what snapshots and restorations that were killed have left.
pub(crate) fn clean_up(data: &Path) -> Result<(), StoreError> {
    [UNFINISHED, ARCHIVED, RESTORED].iter().try_for_each(|name| remove(&data.join(name))).map_err(from_io_error)
}

/// Copies the current state to a new folder. Commits wait while files are linked; the copy to another file system follows.
/// Blocks until it is done.
pub(crate) fn take(engine: &Engine, data: &Path, target: &Path, content: SnapshotContent) -> Result<u64, StoreError> {
    require_new(target)?;
    let unfinished = data.join(UNFINISHED);
    remove(&unfinished).map_err(from_io_error)?;
    let copied = match content {
        SnapshotContent::Everything => engine.snapshot(&unfinished),
        SnapshotContent::Index => engine.view().copy_to(&unfinished, &engine.small_options(), Table::is_public),
    };
    let taken = copied.and_then(|last| {
        place(&unfinished, target).map_err(from_io_error)?;
        Ok(last)
    });
    remove(&unfinished).map_err(from_io_error)?;
    taken
}

fn place(unfinished: &Path, target: &Path) -> io::Result<()> {
    if let Some(parent) = parent(target) {
        fs::create_dir_all(&parent)?;
        if fs::rename(unfinished, target).is_ok() {
            return sync_folder(&parent);
        }
    }
    copy_folder(unfinished, target).inspect_err(|_| {
        // It was new, and a part of a snapshot is of no use.
        let _ = remove(target);
    })
}

/// What the files of a snapshot contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inspected {
    pub index_version: u32,
    pub records_version: u32,
    /// The chain and the first block.
    pub chain: Option<(ChainIdentity, BlockNumber)>,
    /// None if nothing is indexed, or if the index is of another version.
    pub tip: Option<BlockRef>,
    pub commit: u64,
    /// Whether rows of users, or of what they looked at, are in it.
    pub has_private_rows: bool,
}

/// Opens and checks a snapshot that nothing else uses, and says what it contains.
///
/// # Errors
/// If it is damaged, if it is not one, or if the disk fails.
pub fn inspect(snapshot: &Path, options: StoreOptions) -> Result<Inspected, StoreError> {
    let engine = Engine::open(snapshot, options.engine())?;
    let view = engine.view();
    let versions = meta::find_versions(&view)?.ok_or(StoreError::Corrupt("an index without a version"))?;
    let mut has_private_rows = false;
    for table in Table::ALL.iter().copied().filter(|table| !table.is_public()) {
        has_private_rows |= view.prefix(table, &Key::EMPTY).next().transpose()?.is_some();
    }
    Ok(Inspected {
        index_version: versions.index,
        records_version: versions.records,
        chain: meta::find_binding(&view)?.map(|binding| (binding.identity, binding.start_block)),
        tip: if versions.index == meta::SCHEMA { meta::find_tip(&view)?.map(|tip| tip.block) } else { None },
        commit: engine.last_commit(),
        has_private_rows,
    })
}

/// Rewrites a snapshot to a new folder, without any row of users.
///
/// # Errors
/// If it is damaged, or if the disk fails.
pub fn copy_index(snapshot: &Path, into: &Path, options: StoreOptions) -> Result<(), StoreError> {
    let engine = Engine::open(snapshot, options.engine())?;
    engine.view().copy_to(into, &options.engine(), Table::is_public)?;
    Ok(())
}

/// Whether a data folder has an index, or is about to get one; not if only a restoration was interrupted.
#[must_use]
pub fn has_index(data: &Path) -> bool {
    let has = |name: &str| data.join(name).exists();
    has(INDEX_FOLDER) || replacement::folder_of_next(data).exists() || (has(WATERMARK_FILE) && !has(RESTORED))
}

/// A data folder in which a snapshot is being restored. Dropped before its end, it leaves nothing.
#[derive(Debug)]
pub struct Restoration {
    data: PathBuf,
    unfinished: PathBuf,
    _lock: fs::File,
}

impl Restoration {
    /// Begins in an empty or new folder.
    ///
    /// # Errors
    /// If the folder is not empty, if another process uses it, or if the disk fails.
    pub fn begin(data: &Path) -> Result<Self, StoreError> {
        let begun = Self::begin_anywhere(data)?;
        let is_empty = entries(data)?.iter().all(|name| name == LOCK);
        if is_empty { Ok(begun) } else { Err(StoreError::NotEmpty { folder: data.display().to_string() }) }
    }

    /// Begins in a folder that has no index, beside other files.
    ///
    /// # Errors
    /// If the folder has an index, if another process uses it, or if the disk fails.
    pub fn begin_beside_files(data: &Path) -> Result<Self, StoreError> {
        let begun = Self::begin_anywhere(data)?;
        if has_index(data) { Err(StoreError::NotEmpty { folder: data.display().to_string() }) } else { Ok(begun) }
    }

    fn begin_anywhere(data: &Path) -> Result<Self, StoreError> {
        fs::create_dir_all(data).map_err(from_io_error)?;
        let lock = engine::lock_folder(data)?;
        let unfinished = data.join(RESTORED);
        // Moved by one that was killed before it moved the index.
        if unfinished.exists() && !has_index(data) && data.join(WATERMARK_FILE).exists() {
            fs::remove_file(data.join(WATERMARK_FILE)).map_err(from_io_error)?;
        }
        remove(&unfinished).map_err(from_io_error)?;
        Ok(Self { data: data.to_owned(), unfinished, _lock: lock })
    }

    /// For the files, until they are complete. It is created by whoever writes them.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.unfinished
    }

    /// Checks the files in a folder, and moves them to the data folder.
    ///
    /// # Errors
    /// If they are damaged, or if the disk fails.
    pub fn finish(self, files: &Path, options: StoreOptions) -> Result<(), StoreError> {
        drop(Engine::open(files, options.engine())?);
        private_files::tighten(files).map_err(from_io_error)?;
        // The index is the last: without it, nothing opens the folder.
        let mut names: Vec<_> = entries(files)?;
        names.retain(|name| name != LOCK);
        names.sort_by_key(|name| name == INDEX_FOLDER);
        for name in names {
            fs::rename(files.join(&name), self.data.join(&name)).map_err(from_io_error)?;
        }
        sync_folder(&self.data).map_err(from_io_error)
    }
}

impl Drop for Restoration {
    fn drop(&mut self) {
        // The next one removes it otherwise.
        let _ = remove(&self.unfinished);
    }
}

/// Copies a snapshot to an empty or new data folder, and checks it.
///
/// # Errors
/// If the folder is not empty, if the snapshot is damaged, or if the disk fails. Then the folder stays empty.
pub fn restore(snapshot: &Path, data: &Path, options: StoreOptions) -> Result<(), StoreError> {
    let restoration = Restoration::begin(data)?;
    copy_folder(snapshot, restoration.folder()).map_err(from_io_error)?;
    let files = restoration.folder().to_owned();
    restoration.finish(&files, options)
}

fn entries(folder: &Path) -> Result<Vec<std::ffi::OsString>, StoreError> {
    let entries = fs::read_dir(folder).map_err(from_io_error)?;
    entries.map(|entry| Ok(entry.map_err(from_io_error)?.file_name())).collect()
}

fn require_new(target: &Path) -> Result<(), StoreError> {
    let is_new = !target.exists() || (target.is_dir() && entries(target)?.is_empty());
    if is_new { Ok(()) } else { Err(StoreError::NotEmpty { folder: target.display().to_string() }) }
}

fn parent(path: &Path) -> Option<PathBuf> {
    let parent = path.parent()?;
    Some(if parent.as_os_str().is_empty() { PathBuf::from(".") } else { parent.to_owned() })
}

/// The last file is that of the last durable commit: without it, the copy is not complete.
fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    let mut entries: Vec<_> = fs::read_dir(from)?.collect::<io::Result<_>>()?;
    entries.sort_by_key(|entry| entry.file_name() == WATERMARK_FILE);
    for entry in entries {
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy_folder(&source, &target)?;
        } else {
            fs::copy(&source, &target)?;
            fs::File::open(&target)?.sync_all()?;
        }
    }
    sync_folder(to)
}

fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
