//! Sequential ids of values, in the order of their first appearance.

use std::hash::Hash;

use domain::B256;
use store::StoreError;

use super::numbered_rows::numbered_rows;
use crate::{
    cache::{AgedCache, FastMap},
    engine::{Batch, View},
    keys::{Key, Table, number_in_key},
    rows::{LogSource, topic_to_row},
};

/// A value with an id, and the tables from one to the other.
pub(crate) trait Numbered: Copy + Eq + Hash {
    /// id -> value.
    const VALUES: Table;
    /// value -> id.
    const IDS: Table;

    fn key(&self) -> Key;
    fn row(&self) -> Vec<u8>;
}

impl Numbered for B256 {
    const VALUES: Table = Table::LogTopic;
    const IDS: Table = Table::LogTopicId;

    fn key(&self) -> Key {
        Key::topic(self)
    }

    fn row(&self) -> Vec<u8> {
        topic_to_row(self)
    }
}

impl Numbered for LogSource {
    const VALUES: Table = Table::LogSource;
    const IDS: Table = Table::LogSourceId;

    fn key(&self) -> Key {
        Key::source(self.emitter, self.topic)
    }

    fn row(&self) -> Vec<u8> {
        self.to_row()
    }
}

#[derive(Debug)]
pub(crate) struct Dictionary<V> {
    committed: AgedCache<V, u64>,
    /// First seen in the current batch.
    new: FastMap<V, u64>,
}

impl<V: Numbered> Dictionary<V> {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { committed: AgedCache::new(capacity), new: FastMap::default() }
    }

    /// The id of a value; a new one gets `next`, which is then incremented.
    pub(crate) fn resolve(
        &mut self,
        view: &View,
        batch: &mut Batch,
        value: V,
        next: &mut u64,
    ) -> Result<u64, StoreError> {
        if let Some(&id) = self.new.get(&value) {
            return Ok(id);
        }
        if let Some(id) = self.committed.get(&value) {
            return Ok(id);
        }
        let key = value.key();
        if let Some(row) = view.get(V::IDS, &key)? {
            let id = number_in_key(&row, 0)?;
            self.committed.insert(value, id);
            return Ok(id);
        }
        let id = *next;
        *next += 1;
        batch.put(V::IDS, &key, Key::id(id).as_slice());
        batch.put(V::VALUES, &Key::id(id), value.row());
        self.new.insert(value, id);
        Ok(id)
    }

    pub(crate) fn mark_committed(&mut self) {
        for (value, id) in self.new.drain() {
            self.committed.insert(value, id);
        }
    }

    pub(crate) fn discard_changes(&mut self) {
        self.new.clear();
    }

    /// Ids from `first` on are unassigned again.
    pub(crate) fn drop_from(&mut self, first: u64) {
        self.committed.retain(|_, id| *id < first);
    }
}

/// Deletes the values with these ids.
pub(super) fn drop_values<V: Numbered>(
    view: &View,
    batch: &mut Batch,
    ids: std::ops::Range<u64>,
    read: impl Fn(&[u8]) -> Result<V, StoreError>,
) -> Result<(), StoreError> {
    for row in numbered_rows(view, V::VALUES, ids) {
        let (id, row) = row?;
        batch.delete(V::IDS, &read(&row)?.key());
        batch.delete(V::VALUES, &Key::id(id));
    }
    Ok(())
}
