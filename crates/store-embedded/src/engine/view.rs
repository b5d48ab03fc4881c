use std::{ops::Bound, sync::Arc};

use fjall::{Iter, Keyspace, Readable, Snapshot, UserValue};
use store::StoreError;

use super::{errors::store_error, opened::Opened, reopening};
use crate::keys::{Key, Table};

/// The value of a row.
pub(crate) type Row = UserValue;

/// A consistent snapshot of all tables.
pub(crate) struct View {
    /// None if it was taken during a reopen of the engine.
    pub(super) inner: Option<(Snapshot, Arc<Opened>)>,
}

impl View {
    pub(crate) fn get(&self, table: Table, key: &Key) -> Result<Option<UserValue>, StoreError> {
        let (snapshot, opened) = self.inner.as_ref().ok_or_else(reopening)?;
        snapshot.get(opened.keyspace(table.group()), key.in_table(table)).map_err(store_error)
    }

    /// The rows from `from` to before `to`, in ascending order; a double-ended iterator.
    pub(crate) fn range(&self, table: Table, from: &Key, to: &Key) -> Rows {
        let bounds = (Bound::Included(from.in_table(table)), Bound::Excluded(to.in_table(table)));
        self.rows(table, |snapshot, keyspace| snapshot.range(keyspace, bounds))
    }

    /// The rows from a key on whose keys start with `within`, in ascending order.
    pub(crate) fn range_from(&self, table: Table, from: &Key, within: &Key) -> Rows {
        let from = Bound::Included(from.in_table(table));
        let end = within.in_table(table).prefix_end();
        let end = end.map_or(Bound::Unbounded, Bound::Excluded);
        self.rows(table, |snapshot, keyspace| snapshot.range(keyspace, (from, end)))
    }

    /// Every row whose key starts with the prefix, in ascending order.
    pub(crate) fn prefix(&self, table: Table, prefix: &Key) -> Rows {
        self.rows(table, |snapshot, keyspace| snapshot.prefix(keyspace, prefix.in_table(table)))
    }

    fn rows(&self, table: Table, begin: impl FnOnce(&Snapshot, &Keyspace) -> Iter) -> Rows {
        let inner = self.inner.as_ref();
        let rows =
            inner.map(|(snapshot, opened)| (begin(snapshot, opened.keyspace(table.group())), Arc::clone(opened)));
        rows.map_or(Rows::Unavailable { is_reported: false }, |(rows, opened)| Rows::Open { rows, _opened: opened })
    }
}

impl crate::token_status::RowSource for &View {
    fn row(&mut self, table: Table, key: &Key) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.get(table, key)?.map(|row| row.to_vec()))
    }
}

/// Rows of one table. Keys come without the table's tag.
pub(crate) enum Rows {
    Open { rows: Iter, _opened: Arc<Opened> },
    Unavailable { is_reported: bool },
}

impl Rows {
    fn read(&mut self, next: impl FnOnce(&mut Iter) -> Option<fjall::Guard>) -> Option<<Self as Iterator>::Item> {
        match self {
            Self::Open { rows, .. } => next(rows).map(Self::open),
            Self::Unavailable { is_reported: true } => None,
            Self::Unavailable { is_reported } => {
                *is_reported = true;
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
