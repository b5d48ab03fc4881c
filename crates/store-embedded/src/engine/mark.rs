//! A small file beside the index with the number of the newest commit that was acknowledged as durable. A journal that ends
//! before it was cut.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use store::StoreError;
use xxhash_rust::xxh3::xxh3_64;

use super::failure::of_io;

const FILE: &str = "durable-commit";
/// Two slots are written in turn, a sector apart, so that a write that is cut off leaves the other one.
const SLOT_BYTES: usize = 512;
const FILE_BYTES: usize = 2 * SLOT_BYTES;
const MAGIC: &[u8; 8] = b"EXPLMRK1";

#[derive(Debug)]
pub(super) struct Mark {
    file: File,
    turn: u64,
    commit: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slot {
    turn: u64,
    commit: u64,
}

impl Slot {
    fn encode(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        let parts = [*MAGIC, self.turn.to_le_bytes(), self.commit.to_le_bytes()].concat();
        let checksum = xxh3_64(&parts).to_le_bytes();
        for (byte, value) in bytes.iter_mut().zip(parts.into_iter().chain(checksum)) {
            *byte = value;
        }
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (turn, commit) = (number(bytes, 8)?, number(bytes, 16)?);
        let slot = Self { turn, commit };
        bytes.starts_with(&slot.encode()).then_some(slot)
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

pub(super) fn path(data: &Path) -> PathBuf {
    data.join(FILE)
}

/// The number in the file; None where there is no file yet.
pub(super) fn read(data: &Path) -> Result<Option<u64>, StoreError> {
    Ok(read_slot(data)?.map(|slot| slot.commit))
}

fn read_slot(data: &Path) -> Result<Option<Slot>, StoreError> {
    let bytes = match std::fs::read(path(data)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(of_io(error)),
    };
    let slots = bytes.chunks(SLOT_BYTES).filter_map(Slot::decode);
    let newest = slots.max_by_key(|slot| slot.turn);
    match newest {
        Some(newest) if bytes.len() == FILE_BYTES => Ok(Some(newest)),
        _ => Err(StoreError::Damaged { found: format!("the file {FILE} cannot be read") }),
    }
}

impl Mark {
    /// Opens the file; makes one with this number where there is none.
    pub(super) fn open(data: &Path, commit: u64) -> Result<Self, StoreError> {
        match read_slot(data)? {
            Some(Slot { turn, commit }) => {
                let file = OpenOptions::new().write(true).open(path(data)).map_err(of_io)?;
                Ok(Self { file, turn, commit })
            }
            None => Self::create(data, commit).map_err(of_io),
        }
    }

    /// Makes the file, in the place of one that may be there.
    pub(super) fn create(data: &Path, commit: u64) -> io::Result<Self> {
        let unfinished = data.join(format!("{FILE}.new"));
        let mut file = File::create(&unfinished)?;
        let mut bytes = vec![0; FILE_BYTES];
        for (byte, value) in bytes.iter_mut().zip(Slot { turn: 0, commit }.encode()) {
            *byte = value;
        }
        file.write_all(&bytes)?;
        file.sync_all()?;
        std::fs::rename(&unfinished, path(data))?;
        sync_folder(data)?;
        Ok(Self { file, turn: 0, commit })
    }

    /// Writes the number down. It outlasts the process at once, and a loss of power soon after: not waiting for the disk
    /// here weakens only the detection of a cut journal, and never the journal.
    pub(super) fn set(&mut self, commit: u64) -> io::Result<()> {
        if commit <= self.commit {
            return Ok(());
        }
        let turn = self.turn + 1;
        self.file.seek(SeekFrom::Start((turn % 2) * SLOT_BYTES as u64))?;
        self.file.write_all(&Slot { turn, commit }.encode())?;
        (self.turn, self.commit) = (turn, commit);
        Ok(())
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_found_again_and_never_falls() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(folder.path()).unwrap(), None);
        let mut mark = Mark::open(folder.path(), 7).unwrap();
        assert_eq!(read(folder.path()).unwrap(), Some(7));
        for commit in [8, 12, 10, 13] {
            mark.set(commit).unwrap();
        }
        assert_eq!(read(folder.path()).unwrap(), Some(13));
        Mark::open(folder.path(), 0).unwrap().set(20).unwrap();
        assert_eq!(read(folder.path()).unwrap(), Some(20));
    }

    #[test]
    fn a_damaged_slot_leaves_the_one_before_and_two_are_noticed() {
        let folder = tempfile::tempdir().unwrap();
        Mark::open(folder.path(), 7).unwrap().set(8).unwrap();
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
