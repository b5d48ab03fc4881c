use std::ops::Bound;
use std::sync::Arc;

use fjall::{Iter, Keyspace, Readable, Snapshot, UserValue};
use store::StoreError;

use super::failure::store_error;
use super::opened::Opened;
use super::reopening;
use crate::keys::{Key, Table};

/// One consistent state of all tables.
pub(crate) struct View {
    /// None where it was taken while the engine was being opened again.
    pub(super) of: Option<(Snapshot, Arc<Opened>)>,
}

impl View {
    pub(crate) fn get(&self, table: Table, key: &Key) -> Result<Option<UserValue>, StoreError> {
        let (snapshot, opened) = self.of.as_ref().ok_or_else(reopening)?;
        snapshot.get(opened.keyspace(table.group()), key.in_table(table)).map_err(store_error)
    }

    /// The rows from one key to another, the second excluded, in ascending order; may be read from both ends.
    pub(crate) fn range(&self, table: Table, from: &Key, to: &Key) -> Rows {
        let bounds = (Bound::Included(from.in_table(table)), Bound::Excluded(to.in_table(table)));
        self.rows(table, |snapshot, keyspace| snapshot.range(keyspace, bounds))
    }

    /// The rows from a key on, as long as keys begin like the second one, in ascending order.
    pub(crate) fn range_from(&self, table: Table, from: &Key, within: &Key) -> Rows {
        let from = Bound::Included(from.in_table(table));
        let end = within.in_table(table).after_all_that_begin_so();
        let end = end.map_or(Bound::Unbounded, Bound::Excluded);
        self.rows(table, |snapshot, keyspace| snapshot.range(keyspace, (from, end)))
    }

    /// Every row whose key begins so, in ascending order.
    pub(crate) fn prefix(&self, table: Table, prefix: &Key) -> Rows {
        self.rows(table, |snapshot, keyspace| snapshot.prefix(keyspace, prefix.in_table(table)))
    }

    fn rows(&self, table: Table, begin: impl FnOnce(&Snapshot, &Keyspace) -> Iter) -> Rows {
        let of = self.of.as_ref();
        let begun = of.map(|(snapshot, opened)| (begin(snapshot, opened.keyspace(table.group())), Arc::clone(opened)));
        begun.map_or(Rows::Unavailable { is_told: false }, |(rows, opened)| Rows::Of { rows, _opened: opened })
    }
}

impl crate::standing::Rows for &View {
    fn row(&mut self, table: Table, key: &Key) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.get(table, key)?.map(|row| row.to_vec()))
    }
}

/// Rows of one table. A key comes without the mark of its table.
pub(crate) enum Rows {
    Of { rows: Iter, _opened: Arc<Opened> },
    Unavailable { is_told: bool },
}

impl Rows {
    fn read(&mut self, next: impl FnOnce(&mut Iter) -> Option<fjall::Guard>) -> Option<<Self as Iterator>::Item> {
        match self {
            Self::Of { rows, .. } => next(rows).map(Self::open),
            Self::Unavailable { is_told: true } => None,
            Self::Unavailable { is_told } => {
                *is_told = true;
                Some(Err(reopening()))
            }
        }
    }

    fn open(guard: fjall::Guard) -> Result<(Vec<u8>, UserValue), StoreError> {
        let (key, value) = guard.into_inner().map_err(store_error)?;
        Ok((key.get(1..).unwrap_or_default().to_vec(), value))
    }
}

impl Iterator for Rows {
    type Item = Result<(Vec<u8>, UserValue), StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read(Iter::next)
    }
}

impl DoubleEndedIterator for Rows {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.read(Iter::next_back)
    }
}
