//! Classifies errors of the engine and the operating system: damage, or transient.

use std::io::{Error as IoError, ErrorKind};

use fjall::{Error, LsmError};
use store::StoreError;

/// Error numbers that are the same on every Unix and have no `ErrorKind`.
const EIO: i32 = 5;
const ENFILE: i32 = 23;
const EMFILE: i32 = 24;

/// Reported while the cause is unknown: the engine stops writing after a failure in its own threads.
pub(super) const UNKNOWN_CAUSE: &str = "an earlier write failed";

pub(super) fn store_error(error: Error) -> StoreError {
    match error {
        Error::Io(error) | Error::Storage(LsmError::Io(error)) => from_io_error(error),
        Error::Poisoned => StoreError::Unavailable { reason: UNKNOWN_CAUSE.to_owned() },
        Error::Locked => StoreError::InUse,
        Error::Storage(LsmError::ChecksumMismatch { .. }) => StoreError::Damaged {
            found: "bytes of a table on the disk have changed since they were written".to_owned(),
        },
        damage => StoreError::Damaged { found: damage.to_string() },
    }
}

pub(crate) fn from_io_error(error: IoError) -> StoreError {
    match error.kind() {
        // The engine reads what it wrote: if bytes are missing, the file was truncated.
        ErrorKind::UnexpectedEof | ErrorKind::InvalidData | ErrorKind::NotFound => {
            StoreError::Damaged { found: error.to_string() }
        }
        _ => StoreError::Unavailable { reason: reason(&error) },
    }
}

/// The operating system's well-known message, without a path.
fn reason(error: &IoError) -> String {
    let known = match (error.kind(), error.raw_os_error()) {
        (ErrorKind::StorageFull, _) => "no space left on device",
        (ErrorKind::QuotaExceeded, _) => "disk quota exceeded",
        (ErrorKind::FileTooLarge, _) => "file too large",
        (ErrorKind::ReadOnlyFilesystem, _) => "read-only file system",
        (ErrorKind::PermissionDenied, _) => "permission denied",
        (_, Some(EMFILE | ENFILE)) => "too many open files",
        (_, Some(EIO)) => "input/output error",
        (kind, _) => return kind.to_string(),
    };
    known.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transient_errors_are_distinguished_from_damage() {
        let transient = [
            (28, "no space left on device"),
            (EMFILE, "too many open files"),
            (ENFILE, "too many open files"),
            (EIO, "input/output error"),
            (27, "file too large"),
            (30, "read-only file system"),
        ];
        for (number, expected) in transient {
            let error = store_error(Error::Io(IoError::from_raw_os_error(number)));
            assert!(matches!(&error, StoreError::Unavailable { reason } if reason == expected), "{error:?}");
            assert!(error.is_transient());
        }
        for damage in [
            Error::InvalidTrailer,
            Error::Unrecoverable,
            Error::Storage(LsmError::InvalidHeader("Block")),
            Error::Storage(LsmError::Io(ErrorKind::UnexpectedEof.into())),
        ] {
            let error = store_error(damage);
            assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
            assert!(!error.is_transient());
        }
    }
}
