//! What taking a block back needs beyond the block's own rows: which lists it had grown.

use std::collections::BTreeSet;

use domain::BlockNumber;
use store::StoreError;

use crate::codec::{RowReader, RowWriter};
use crate::engine::View;
use crate::keys::{Key, ListKey, ListKind, Table, number_in_key};

#[derive(Debug, Default)]
pub(crate) struct UndoRecord {
    pub(crate) grown_lists: BTreeSet<ListKey>,
}

impl UndoRecord {
    pub(crate) fn to_row(&self) -> Vec<u8> {
        let mut row = RowWriter::with_capacity(self.grown_lists.len() * 6);
        for list in &self.grown_lists {
            row.byte(list.kind as u8);
            row.varint(list.owner);
        }
        row.finish()
    }

    pub(crate) fn from_row(row: &[u8]) -> Result<Self, StoreError> {
        let mut row = RowReader::new(row);
        let mut grown_lists = BTreeSet::new();
        while !row.is_empty() {
            let kind = ListKind::from_byte(row.byte()?).ok_or(StoreError::Corrupt("a list of an unknown kind"))?;
            grown_lists.insert(kind.of(row.varint()?));
        }
        Ok(Self { grown_lists })
    }
}

/// The lowest block that has an undo record: the one below it can be the tip again.
pub(crate) fn oldest_undo(view: &View) -> Result<Option<BlockNumber>, StoreError> {
    let first = view.prefix(Table::Undo, &Key::EMPTY).next().transpose()?;
    Ok(first.map(|(key, _)| number_in_key(&key, 0)))
}

/// Every block up to and with `last` that has an undo record.
pub(crate) fn undo_numbers(view: &View, last: BlockNumber) -> Result<Vec<BlockNumber>, StoreError> {
    view.range(Table::Undo, &Key::block(0), &Key::block(last.saturating_add(1)))
        .map(|row| row.map(|(key, _)| number_in_key(&key, 0)))
        .collect()
}
