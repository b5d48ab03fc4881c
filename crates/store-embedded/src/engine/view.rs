use std::{
    ops::{Bound, Range},
    sync::Arc,
};

use fjall::{Iter, Keyspace, Readable, Snapshot, UserValue};
use store::StoreError;

use super::{
    errors::store_error,
    opened::Opened,
    packed::{self, Numbered},
    reopening,
};
use crate::keys::{Key, Table, number_in_key};

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
        let find = |key: &Key| snapshot.get(opened.keyspace(table.group()), key.in_table(table)).map_err(store_error);
        if !table.is_packed() {
            return find(key);
        }
        let id = packed::id_of(key)?;
        find(&packed::entry_of(id))?.map_or(Ok(None), |entry| packed::find(&entry, id))
    }

    /// The rows from `from` to before `to`, in ascending order; a double-ended iterator.
    pub(crate) fn range(&self, table: Table, from: &Key, to: &Key) -> Rows {
        if table.is_packed() {
            return match (packed::id_of(from), packed::id_of(to)) {
                (Ok(from), Ok(to)) => self.numbered(table, from..to),
                _ => Rows::Failed(Some(StoreError::Corrupt("a range of rows by keys that are no ids"))),
            };
        }
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
        if table.is_packed() && *prefix == Key::EMPTY {
            return self.numbered(table, 0..u64::MAX);
        }
        self.rows(table, |snapshot, keyspace| snapshot.prefix(keyspace, prefix.in_table(table)))
    }

    /// The rows with these ids of a table whose rows share entries.
    fn numbered(&self, table: Table, ids: Range<u64>) -> Rows {
        let entries = self.rows(table, |snapshot, keyspace| {
            let from = packed::entry_of(ids.start).in_table(table);
            let end = Key::EMPTY.in_table(table).prefix_end();
            let to = if ids.end == u64::MAX { end } else { Some(Key::id(ids.end).in_table(table)) };
            snapshot.range(keyspace, (Bound::Included(from), to.map_or(Bound::Unbounded, Bound::Excluded)))
        });
        Rows::Packed { entries: Box::new(entries), ids, front: Vec::new().into_iter(), back: Vec::new().into_iter() }
    }

    fn rows(&self, table: Table, begin: impl FnOnce(&Snapshot, &Keyspace) -> Iter) -> Rows {
        let inner = self.inner.as_ref();
        let rows =
            inner.map(|(snapshot, opened)| (begin(snapshot, opened.keyspace(table.group())), Arc::clone(opened)));
        rows.map_or_else(|| Rows::Failed(Some(reopening())), |(rows, opened)| Rows::Open { rows, _opened: opened })
    }
}

impl crate::token_status::RowSource for &View {
    fn row(&mut self, table: Table, key: &Key) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.get(table, key)?.map(|row| row.to_vec()))
    }
}

/// Rows of one table. Keys come without the table's tag.
pub(crate) enum Rows {
    Open {
        rows: Iter,
        _opened: Arc<Opened>,
    },
    /// Some of them share an entry.
    Packed {
        entries: Box<Rows>,
        ids: Range<u64>,
        /// What is left of the entries read last, from both ends.
        front: std::vec::IntoIter<Numbered>,
        back: std::vec::IntoIter<Numbered>,
    },
    /// Reported once.
    Failed(Option<StoreError>),
}

type Found = Result<(Vec<u8>, UserValue), StoreError>;

impl Rows {
    fn open(guard: fjall::Guard) -> Found {
        let (key, value) = guard.into_inner().map_err(store_error)?;
        Ok((key.get(1..).unwrap_or_default().to_vec(), value))
    }

    /// The rows of an entry that are wanted.
    fn unpack(entry: Found, ids: &Range<u64>) -> Result<std::vec::IntoIter<Numbered>, StoreError> {
        let (key, entry) = entry?;
        let mut rows = packed::rows(number_in_key(&key, 0)?, &entry)?;
        rows.retain(|(id, _)| ids.contains(id));
        Ok(rows.into_iter())
    }
}

fn with_key((id, row): Numbered) -> Found {
    Ok((Key::id(id).as_slice().to_vec(), row))
}

impl Iterator for Rows {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        match self {
            Self::Open { rows, .. } => rows.next().map(Self::open),
            Self::Packed { entries, ids, front, back } => loop {
                if let Some(row) = front.next() {
                    return Some(with_key(row));
                }
                match entries.next() {
                    Some(entry) => match Self::unpack(entry, ids) {
                        Ok(rows) => *front = rows,
                        Err(error) => return Some(Err(error)),
                    },
                    None => return back.next().map(with_key),
                }
            },
            Self::Failed(error) => error.take().map(Err),
        }
    }
}

impl DoubleEndedIterator for Rows {
    fn next_back(&mut self) -> Option<Found> {
        match self {
            Self::Open { rows, .. } => rows.next_back().map(Self::open),
            Self::Packed { entries, ids, front, back } => loop {
                if let Some(row) = back.next_back() {
                    return Some(with_key(row));
                }
                match entries.next_back() {
                    Some(entry) => match Self::unpack(entry, ids) {
                        Ok(rows) => *back = rows,
                        Err(error) => return Some(Err(error)),
                    },
                    None => return front.next_back().map(with_key),
                }
            },
            Self::Failed(error) => error.take().map(Err),
        }
    }
}
