//! Snapshots of a data folder: folders that can be used as one.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use store::StoreError;

use crate::{
    StoreOptions,
    engine::{self, Engine, INDEX_FOLDER, WATERMARK_FILE, from_io_error, sync_folder},
    private_files,
};

/// Next to the index, since links do not lead to another file system.
const UNFINISHED: &str = "snapshot.tmp";
const RESTORED: &str = "restore.tmp";

/// Removes what a snapshot that was killed has left.
pub(crate) fn clean_up(data: &Path) -> Result<(), StoreError> {
    remove(&data.join(UNFINISHED)).map_err(from_io_error)
}

/// Copies the current state to a new folder. Commits wait while files are linked; the copy to another file system follows.
/// Blocks until it is done.
pub(crate) fn take(engine: &Engine, data: &Path, target: &Path) -> Result<u64, StoreError> {
    require_new(target)?;
    clean_up(data)?;
    let unfinished = data.join(UNFINISHED);
    let taken = engine.snapshot(&unfinished).and_then(|last| {
        place(&unfinished, target).map_err(from_io_error)?;
        Ok(last)
    });
    clean_up(data)?;
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

/// Copies a snapshot to an empty or new data folder, and checks it.
///
/// # Errors
/// If the folder is not empty, if the snapshot is damaged, or if the disk fails. Then the folder stays empty.
pub fn restore(snapshot: &Path, data: &Path, options: StoreOptions) -> Result<(), StoreError> {
    let unfinished = data.join(RESTORED);
    fs::create_dir_all(data).map_err(from_io_error)?;
    let _lock = engine::lock_folder(data)?;
    remove(&unfinished).map_err(from_io_error)?;
    require_empty(data)?;
    let restored = copy_folder(snapshot, &unfinished).map_err(from_io_error).and_then(|()| {
        drop(Engine::open(&unfinished, options.engine())?);
        private_files::tighten(&unfinished).map_err(from_io_error)?;
        // The index is the last: without it, nothing opens the folder.
        let mut names: Vec<_> = entries(&unfinished)?;
        names.sort_by_key(|name| name == INDEX_FOLDER);
        for name in names {
            fs::rename(unfinished.join(&name), data.join(&name)).map_err(from_io_error)?;
        }
        sync_folder(data).map_err(from_io_error)
    });
    remove(&unfinished).map_err(from_io_error)?;
    restored
}

fn entries(folder: &Path) -> Result<Vec<std::ffi::OsString>, StoreError> {
    let entries = fs::read_dir(folder).map_err(from_io_error)?;
    entries.map(|entry| Ok(entry.map_err(from_io_error)?.file_name())).collect()
}

fn require_empty(data: &Path) -> Result<(), StoreError> {
    let is_empty = entries(data)?.iter().all(|name| name == "lock");
    if is_empty { Ok(()) } else { Err(StoreError::NotEmpty { folder: data.display().to_string() }) }
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
