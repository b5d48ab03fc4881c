//! Files in a data folder are readable by its owner only: the index contains user records, and next to it is the key
//! that encrypts webhook secrets.

use std::{io, path::Path};

/// Removes all permissions of other users from a folder and its contents. A file owned by another user is left
/// unchanged, with a warning; one that is removed meanwhile, by a process that fills a new index there, is skipped.
#[cfg(unix)]
pub(crate) fn tighten(folder: &Path) -> io::Result<()> {
    match tighten_existing(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

#[cfg(unix)]
fn tighten_existing(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    const OTHERS: u32 = 0o077;

    let metadata = std::fs::symlink_metadata(folder)?;
    // A link's target is not part of the folder.
    if metadata.is_symlink() {
        return Ok(());
    }
    let mut permissions = metadata.permissions();
    if permissions.mode() & OTHERS != 0 {
        permissions.set_mode(permissions.mode() & !OTHERS);
        if let Err(error) = std::fs::set_permissions(folder, permissions) {
            tracing::warn!(path = %folder.display(), %error, "other users may read a file of the data folder");
        }
    }
    if metadata.is_dir() {
        for entry in std::fs::read_dir(folder)? {
            tighten(&entry?.path())?;
        }
    }
    Ok(())
}

#[cfg(not(unix))]
pub(crate) fn tighten(_folder: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    #[test]
    fn other_users_lose_their_permissions_and_the_owner_keeps_them() {
        let data = tempfile::tempdir().unwrap();
        let (folder, file) = (data.path().join("index"), data.path().join("index/0.jnl"));
        fs::create_dir(&folder).unwrap();
        fs::write(&file, "row").unwrap();
        for (path, mode) in [(data.path(), 0o755), (&folder, 0o775), (&file, 0o744)] {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
        tighten(data.path()).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(data.path()), mode(&folder), mode(&file)), (0o700, 0o700, 0o700));
    }
}
