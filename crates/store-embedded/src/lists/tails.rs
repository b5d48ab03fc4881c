//! The open ends of the lists that the writer is growing.

use store::StoreError;

use super::chunk::{Chunk, Entry, Role};
use crate::cache::{AgedCache, FastMap};
use crate::engine::{Batch, View};
use crate::keys::{Key, ListKey, Table};

/// Appends to and cuts lists. A list's end is read once, kept while it is in use, and written once a batch.
#[derive(Debug)]
pub(crate) struct Tails {
    /// As they stand on disk.
    settled: AgedCache<ListKey, Chunk>,
    /// Changed by the batch in hand.
    changed: FastMap<ListKey, Chunk>,
}

impl Tails {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { settled: AgedCache::new(capacity), changed: FastMap::default() }
    }

    pub(crate) fn append(
        &mut self,
        view: &View,
        batch: &mut Batch,
        list: ListKey,
        entry: Entry,
    ) -> Result<(), StoreError> {
        let tail = self.open(view, list)?;
        if tail.is_full() {
            batch.put(Table::Chunk, &Key::chunk(list, tail.number()), tail.to_row());
            *tail = tail.next();
        }
        tail.push(entry);
        Ok(())
    }

    /// Drops the entries from `cut` on, opening full chunks again where the cut reaches into them.
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
            let row = view.get(Table::Chunk, &key)?.ok_or(StoreError::Corrupt("a list lacks a chunk"))?;
            batch.delete(Table::Chunk, &key);
            *tail = Chunk::from_row(&row)?;
            tail.truncate(cut)?;
        }
        Ok(())
    }

    /// How many entries a list has, the batch in hand included.
    pub(crate) fn total(&mut self, view: &View, list: ListKey) -> Result<u64, StoreError> {
        Ok(self.open(view, list)?.through(Role::Any))
    }

    fn open(&mut self, view: &View, list: ListKey) -> Result<&mut Chunk, StoreError> {
        use std::collections::hash_map::Entry;
        match self.changed.entry(list) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => {
                let tail = match self.settled.take(&list) {
                    Some(tail) => tail,
                    None => view
                        .get(Table::Tail, &Key::list(list))?
                        .map_or_else(|| Ok(Chunk::default()), |row| Chunk::from_row(&row))?,
                };
                Ok(entry.insert(tail))
            }
        }
    }

    /// Puts every changed end into the batch.
    pub(crate) fn write(&self, batch: &mut Batch) {
        for (list, tail) in &self.changed {
            if tail.is_empty() {
                batch.delete(Table::Tail, &Key::list(*list));
            } else {
                batch.put(Table::Tail, &Key::list(*list), tail.to_row());
            }
        }
    }

    /// The batch is on disk: its ends are worth keeping in memory.
    pub(crate) fn settle(&mut self) {
        for (list, tail) in self.changed.drain() {
            self.settled.insert(list, tail);
        }
    }

    /// The batch did not come to pass.
    pub(crate) fn forget_changes(&mut self) {
        self.changed.clear();
    }
}
