//! What an error of the engine or of the system means: damage, or something that may pass.

use std::io::{Error as IoError, ErrorKind};

use fjall::{Error, LsmError};
use store::StoreError;

/// Numbers that every Unix has in common, and for which the standard library has no kind.
const EIO: i32 = 5;
const ENFILE: i32 = 23;
const EMFILE: i32 = 24;

/// Shown while nobody knows yet why the engine stopped writing: it does so after a failure in its own threads.
pub(super) const UNKNOWN_CAUSE: &str = "an earlier write failed";

pub(super) fn store_error(error: Error) -> StoreError {
    match error {
        Error::Io(error) | Error::Storage(LsmError::Io(error)) => of_io(error),
        Error::Poisoned => StoreError::Unavailable { reason: UNKNOWN_CAUSE.to_owned() },
        Error::Locked => StoreError::InUse,
        damage => StoreError::Damaged { found: damage.to_string() },
    }
}

pub(super) fn of_io(error: IoError) -> StoreError {
    match error.kind() {
        // The engine asks for bytes that it wrote: where they are missing, something cut the file.
        ErrorKind::UnexpectedEof | ErrorKind::InvalidData | ErrorKind::NotFound => {
            StoreError::Damaged { found: error.to_string() }
        }
        _ => StoreError::Unavailable { reason: reason(&error) },
    }
}

/// Why the system refused, in its own well-known words and without a path.
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
    fn what_may_pass_is_told_apart_from_damage() {
        let passing = [
            (28, "no space left on device"),
            (EMFILE, "too many open files"),
            (ENFILE, "too many open files"),
            (EIO, "input/output error"),
            (27, "file too large"),
            (30, "read-only file system"),
        ];
        for (number, expected) in passing {
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
