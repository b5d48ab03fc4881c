use std::{
    fs, io,
    path::{Path, PathBuf},
};

use alloy_primitives::{hex, keccak256};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use sha2::{Digest, Sha256, Sha512};

use super::CompilersError;

/// The `integrity` of a package in the npm registry.
pub(super) fn integrity(package: &[u8]) -> String {
    format!("sha512-{}", STANDARD.encode(Sha512::digest(package)))
}

pub(super) fn sha256(bytes: &[u8]) -> String {
    hex::encode_prefixed(Sha256::digest(bytes))
}

pub(super) fn keccak(bytes: &[u8]) -> String {
    keccak256(bytes).to_string()
}

pub(super) fn check_checksum(what: &str, found: String, expected: &str) -> Result<(), CompilersError> {
    if found == expected {
        return Ok(());
    }
    Err(CompilersError::Checksum { what: what.to_owned(), expected: expected.to_owned(), found })
}

/// The path of a file's checksum.
pub(super) fn checksum_path(path: &Path) -> PathBuf {
    path.with_added_extension("sha256")
}

/// Writes a file and its checksum. Either both exist completely or neither does.
pub(super) fn store(path: &Path, content: &[u8], executable: Executable) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let temporary = path.with_added_extension(format!("{}.new", std::process::id()));
    let written = write_both(path, &temporary, content, executable);
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
        let _ = remove(path);
    }
    written
}

fn write_both(path: &Path, temporary: &Path, content: &[u8], executable: Executable) -> io::Result<()> {
    fs::write(temporary, content)?;
    if executable == Executable::Yes {
        make_executable(temporary)?;
    }
    fs::write(checksum_path(path), sha256(content))?;
    fs::rename(temporary, path)
}

/// Removes a file and its checksum.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    let removed = fs::remove_file(path);
    let _ = fs::remove_file(checksum_path(path));
    removed
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Executable {
    Yes,
    No,
}

#[cfg(unix)]
fn make_executable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Checks a file against its checksum; a file without one was put there by the operator.
pub(super) fn check_stored(path: &Path) -> Result<(), CompilersError> {
    let expected = match fs::read_to_string(checksum_path(path)) {
        Ok(expected) => expected,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(CompilersError::Storage(error)),
    };
    let content = fs::read(path).map_err(CompilersError::Storage)?;
    check_checksum(&path.display().to_string(), sha256(&content), expected.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_file_that_has_changed_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/soljson-v0.8.20.js");
        store(&path, b"good", Executable::No).unwrap();
        check_stored(&path).unwrap();
        fs::write(&path, b"bad").unwrap();
        assert!(matches!(check_stored(&path), Err(CompilersError::Checksum { .. })));
    }

    #[test]
    fn a_failed_write_leaves_no_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("soljson-v0.8.20.js");
        // A folder that is not empty cannot be replaced by a file.
        fs::create_dir_all(path.join("inner")).unwrap();
        assert!(store(&path, b"good", Executable::No).is_err());
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["soljson-v0.8.20.js"]);
    }

    #[test]
    fn checksums_have_the_format_of_their_sources() {
        assert!(integrity(b"").starts_with(
            "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="
        ));
        assert_eq!(sha256(b"abc"), "0xba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
