//! Checks the files that tell the engine which tables exist. The engine writes their checksum but never verifies it; if
//! such a file is missing, the engine treats the keyspace as new and deletes its tables.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use store::StoreError;
use xxhash_rust::xxh3::xxh3_128;

use super::{errors::from_io_error, group::Group};

/// Whether the index has been opened successfully before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Age {
    New,
    Used,
}

fn damaged(found: String) -> StoreError {
    StoreError::Damaged { found }
}

/// Rejects an index that the engine would misread or delete.
pub(super) fn check(index: &Path, age: Age) -> Result<(), StoreError> {
    let folders = keyspace_folders(index).map_err(from_io_error)?;
    // One more: the engine's own folder, with the names of the others.
    if age == Age::Used && folders.len() < Group::ALL.len() + 1 {
        return Err(damaged(format!("{} of the index's {} folders are missing", 5 - folders.len(), 5)));
    }
    for folder in folders {
        check_keyspace(&folder, age)?;
    }
    Ok(())
}

fn check_keyspace(folder: &Path, age: Age) -> Result<(), StoreError> {
    let current = match fs::read(folder.join("current")) {
        Ok(current) => current,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // A crash between creating a folder and its first version leaves an empty folder.
            return if age == Age::New && !has_tables(folder).map_err(from_io_error)? {
                Ok(())
            } else {
                Err(damaged(format!("{} is missing", folder.join("current").display())))
            };
        }
        Err(error) => return Err(from_io_error(error)),
    };
    let parsed = parse_current(&current);
    let (version, checksum) =
        parsed.ok_or_else(|| damaged(format!("{} cannot be read", folder.join("current").display())))?;
    let path = folder.join(format!("v{version}"));
    let bytes = fs::read(&path).map_err(|error| damaged(format!("{}: {error}", path.display())))?;
    if xxh3_128(&bytes) != checksum {
        return Err(damaged(format!("{} has an invalid checksum", path.display())));
    }
    Ok(())
}

/// `version: u64, checksum: u128, 0`.
fn parse_current(bytes: &[u8]) -> Option<(u64, u128)> {
    let (version, rest) = bytes.split_first_chunk()?;
    let (checksum, kind) = rest.split_first_chunk()?;
    (kind == [0]).then_some((u64::from_le_bytes(*version), u128::from_le_bytes(*checksum)))
}

fn has_tables(folder: &Path) -> io::Result<bool> {
    match fs::read_dir(folder.join("tables")) {
        Ok(mut tables) => Ok(tables.next().is_some()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn keyspace_folders(index: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(index.join("keyspaces")) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut folders = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            folders.push(entry.path());
        }
    }
    Ok(folders)
}

/// Whether the creation of an index was interrupted, so that it is empty: the engine writes the file `version` last,
/// and rejects a folder without it. A loss of power can leave the file without its content.
pub(super) fn is_unfinished(index: &Path) -> io::Result<bool> {
    if !index.is_dir() {
        return Ok(false);
    }
    let written = match fs::read(index.join("version")) {
        Ok(version) => version.iter().any(|byte| *byte != 0),
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(error),
    };
    Ok(!written && keyspace_folders(index)?.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_current_of_the_wrong_length_is_rejected() {
        let mut bytes = 9_u64.to_le_bytes().to_vec();
        bytes.extend(77_u128.to_le_bytes());
        assert_eq!(parse_current(&bytes), None);
        bytes.push(0);
        assert_eq!(parse_current(&bytes), Some((9, 77)));
        bytes.push(0);
        assert_eq!(parse_current(&bytes), None);
    }
}
