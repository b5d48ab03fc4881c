//! Journals become tables when an index is opened, before the engine would replay them.
//!
//! The engine inserts every change into its memtables, one by one, which takes seconds for full journals. Sorted, and without those
//! that a later one replaced, they are written in a fraction of that.
//!
//! The journals are set aside first, by renaming their folder, and deleted when all tables are durable. An empty one takes their place.
//! A crash in between repeats it: nothing is committed before the end, and the last changes are the same rows again.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use fjall::Keyspace;
use store::StoreError;

use super::{
    errors::{from_io_error, store_error},
    journal::{Change, changes},
    journals,
    watermark::sync_folder,
};

/// Has the journals that were set aside.
const FOLDER: &str = "replaying";
/// The same folder while it is filled.
const UNFINISHED: &str = "replaying.new";
/// The same folder while it is deleted.
const DONE: &str = "replaying.done";

/// Journals that were set aside.
#[derive(Debug)]
pub(super) struct Replay {
    index: PathBuf,
    journals: Vec<Vec<u8>>,
}

impl Replay {
    /// Checks the journals of an index, and sets them aside if they are longer than the engine should replay. Goes on with those
    /// that were set aside before a crash. Also returns the number of the last commit; None if there is none.
    pub(super) fn begin(index: &Path, durable: u64, longest: u64) -> Result<(Option<u64>, Option<Self>), StoreError> {
        if index.join(FOLDER).is_dir() {
            // The engine has begun a new one, or they are the same.
            remove_journals(index).and_then(|()| begin_journal(index)).map_err(from_io_error)?;
            let last = journals::prepare(&index.join(FOLDER), durable)?.last;
            let journals = load(&index.join(FOLDER))?;
            if !journals.iter().all(|journal| changes(journal, |_| ()).is_some()) {
                return Err(unreadable());
            }
            return Ok((last, Some(Self { index: index.to_owned(), journals })));
        }
        let prepared = journals::prepare(index, durable)?;
        if prepared.bytes <= longest {
            return Ok((prepared.last, None));
        }
        let journals = load(index)?;
        let is_readable = journals.iter().all(|journal| changes(journal, |_| ()).is_some());
        if !is_readable {
            return Ok((prepared.last, None));
        }
        match set_aside(index) {
            Ok(()) => Ok((prepared.last, Some(Self { index: index.to_owned(), journals }))),
            // Some file systems have no links.
            Err(error)
                if error.kind() == io::ErrorKind::Unsupported || error.kind() == io::ErrorKind::PermissionDenied =>
            {
                tracing::debug!(%error, "journals cannot be set aside: the engine replays them");
                Ok((prepared.last, None))
            }
            Err(error) => Err(from_io_error(error)),
        }
    }

    /// Writes the tables of all keyspaces, in an engine that has not seen the journals.
    pub(super) fn run(self, keyspaces: &[Keyspace; 4]) -> Result<(), StoreError> {
        let mut by_keyspace = [const { Vec::new() }; 4];
        let [dense, lookup, lists, state] = &mut by_keyspace;
        let mut places = keyspaces.iter().map(Keyspace::id).zip([dense, lookup, lists, state]).collect::<Vec<_>>();
        let mut is_known = true;
        for journal in &self.journals {
            let read = changes(journal, |change| match places.iter_mut().find(|(id, _)| *id == change.keyspace) {
                Some((_, changes)) => changes.push(change),
                None => is_known = false,
            });
            is_known &= read.is_some();
        }
        if !is_known {
            return Err(unreadable());
        }
        std::thread::scope(|scope| {
            let each = keyspaces.iter().zip(by_keyspace);
            let threads: Vec<_> =
                each.map(|(keyspace, changes)| scope.spawn(move || ingest(keyspace, changes))).collect();
            // The engine panics on some kinds of damage.
            let ended = threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err(unreadable())));
            ended.collect::<Vec<_>>().into_iter().collect::<Result<(), _>>()
        })?;
        finish(&self.index).map_err(from_io_error)
    }
}

fn unreadable() -> StoreError {
    StoreError::Damaged { found: "the journals that were set aside cannot be replayed".to_owned() }
}

fn load(folder: &Path) -> Result<Vec<Vec<u8>>, StoreError> {
    journals::list(folder)?.iter().map(|(_, path)| fs::read(path).map_err(from_io_error)).collect()
}

/// Writes the last change of each row.
fn ingest(keyspace: &Keyspace, mut changes: Vec<Change<'_>>) -> Result<(), StoreError> {
    // Those of one row stay in order.
    changes.sort_by(|one, other| one.key.cmp(other.key));
    let mut ingestion = keyspace.start_ingestion().map_err(store_error)?;
    for row in changes.chunk_by(|one, other| one.key == other.key) {
        match row.last() {
            Some(Change { key, value: Some(value), .. }) => ingestion.write(*key, *value),
            Some(Change { key, value: None, .. }) => ingestion.write_tombstone(*key),
            None => Ok(()),
        }
        .map_err(store_error)?;
    }
    ingestion.finish().map_err(store_error)
}

/// Moves all journals at once: they are linked into a folder, which then gets its name.
fn set_aside(index: &Path) -> io::Result<()> {
    let unfinished = index.join(UNFINISHED);
    remove_folder(&unfinished)?;
    fs::create_dir(&unfinished)?;
    for (_, path) in journals::list(index).map_err(io::Error::other)? {
        if let Some(name) = path.file_name() {
            fs::hard_link(&path, unfinished.join(name))?;
        }
    }
    sync_folder(&unfinished)?;
    fs::rename(&unfinished, index.join(FOLDER))?;
    sync_folder(index)?;
    remove_journals(index)?;
    begin_journal(index)
}

/// An empty journal: without any, the engine would take the index for a new one, and number its next changes from zero, below those
/// that are in tables, which would then hide the new ones.
fn begin_journal(index: &Path) -> io::Result<()> {
    fs::File::create(index.join("1.jnl"))?.sync_all()?;
    sync_folder(index)
}

/// Deletes the journals that were set aside.
fn finish(index: &Path) -> io::Result<()> {
    remove_folder(&index.join(DONE))?;
    fs::rename(index.join(FOLDER), index.join(DONE))?;
    sync_folder(index)?;
    remove_folder(&index.join(DONE))
}

/// Undoes [`set_aside`]. Tables that were written already are the same rows.
pub(super) fn put_back(index: &Path) -> io::Result<()> {
    let folder = index.join(FOLDER);
    if !folder.is_dir() {
        return Ok(());
    }
    remove_journals(index)?;
    for (_, path) in journals::list(&folder).map_err(io::Error::other)? {
        if let Some(name) = path.file_name() {
            fs::hard_link(&path, index.join(name))?;
        }
    }
    sync_folder(index)?;
    finish(index)
}

fn remove_journals(index: &Path) -> io::Result<()> {
    for (_, path) in journals::list(index).map_err(io::Error::other)? {
        fs::remove_file(path)?;
    }
    sync_folder(index)
}

fn remove_folder(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
