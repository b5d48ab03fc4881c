//! A small file next to the index with the number of the newest commit that was acknowledged as durable. If the journal
//! ends before it, the journal was truncated.

use std::{
    fs::{File, OpenOptions},
    io::{self, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use store::StoreError;
use xxhash_rust::xxh3::xxh3_64;

use super::errors::from_io_error;

pub(crate) const FILE: &str = "durable-commit";
/// Two slots, a sector apart, are written alternately, so that a torn write leaves the other one intact.
const SLOT_BYTES: usize = 512;
const FILE_BYTES: usize = 2 * SLOT_BYTES;
const MAGIC: &[u8; 8] = b"EXPLMRK1";

#[derive(Debug)]
pub(super) struct Watermark {
    file: File,
    generation: u64,
    commit: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slot {
    generation: u64,
    commit: u64,
}

impl Slot {
    fn encode(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        let parts = [*MAGIC, self.generation.to_le_bytes(), self.commit.to_le_bytes()].concat();
        let checksum = xxh3_64(&parts).to_le_bytes();
        for (byte, value) in bytes.iter_mut().zip(parts.into_iter().chain(checksum)) {
            *byte = value;
        }
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (generation, commit) = (number(bytes, 8)?, number(bytes, 16)?);
        let slot = Self { generation, commit };
        bytes.starts_with(&slot.encode()).then_some(slot)
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

pub(super) fn path(data: &Path) -> PathBuf {
    data.join(FILE)
}

/// The number in the file; None if there is no file yet.
pub(super) fn read(data: &Path) -> Result<Option<u64>, StoreError> {
    Ok(read_slot(data)?.map(|slot| slot.commit))
}

fn read_slot(data: &Path) -> Result<Option<Slot>, StoreError> {
    let bytes = match std::fs::read(path(data)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(from_io_error(error)),
    };
    let slots = bytes.chunks(SLOT_BYTES).filter_map(Slot::decode);
    let newest = slots.max_by_key(|slot| slot.generation);
    match newest {
        Some(newest) if bytes.len() == FILE_BYTES => Ok(Some(newest)),
        _ => Err(StoreError::Damaged { found: format!("the file {FILE} cannot be read") }),
    }
}

impl Watermark {
    /// Opens the file, or creates one with this number.
    pub(super) fn open(data: &Path, commit: u64) -> Result<Self, StoreError> {
        match read_slot(data)? {
            Some(Slot { generation, commit }) => {
                let file = OpenOptions::new().write(true).open(path(data)).map_err(from_io_error)?;
                Ok(Self { file, generation, commit })
            }
            None => Self::create(data, commit).map_err(from_io_error),
        }
    }

    /// Creates the file, replacing an existing one.
    pub(super) fn create(data: &Path, commit: u64) -> io::Result<Self> {
        let unfinished = data.join(format!("{FILE}.new"));
        let mut file = File::create(&unfinished)?;
        let mut bytes = vec![0; FILE_BYTES];
        for (byte, value) in bytes.iter_mut().zip(Slot { generation: 0, commit }.encode()) {
            *byte = value;
        }
        file.write_all(&bytes)?;
        file.sync_all()?;
        std::fs::rename(&unfinished, path(data))?;
        sync_folder(data)?;
        Ok(Self { file, generation: 0, commit })
    }

    /// Stores the number. It survives a crash at once, and a loss of power soon after: not syncing here weakens only
    /// the detection of a truncated journal, never the journal itself.
    pub(super) fn set(&mut self, commit: u64) -> io::Result<()> {
        if commit <= self.commit {
            return Ok(());
        }
        let generation = self.generation + 1;
        self.file.seek(SeekFrom::Start((generation % 2) * SLOT_BYTES as u64))?;
        self.file.write_all(&Slot { generation, commit }.encode())?;
        (self.generation, self.commit) = (generation, commit);
        Ok(())
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_read_back_and_never_decreases() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(folder.path()).unwrap(), None);
        let mut watermark = Watermark::open(folder.path(), 7).unwrap();
        assert_eq!(read(folder.path()).unwrap(), Some(7));
        for commit in [8, 12, 10, 13] {
            watermark.set(commit).unwrap();
        }
        assert_eq!(read(folder.path()).unwrap(), Some(13));
        Watermark::open(folder.path(), 0).unwrap().set(20).unwrap();
        assert_eq!(read(folder.path()).unwrap(), Some(20));
    }

    #[test]
    fn one_damaged_slot_falls_back_to_the_other_and_two_are_an_error() {
        let folder = tempfile::tempdir().unwrap();
        Watermark::open(folder.path(), 7).unwrap().set(8).unwrap();
        let whole = std::fs::read(path(folder.path())).unwrap();
        for bit in 0..32 * 8 {
            let mut damaged = whole.clone();
            damaged[SLOT_BYTES + bit / 8] ^= 1 << (bit % 8);
            std::fs::write(path(folder.path()), &damaged).unwrap();
            assert_eq!(read(folder.path()).unwrap(), Some(7));
            damaged[bit / 8] ^= 1;
            std::fs::write(path(folder.path()), &damaged).unwrap();
            assert!(matches!(read(folder.path()), Err(StoreError::Damaged { .. })));
        }
        for length in [0, 100, SLOT_BYTES, FILE_BYTES - 1] {
            std::fs::write(path(folder.path()), &whole[..length]).unwrap();
            assert!(matches!(read(folder.path()), Err(StoreError::Damaged { .. })), "{length} bytes");
        }
    }
}
