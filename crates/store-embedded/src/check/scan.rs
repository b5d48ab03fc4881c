//! Reads all rows of a table, also if some of them are damaged.

use std::panic::{AssertUnwindSafe, catch_unwind};

use store::StoreError;

use crate::{
    engine::View,
    keys::{Key, Table},
};

/// Rows that cannot be read.
#[derive(Debug)]
pub(super) struct Gap {
    /// The last row before it that can be read; None if it is at the beginning.
    pub(super) after: Option<Vec<u8>>,
    /// The first row after it that can be read.
    pub(super) before: Option<Vec<u8>>,
    pub(super) error: StoreError,
}

/// Passes the rows of a table on, up to the first that cannot be read. From there to the last such row is the gap.
pub(super) fn scan(view: &View, table: Table, mut row: impl FnMut(&[u8], &[u8])) -> Option<Gap> {
    let mut after = None;
    let mut rows = view.prefix(table, &Key::EMPTY);
    let error = loop {
        match contain(|| rows.next().transpose()) {
            Ok(Some((key, value))) => {
                row(&key, &value);
                after = Some(key);
            }
            Ok(None) => return None,
            Err(error) => break error,
        }
    };
    let mut before: Option<Vec<u8>> = None;
    let mut rows = view.prefix(table, &Key::EMPTY);
    while let Ok(Some((key, _))) = contain(|| rows.next_back().transpose()) {
        // Nothing is between them if the damage is not seen from behind.
        if after.as_ref().is_some_and(|after| key <= *after) {
            break;
        }
        before = Some(key);
    }
    Some(Gap { after, before, error })
}

/// The engine panics on some kinds of damage.
pub(super) fn contain<T>(read: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err(StoreError::Corrupt("the engine cannot read a row")))
}
