//! Rows that a block may overwrite, with their previous values.

use store::StoreError;

use crate::{
    cache::FastMap,
    engine::{Batch, View},
    keys::{Key, Table},
    token_status::RowSource,
    undo::Overwritten,
};

/// The rows of one batch that are changed in place. Later blocks of the batch see what earlier ones wrote; each row is
/// written to disk once.
pub(crate) struct Overwrites<'a> {
    view: &'a View,
    rows: ByRow<Change>,
    /// Rows before the current block, if the block can be reverted.
    before_block: Option<ByRow<Option<Vec<u8>>>>,
}

type ByRow<T> = FastMap<(Table, Key), T>;

#[derive(Debug)]
pub(crate) struct Change {
    /// The row before the batch.
    pub(crate) before: Option<Vec<u8>>,
    pub(crate) now: Option<Vec<u8>>,
}

impl RowSource for Overwrites<'_> {
    fn row(&mut self, table: Table, key: &Key) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.get(table, key)?.map(<[u8]>::to_vec))
    }
}

impl<'a> Overwrites<'a> {
    /// Without undo data.
    pub(crate) fn without_undo(view: &'a View) -> Self {
        Self { view, rows: FastMap::default(), before_block: None }
    }

    /// With undo data per block.
    pub(crate) fn with_undo(view: &'a View) -> Self {
        Self { before_block: Some(FastMap::default()), ..Self::without_undo(view) }
    }

    pub(crate) fn get(&mut self, table: Table, key: &Key) -> Result<Option<&[u8]>, StoreError> {
        Ok(self.open(table, key)?.now.as_deref())
    }

    pub(crate) fn put(&mut self, table: Table, key: &Key, row: Option<Vec<u8>>) -> Result<(), StoreError> {
        let change = self.open(table, key)?;
        if change.now == row {
            return Ok(());
        }
        let old = std::mem::replace(&mut change.now, row);
        if let Some(before_block) = &mut self.before_block {
            before_block.entry((table, *key)).or_insert(old);
        }
        Ok(())
    }

    fn open(&mut self, table: Table, key: &Key) -> Result<&mut Change, StoreError> {
        use std::collections::hash_map::Entry;
        match self.rows.entry((table, *key)) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => {
                let row = self.view.get(table, key)?.map(|row| row.to_vec());
                Ok(entry.insert(Change { before: row.clone(), now: row }))
            }
        }
    }

    /// Ends a block, and returns the rows that it overwrote.
    pub(crate) fn end_block(&mut self) -> Vec<Overwritten> {
        let before_block = self.before_block.iter_mut().flat_map(FastMap::drain);
        let mut overwritten: Vec<Overwritten> =
            before_block.map(|((table, key), row)| Overwritten { table, key, row }).collect();
        // Sorted by key, so that the same block always has the same undo record.
        overwritten.sort_unstable_by(|a, b| (a.table as u8, a.key.as_slice()).cmp(&(b.table as u8, b.key.as_slice())));
        overwritten
    }

    /// The rows of one table that differ from those before the batch.
    pub(crate) fn changes(&self, wanted: Table) -> impl Iterator<Item = (&Key, &Change)> {
        self.rows
            .iter()
            .filter(move |((table, _), change)| *table == wanted && change.before != change.now)
            .map(|((_, key), change)| (key, change))
    }

    pub(crate) fn write(&self, batch: &mut Batch) {
        for ((table, key), change) in self.rows.iter().filter(|(_, change)| change.before != change.now) {
            match &change.now {
                Some(row) => batch.put(*table, key, row.clone()),
                None => batch.delete(*table, key),
            }
        }
    }
}
