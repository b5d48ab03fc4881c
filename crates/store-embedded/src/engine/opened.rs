//! The open engine on a checked index.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

use fjall::{CompressionType, Database, Keyspace, PersistMode, Readable, Snapshot};
use store::StoreError;

use super::{
    commit_row,
    errors::{from_io_error, store_error},
    group::Group,
    journals,
    manifest::{self, Age},
    replay::Replay,
    watermark,
};

/// Journals above this size are flushed, so that little has to be replayed after a crash. It is the engine's minimum.
const JOURNAL_BYTES: u64 = 64 << 20;
/// File descriptors other than those of cached tables: journals, tables being written or merged, folders being synced.
const WORKING_DESCRIPTORS: usize = 124;
/// The engine's minimum of cached tables.
const MIN_CACHED: usize = 10;

/// Options for opening the engine.
#[derive(Debug, Clone)]
pub(crate) struct EngineOptions {
    pub(crate) cache_bytes: u64,
    pub(crate) write_buffer_bytes: u64,
    /// Maximum open file descriptors of the engine.
    pub(crate) descriptors: usize,
    /// Journals of more bytes become tables when the index is opened.
    pub(crate) replayed_bytes: u64,
}

/// The engine has its own folder, so that other files can be stored next to it.
pub(crate) const INDEX_FOLDER: &str = "index";

pub(super) fn index_folder(data: &Path) -> PathBuf {
    data.join(INDEX_FOLDER)
}

pub(crate) struct Opened {
    pub(super) db: Database,
    pub(super) groups: [Keyspace; Group::ALL.len()],
}

impl Opened {
    /// Checks and opens an index, or creates one. Also returns the number of its last commit.
    pub(super) fn open(data: &Path, options: &EngineOptions) -> Result<(Self, u64), StoreError> {
        let index = index_folder(data);
        let lock = lock(&index)?;
        let durable = watermark::read(data)?;
        check(&index, durable)?;
        let (last, replay) = Replay::begin(&index, durable.unwrap_or(0), options.replayed_bytes)?;
        // The engine takes the same lock.
        drop(lock);
        let opened = Self::start(&index, options)?;
        if let Some(replay) = replay {
            replay.run(&opened.groups)?;
        }
        let number = opened.last_commit()?;
        if last.is_some_and(|last| last != number) || number < durable.unwrap_or(0) {
            let durable = durable.unwrap_or(0).max(last.unwrap_or(0));
            return Err(StoreError::Damaged { found: journals::describe_cut(number, durable) });
        }
        Ok((opened, number))
    }

    /// Starts the engine. It panics on some kinds of damage.
    pub(super) fn start(index: &Path, options: &EngineOptions) -> Result<Self, StoreError> {
        let cached = options.descriptors.saturating_sub(WORKING_DESCRIPTORS).max(MIN_CACHED);
        let start = || -> fjall::Result<Self> {
            let builder = Database::builder(index).cache_size(options.cache_bytes).max_cached_files(Some(cached));
            let builder = builder.max_journaling_size(JOURNAL_BYTES).journal_compression(CompressionType::None);
            let db = builder.open()?;
            let open = |group: Group| db.keyspace(group.name(), || group.options(options.write_buffer_bytes));
            let groups = [open(Group::Dense)?, open(Group::Lookup)?, open(Group::Lists)?, open(Group::State)?];
            Ok(Self { db, groups })
        };
        match catch_unwind(AssertUnwindSafe(start)) {
            Ok(started) => started.map_err(store_error),
            Err(_) => Err(StoreError::Damaged { found: "the engine cannot open the index".to_owned() }),
        }
    }

    /// The number of the last commit, which must be the same in all keyspaces; 0 before the first one.
    pub(super) fn last_commit(&self) -> Result<u64, StoreError> {
        let snapshot = self.db.snapshot();
        let mut numbers = Vec::new();
        for keyspace in &self.groups {
            let row = snapshot.get(keyspace, commit_row::key()).map_err(store_error)?;
            numbers.push(row.map_or(Ok(0), |row| commit_row::read(&row))?);
        }
        match numbers[..] {
            [number, ..] if numbers.iter().all(|other| *other == number) => Ok(number),
            _ => {
                Err(StoreError::Damaged { found: format!("parts of the index end at different commits: {numbers:?}") })
            }
        }
    }

    pub(super) fn keyspace(&self, group: Group) -> &Keyspace {
        let [dense, lookup, lists, state] = &self.groups;
        match group {
            Group::Dense => dense,
            Group::Lookup => lookup,
            Group::Lists => lists,
            Group::State => state,
        }
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        self.db.snapshot()
    }

    /// Fails if the engine stopped writing after a failure in one of its own threads.
    pub(super) fn check_writable(&self) -> Result<(), StoreError> {
        self.db.persist(PersistMode::Buffer).map_err(store_error)
    }
}

/// Rejects what the engine would misread, and removes an unfinished index that was never written to.
fn check(index: &Path, durable: Option<u64>) -> Result<(), StoreError> {
    let age = if durable.is_some() { Age::Used } else { Age::New };
    if age == Age::New
        && manifest::is_unfinished(index).map_err(from_io_error)?
        && journals::read(index)?.last.is_none()
    {
        return std::fs::remove_dir_all(index).map_err(from_io_error);
    }
    if age == Age::Used && !index.join("version").exists() {
        return Err(StoreError::Damaged { found: format!("{} is missing", index.join("version").display()) });
    }
    manifest::check(index, age)
}

/// Held while the files are checked, so that no other process writes to them.
pub(crate) fn lock(index: &Path) -> Result<Option<File>, StoreError> {
    let file = match OpenOptions::new().read(true).write(true).open(index.join("lock")) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(from_io_error(error)),
    };
    try_lock(file).map(Some)
}

/// Held while a folder is opened, so that no other process moves its files meanwhile.
pub(crate) fn lock_folder(data: &Path) -> Result<File, StoreError> {
    let path = data.join("lock");
    try_lock(OpenOptions::new().create(true).truncate(false).write(true).open(path).map_err(from_io_error)?)
}

fn try_lock(file: File) -> Result<File, StoreError> {
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::InUse),
        Err(TryLockError::Error(error)) => Err(from_io_error(error)),
    }
}
