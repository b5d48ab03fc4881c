use std::{
    fs, io,
    path::{Path, PathBuf},
};

use alloy_primitives::{hex, keccak256};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use sha2::{Digest, Sha256, Sha512};

use super::CompilersError;

/// What the npm registry calls the integrity of a package.
pub(super) fn integrity(package: &[u8]) -> String {
    format!("sha512-{}", STANDARD.encode(Sha512::digest(package)))
}

pub(super) fn sha256(bytes: &[u8]) -> String {
    hex::encode_prefixed(Sha256::digest(bytes))
}

pub(super) fn keccak(bytes: &[u8]) -> String {
    keccak256(bytes).to_string()
}

pub(super) fn must_be(what: &str, found: String, expected: &str) -> Result<(), CompilersError> {
    if found == expected {
        return Ok(());
    }
    Err(CompilersError::Checksum { what: what.to_owned(), expected: expected.to_owned(), found })
}

/// Where it stands what a file must hash to.
pub(super) fn beside(path: &Path) -> PathBuf {
    path.with_added_extension("sha256")
}

/// Writes a file and, beside it, what it must hash to. Both are there wholly or not at all.
pub(super) fn keep(path: &Path, content: &[u8], executable: Executable) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let aside = path.with_added_extension(format!("{}.new", std::process::id()));
    let written = write_both(path, &aside, content, executable);
    if written.is_err() {
        let _ = fs::remove_file(&aside);
        let _ = remove(path);
    }
    written
}

fn write_both(path: &Path, aside: &Path, content: &[u8], executable: Executable) -> io::Result<()> {
    fs::write(aside, content)?;
    if executable == Executable::Yes {
        make_executable(aside)?;
    }
    fs::write(beside(path), sha256(content))?;
    fs::rename(aside, path)
}

/// Removes a file and what stands beside it.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    let removed = fs::remove_file(path);
    let _ = fs::remove_file(beside(path));
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

/// Checks a file against what stands beside it; a file without is the operator's own.
pub(super) fn check_kept(path: &Path) -> Result<(), CompilersError> {
    let expected = match fs::read_to_string(beside(path)) {
        Ok(expected) => expected,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(CompilersError::Storage(error)),
    };
    let content = fs::read(path).map_err(CompilersError::Storage)?;
    must_be(&path.display().to_string(), sha256(&content), expected.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_file_that_has_changed_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/soljson-v0.8.20.js");
        keep(&path, b"good", Executable::No).unwrap();
        check_kept(&path).unwrap();
        fs::write(&path, b"bad").unwrap();
        assert!(matches!(check_kept(&path), Err(CompilersError::Checksum { .. })));
    }

    #[test]
    fn a_file_that_cannot_be_written_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("soljson-v0.8.20.js");
        // A folder of that name, with something in it, cannot be replaced by a file.
        fs::create_dir_all(path.join("inner")).unwrap();
        assert!(keep(&path, b"good", Executable::No).is_err());
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["soljson-v0.8.20.js"]);
    }

    #[test]
    fn checksums_are_written_as_their_sources_write_them() {
        assert!(integrity(b"").starts_with(
            "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="
        ));
        assert_eq!(sha256(b"abc"), "0xba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
