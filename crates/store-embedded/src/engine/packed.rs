//! Rows with consecutive ids share an entry of the engine: an entry costs as much to write, to sort and to merge as its row does.
//!
//! The key is that of the first id. The value has each row behind its length plus one; 0 stands for a row that is not there, and
//! nothing for those at the end. So the same rows are always the same bytes.

use fjall::{UserKey, UserValue};
use store::StoreError;

use crate::{
    codec::{RowReader, RowWriter},
    keys::{Key, number_in_key},
};

/// The rows of an entry.
const ROWS: u64 = 32;
const INVALID: StoreError = StoreError::Corrupt("rows that share an entry are cut or too many");

/// A key and its new value; None deletes the row.
pub(super) type Item = (UserKey, Option<UserValue>);
/// A row with its id.
pub(super) type Numbered = (u64, UserValue);

/// The key of the entry that has a row.
pub(super) fn entry_of(id: u64) -> Key {
    Key::id(id - id % ROWS)
}

/// The id in the key of a row.
pub(super) fn id_of(key: &Key) -> Result<u64, StoreError> {
    number_in_key(key.as_slice(), 0)
}

/// The row with an id, from the entry that would have it.
pub(super) fn find(entry: &[u8], id: u64) -> Result<Option<UserValue>, StoreError> {
    let mut reader = RowReader::new(entry);
    for _ in 0..id % ROWS {
        if reader.is_empty() {
            return Ok(None);
        }
        next(&mut reader)?;
    }
    if reader.is_empty() { Ok(None) } else { Ok(next(&mut reader)?.map(UserValue::from)) }
}

/// All rows of an entry, of which the first has this id.
pub(super) fn rows(first: u64, entry: &[u8]) -> Result<Vec<Numbered>, StoreError> {
    let (mut reader, mut rows, mut ids) = (RowReader::new(entry), Vec::new(), first..first + ROWS);
    while !reader.is_empty() {
        let (id, row) = (ids.next().ok_or(INVALID)?, next(&mut reader)?);
        rows.extend(row.map(|row| (id, UserValue::from(row))));
    }
    Ok(rows)
}

fn next<'a>(reader: &mut RowReader<'a>) -> Result<Option<&'a [u8]>, StoreError> {
    let length: usize = reader.varint().map_err(|_| INVALID)?;
    length.checked_sub(1).map(|length| reader.bytes(length).map_err(|_| INVALID)).transpose()
}

/// Changes of rows, sorted by key, as changes of entries. `find` has an entry as it is.
pub(super) fn pack(
    changes: &[Item],
    mut find: impl FnMut(&UserKey) -> Result<Option<UserValue>, StoreError>,
) -> Result<Vec<Item>, StoreError> {
    let mut entries = Vec::new();
    let mut rest = changes;
    while let Some((key, _)) = rest.first() {
        let (table, id) = (key.get(..1).unwrap_or_default(), id_in(key)?);
        let first = id - id % ROWS;
        let count = rest.iter().take_while(|(key, _)| id_in(key).is_ok_and(|id| id - first < ROWS)).count();
        let (of_entry, behind) = rest.split_at(count.max(1));
        rest = behind;
        let key = UserKey::from([table, entry_of(id).as_slice()].concat());
        let before = if of_entry.len() as u64 == ROWS { None } else { find(&key)? };
        let before = before.map(|entry| rows(first, &entry)).transpose()?.unwrap_or_default();
        entries.push((key, merged(first, &before, of_entry)?));
    }
    Ok(entries)
}

/// An entry with changed rows; None if it has none.
fn merged(first: u64, before: &[Numbered], changes: &[Item]) -> Result<Option<UserValue>, StoreError> {
    let bytes = before.iter().map(|(_, row)| row.len()).sum::<usize>()
        + changes.iter().flat_map(|(_, row)| row).map(|row| row.len()).sum::<usize>();
    let mut writer = RowWriter::with_capacity(bytes + 2 * before.len() + 2 * changes.len());
    let (mut before, mut changes, mut absent) = (before.iter().peekable(), changes.iter().peekable(), 0);
    let mut is_empty = true;
    for id in first..first + ROWS {
        let kept = before.next_if(|(of, _)| *of == id).map(|(_, row)| row);
        let row = match changes.next_if(|(key, _)| id_in(key).is_ok_and(|of| of == id)) {
            Some((_, row)) => row.as_ref(),
            None => kept,
        };
        let Some(row) = row else {
            absent += 1;
            continue;
        };
        (0..std::mem::take(&mut absent)).for_each(|_| writer.byte(0));
        writer.varint(row.len() as u64 + 1);
        writer.bytes(row);
        is_empty = false;
    }
    Ok((!is_empty).then(|| writer.finish().into()))
}

/// The id in a key with the tag of its table.
fn id_in(key: &[u8]) -> Result<u64, StoreError> {
    number_in_key(key, 1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::keys::Table;

    fn item(id: u64, row: Option<Vec<u8>>) -> Item {
        (UserKey::from(Key::id(id).in_table(Table::Log).as_ref()), row.map(UserValue::from))
    }

    proptest! {
        /// Whatever the order in which rows are written and deleted, the entries are those of the rows that are left.
        #[test]
        fn entries_have_the_rows_that_were_written(
            rounds in prop::collection::vec(
                prop::collection::btree_map(0_u64..100, prop::option::of(prop::collection::vec(any::<u8>(), 0..200)), 0..60),
                1..5,
            ),
        ) {
            let (mut entries, mut model) = (BTreeMap::<UserKey, UserValue>::new(), BTreeMap::new());
            for round in rounds {
                let changes: Vec<Item> = round.iter().map(|(id, row)| item(*id, row.clone())).collect();
                for (key, entry) in pack(&changes, |key| Ok(entries.get(key).cloned())).unwrap() {
                    match entry {
                        Some(entry) => entries.insert(key, entry),
                        None => entries.remove(&key),
                    };
                }
                for (id, row) in round {
                    match row {
                        Some(row) => model.insert(id, row),
                        None => model.remove(&id),
                    };
                }
            }
            let at_once: Vec<Item> = model.iter().map(|(id, row)| item(*id, Some(row.clone()))).collect();
            let at_once = pack(&at_once, |_| Ok(None)).unwrap();
            prop_assert_eq!(at_once.len(), entries.len());
            prop_assert!(at_once.iter().all(|(key, entry)| entries.get(key) == entry.as_ref()));
            for id in 0..128 {
                let key = UserKey::from(entry_of(id).in_table(Table::Log).as_ref());
                let found = entries.get(&key).map(|entry| find(entry, id).unwrap());
                prop_assert_eq!(found.flatten().map(|row| row.to_vec()), model.get(&id).cloned());
            }
            let mut listed = Vec::new();
            for (key, entry) in &entries {
                listed.extend(rows(id_in(key).unwrap(), entry).unwrap().into_iter().map(|(id, row)| (id, row.to_vec())));
            }
            prop_assert_eq!(listed, model.into_iter().collect::<Vec<_>>());
        }

        #[test]
        fn any_bytes_are_rows_or_corrupt(entry: Vec<u8>, id in 0_u64..64) {
            let found = find(&entry, id);
            if let Ok(rows) = rows(id - id % ROWS, &entry) {
                let row = rows.into_iter().find(|(of, _)| *of == id).map(|(_, row)| row);
                prop_assert_eq!(found.unwrap(), row);
            }
        }
    }
}
