//! The unix socket of the admin interface.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io,
    os::unix::{
        ffi::OsStrExt,
        fs::{FileTypeExt, PermissionsExt},
        net::UnixStream,
    },
    path::{Path, PathBuf},
};

use rustix::fs::{FlockOperation, flock};
use tokio::net::UnixListener;

/// Bytes of the longest path that a socket can have; one byte of the system's limit is its end.
#[cfg(target_os = "linux")]
const MAX_PATH_BYTES: usize = 107;
#[cfg(not(target_os = "linux"))]
const MAX_PATH_BYTES: usize = 103;

#[derive(Debug, thiserror::Error)]
pub(crate) enum SocketError {
    #[error("the path of the admin socket {path} has {bytes} bytes, and {MAX_PATH_BYTES} are allowed", path = .path.display())]
    PathTooLong { path: PathBuf, bytes: usize },
    #[error("another process uses the admin socket {}", .0.display())]
    InUse(PathBuf),
    #[error("{} exists and is not a socket", .0.display())]
    NotASocket(PathBuf),
    #[error("cannot create the admin socket {path}: {source}", path = .path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// A socket that only its owner can connect to. Removed when dropped.
#[derive(Debug)]
pub(crate) struct AdminSocket {
    path: PathBuf,
    /// Locked as long as the process lives: what is at the path without it was left behind by a killed one.
    _lock: File,
}

impl AdminSocket {
    /// Replaces a socket that a killed process has left behind, and never one in use.
    pub(crate) fn bind(path: &Path) -> Result<(Self, UnixListener), SocketError> {
        let bytes = path.as_os_str().as_bytes().len();
        if bytes > MAX_PATH_BYTES {
            return Err(SocketError::PathTooLong { path: path.to_owned(), bytes });
        }
        let failed = |source| SocketError::Io { path: path.to_owned(), source };
        let lock = lock(path).map_err(failed)?.ok_or_else(|| SocketError::InUse(path.to_owned()))?;
        match fs::symlink_metadata(path) {
            Ok(found) if !found.file_type().is_socket() => return Err(SocketError::NotASocket(path.to_owned())),
            // A process that does not know the lock.
            Ok(_) if UnixStream::connect(path).is_ok() => return Err(SocketError::InUse(path.to_owned())),
            Ok(_) => fs::remove_file(path).map_err(failed)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        // The umask of the process keeps others out until the mode is set.
        let listener = UnixListener::bind(path).map_err(failed)?;
        let socket = Self { path: path.to_owned(), _lock: lock };
        fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(failed)?;
        Ok((socket, listener))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for AdminSocket {
    fn drop(&mut self) {
        // The next process replaces it otherwise.
        let _ = fs::remove_file(&self.path);
    }
}

/// Locks the file beside the socket; None if another process has it locked.
fn lock(path: &Path) -> io::Result<Option<File>> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(name)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_in_use_is_not_replaced_and_an_abandoned_one_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("admin.sock");
        let (socket, _listener) = AdminSocket::bind(&path).unwrap();
        assert!(matches!(AdminSocket::bind(&path), Err(SocketError::InUse(_))));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        drop(socket);
        assert!(!path.exists());

        // As a killed process leaves it.
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        let (socket, listener) = AdminSocket::bind(&path).unwrap();
        assert!(UnixStream::connect(&path).is_ok());
        drop((socket, listener));

        let foreign = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert!(matches!(AdminSocket::bind(&path), Err(SocketError::InUse(_))), "it accepts connections");
        drop(foreign);
    }

    #[tokio::test]
    async fn a_file_is_not_replaced_and_a_long_path_is_refused_with_its_length() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("admin.sock");
        fs::write(&path, "notes").unwrap();
        assert!(matches!(AdminSocket::bind(&path), Err(SocketError::NotASocket(_))));
        assert_eq!(fs::read_to_string(&path).unwrap(), "notes");

        let long = folder.path().join("a".repeat(MAX_PATH_BYTES));
        let error = AdminSocket::bind(&long).unwrap_err().to_string();
        assert!(error.contains("bytes, and 10"), "{error}");
    }
}
