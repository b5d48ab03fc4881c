//! Restores a damaged index to its last complete commit, and reports what is lost.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use store::StoreError;

use super::{
    errors::from_io_error,
    journals::{self, Journals},
    manifest,
    opened::{EngineOptions, Opened, index_folder, lock},
    replay,
    watermark::{self, Watermark, sync_folder},
};
use crate::keys::{Table, number_in_key};

/// What a repair did.
#[derive(Debug)]
pub struct Repair {
    /// Why the index could not be opened.
    pub found: String,
    /// The index is now in the state after this commit.
    pub last_commit: u64,
    /// The newest commit known to have existed.
    pub newest_known: u64,
    pub lost: LostRecords,
    /// The folder with copies of the changed and removed files.
    pub copies: PathBuf,
}

/// The key of a verification starts with an address.
const ADDRESS_BYTES: usize = 20;

/// User records written by dropped commits, as far as they are still readable.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LostRecords {
    pub api_keys: BTreeSet<u64>,
    pub webhooks: BTreeSet<u64>,
    /// Addresses of verified contracts.
    pub verified: BTreeSet<Vec<u8>>,
}

impl LostRecords {
    fn note(&mut self, row_key: &[u8]) {
        let Some((tag, key)) = row_key.split_first() else { return };
        match Table::from_tag(*tag) {
            Some(Table::ApiKey) => self.api_keys.extend(number_in_key(key, 0)),
            Some(Table::Webhook) => self.webhooks.extend(number_in_key(key, 0)),
            Some(Table::VerifiedNumber) => self.verified.extend(key.get(..ADDRESS_BYTES).map(<[u8]>::to_vec)),
            _ => {}
        }
    }
}

/// Drops everything from the first unreadable commit on; None if nothing is damaged. The affected files are copied
/// first. If no consistent commit can be restored, everything is left as it was.
pub(crate) fn repair(data: &Path, options: &EngineOptions) -> Result<Option<Repair>, StoreError> {
    let index = index_folder(data);
    let found = match Opened::open(data, options) {
        Ok(_) => return Ok(None),
        Err(StoreError::Damaged { found }) => found,
        Err(other) => return Err(other),
    };
    let lock = lock(&index)?;
    manifest::check(&index, manifest::Age::Used)?;
    replay::put_back(&index).map_err(from_io_error)?;
    let journals = journals::read(&index)?;
    // An unreadable watermark is ignored; the commits themselves are checked below.
    let durable = watermark::read(data).unwrap_or(None);
    let copies = back_up(data, &index).map_err(from_io_error)?;
    let lost = lost_records(&journals);
    if let Some(damage) = &journals.damage {
        journals::truncate(&damage.path, damage.offset).map_err(from_io_error)?;
        for path in &damage.later {
            fs::remove_file(path).map_err(from_io_error)?;
        }
    }
    drop(lock);
    let last_commit = match Opened::start(&index, options).and_then(|opened| opened.last_commit()) {
        Ok(number) if journals.last.is_none_or(|last| last == number) => number,
        outcome => {
            restore(data, &index, &copies).map_err(from_io_error)?;
            return Err(outcome.err().unwrap_or(StoreError::Damaged { found }));
        }
    };
    Watermark::create(data, last_commit).map_err(from_io_error)?;
    let behind = journals.damage.iter().flat_map(|damage| &damage.behind).map(|frame| frame.commit).max();
    let newest_known = last_commit.max(durable.unwrap_or(0)).max(behind.unwrap_or(0));
    Ok(Some(Repair { found, last_commit, newest_known, lost, copies }))
}

fn lost_records(journals: &Journals) -> LostRecords {
    let mut lost = LostRecords::default();
    for key in journals.damage.iter().flat_map(|damage| &damage.keys_behind) {
        lost.note(key);
    }
    lost
}

fn back_up(data: &Path, index: &Path) -> io::Result<PathBuf> {
    let now = unix_time::millis();
    let copies = data.join(format!("before-repair-{now}"));
    fs::create_dir(&copies)?;
    for (_, path) in journals::list(index).map_err(io::Error::other)? {
        if let Some(name) = path.file_name() {
            fs::copy(&path, copies.join(name))?;
        }
    }
    let watermark = watermark::path(data);
    if let (true, Some(name)) = (watermark.exists(), watermark.file_name()) {
        fs::copy(&watermark, copies.join(name))?;
    }
    sync_folder(&copies)?;
    Ok(copies)
}

fn restore(data: &Path, index: &Path, copies: &Path) -> io::Result<()> {
    for entry in fs::read_dir(copies)? {
        let from = entry?.path();
        let is_journal = from.extension().is_some_and(|extension| extension == "jnl");
        if let Some(name) = from.file_name() {
            fs::copy(&from, if is_journal { index.join(name) } else { data.join(name) })?;
        }
    }
    fs::remove_dir_all(copies)
}
