//! The data that reverting a block needs beyond the block's own rows: the lists that it extended, and the rows that it
//! overwrote.

use std::collections::BTreeSet;

use domain::BlockNumber;
use store::StoreError;

use crate::{
    codec::{RowReader, RowWriter},
    engine::View,
    keys::{Key, ListKey, ListKind, Table, number_in_key},
    meta::Tip,
};

#[derive(Debug, Default)]
pub(crate) struct UndoRecord {
    pub(crate) grown_lists: BTreeSet<ListKey>,
    pub(crate) overwritten: Vec<Overwritten>,
}

/// A row before the block; None if it did not exist.
#[derive(Debug)]
pub(crate) struct Overwritten {
    pub(crate) table: Table,
    pub(crate) key: Key,
    pub(crate) row: Option<Vec<u8>>,
}

impl UndoRecord {
    pub(crate) fn to_row(&self) -> Vec<u8> {
        let mut row = RowWriter::with_capacity(self.grown_lists.len() * 6 + self.overwritten.len() * 24);
        row.varint(self.grown_lists.len() as u64);
        for list in &self.grown_lists {
            row.byte(list.kind as u8);
            row.varint(list.owner);
        }
        for Overwritten { table, key, row: old } in &self.overwritten {
            row.byte(*table as u8);
            row.varint(key.as_slice().len() as u64);
            row.bytes(key.as_slice());
            // 0 if absent, else the length plus one.
            row.varint(old.as_ref().map_or(0, |old| old.len() as u64 + 1));
            row.bytes(old.as_deref().unwrap_or_default());
        }
        row.finish()
    }

    pub(crate) fn from_row(row: &[u8]) -> Result<Self, StoreError> {
        let mut row = RowReader::new(row);
        let mut record = Self::default();
        for _ in 0..row.varint::<u64>()? {
            let kind = ListKind::from_tag(row.byte()?).ok_or(StoreError::Corrupt("a list of an unknown kind"))?;
            record.grown_lists.insert(kind.of(row.varint()?));
        }
        while !row.is_empty() {
            let table = Table::from_tag(row.byte()?).ok_or(StoreError::Corrupt("an unknown table"))?;
            let length = row.varint()?;
            let key = Key::from_slice(row.bytes(length)?).ok_or(StoreError::Corrupt("a key is too long"))?;
            let old = match row.varint::<usize>()?.checked_sub(1) {
                Some(length) => Some(row.bytes(length)?.to_vec()),
                None => None,
            };
            record.overwritten.push(Overwritten { table, key, row: old });
        }
        Ok(record)
    }
}

/// The lowest block from `floor` on that has an undo record: a revert can go to the one below it. A close floor spares
/// the scan over deleted records.
pub(crate) fn oldest_undo(view: &View, floor: BlockNumber) -> Result<Option<BlockNumber>, StoreError> {
    let first = view.range_from(Table::Undo, &Key::block(floor), &Key::EMPTY).next().transpose()?;
    first.map(|(key, _)| number_in_key(&key, 0)).transpose()
}

/// The lowest block that a revert can go to.
pub(crate) fn oldest_revertible(view: &View, tip: &Tip) -> Result<BlockNumber, StoreError> {
    let oldest = oldest_undo(view, 0)?.map_or(tip.block.number, |oldest| oldest.saturating_sub(1));
    Ok(oldest.max(tip.start_block))
}

/// Every block up to `last`, inclusive, that has an undo record.
pub(crate) fn undo_numbers(view: &View, last: BlockNumber) -> Result<Vec<BlockNumber>, StoreError> {
    view.range(Table::Undo, &Key::block(0), &Key::block(last.saturating_add(1)))
        .map(|row| row.and_then(|(key, _)| number_in_key(&key, 0)))
        .collect()
}
