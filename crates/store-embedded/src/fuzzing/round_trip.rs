use std::fmt::Debug;

use store::StoreError;

/// Rows are corrupt or have one canonical form, which reads as the same value and is no longer than the row.
pub(crate) fn reads_what_it_writes<T: PartialEq + Debug>(
    row: &[u8],
    read: impl Fn(&[u8]) -> Result<T, StoreError>,
    write: impl Fn(&T) -> Vec<u8>,
) {
    let value = match read(row) {
        Ok(value) => value,
        Err(StoreError::Corrupt(_)) => return,
        Err(other) => panic!("an unreadable row is corrupt, not {other:?}"),
    };
    let canonical = write(&value);
    assert!(canonical.len() <= row.len(), "{} bytes are written, {} were read", canonical.len(), row.len());
    let again = read(&canonical).expect("a written row can be read");
    assert_eq!(again, value);
    assert_eq!(write(&again), canonical);
}
