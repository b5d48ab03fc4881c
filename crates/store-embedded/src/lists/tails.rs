//! The open chunks of the lists that the writer extends.

use store::StoreError;

use super::chunk::{Chunk, Entry, Role};
use crate::{
    cache::{AgedCache, FastMap},
    engine::{Batch, View},
    keys::{Key, ListKey, Table},
};

/// Appends to and truncates lists. The open chunk of a list is read once, cached while it is in use, and written once
/// per batch.
#[derive(Debug)]
pub(crate) struct Tails {
    /// As stored on disk.
    committed: AgedCache<ListKey, Chunk>,
    /// Changed by the current batch.
    changed: FastMap<ListKey, Chunk>,
}

impl Tails {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { committed: AgedCache::of_taken(capacity), changed: FastMap::default() }
    }

    /// Returns the last id before.
    pub(crate) fn append(
        &mut self,
        view: &View,
        batch: &mut Batch,
        list: ListKey,
        entry: Entry,
    ) -> Result<Option<u64>, StoreError> {
        let tail = self.open(view, list)?;
        // The open chunk is empty only if the list is.
        let last = (!tail.is_empty()).then(|| tail.last());
        if tail.is_full() {
            batch.put(Table::chunks_of(list.kind), &Key::chunk(list, tail.number()), tail.to_row());
            *tail = tail.next();
        }
        tail.push(entry)?;
        Ok(last)
    }

    /// Drops the entries with an id of `cut` or above, and reopens full chunks that contain it.
    pub(crate) fn truncate(
        &mut self,
        view: &View,
        batch: &mut Batch,
        list: ListKey,
        cut: u64,
    ) -> Result<(), StoreError> {
        let tail = self.open(view, list)?;
        tail.truncate(cut)?;
        while tail.is_empty() && tail.number() > 0 {
            let key = Key::chunk(list, tail.number() - 1);
            let row = view
                .get(Table::chunks_of(list.kind), &key)?
                .ok_or(StoreError::Corrupt("a chunk of a list is missing"))?;
            batch.delete(Table::chunks_of(list.kind), &key);
            *tail = Chunk::from_row(&row)?;
            tail.truncate(cut)?;
        }
        Ok(())
    }

    /// The length of a list, including the current batch.
    pub(crate) fn total(&mut self, view: &View, list: ListKey) -> Result<u64, StoreError> {
        Ok(self.open(view, list)?.through(Role::Any))
    }

    fn open(&mut self, view: &View, list: ListKey) -> Result<&mut Chunk, StoreError> {
        use std::collections::hash_map::Entry;
        match self.changed.entry(list) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => {
                let tail = match self.committed.take(&list) {
                    Some(tail) => tail,
                    None => view
                        .get(Table::tails_of(list.kind), &Key::list(list))?
                        .map_or_else(|| Ok(Chunk::default()), |row| Chunk::from_row(&row))?,
                };
                Ok(entry.insert(tail))
            }
        }
    }

    /// Writes every changed chunk into the batch.
    pub(crate) fn write(&self, batch: &mut Batch) {
        for (list, tail) in &self.changed {
            if tail.is_empty() {
                batch.delete(Table::tails_of(list.kind), &Key::list(*list));
            } else {
                batch.put(Table::tails_of(list.kind), &Key::list(*list), tail.to_row());
            }
        }
    }

    /// The batch is committed: its open chunks go into the cache.
    pub(crate) fn mark_committed(&mut self) {
        for (list, tail) in self.changed.drain() {
            self.committed.insert(list, tail);
        }
    }

    /// The batch failed.
    pub(crate) fn discard_changes(&mut self) {
        self.changed.clear();
    }
}
