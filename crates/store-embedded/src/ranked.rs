//! Sets that are kept in an order, from which the n-th member can be had without walking to it.
//!
//! Members stand in a table sorted by their sort key. Beside them stand counts: how many members begin with these
//! bytes, for starts of growing length. Finding the n-th member goes down from count to count, some hundred small rows
//! in all, however many members there are.

use std::collections::HashMap;

use store::StoreError;

use crate::codec::{RowReader, RowWriter};
use crate::engine::{Batch, View};
use crate::keys::{Key, Table};

/// Which set, and of whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum RankedSet {
    /// Tokens, the most held first.
    Tokens = 0,
}

/// Bytes of the tie-breaker that are counted: with two, a set of sixteen million equals is still cut into small parts.
const COUNTED_TIE_BYTES: usize = 2;

/// A descending number and a tie-breaker, as bytes that sort so.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SortKey(Vec<u8>);

impl SortKey {
    /// `number`: big-endian, without leading zeros. A longer one is larger, so the length goes first; all of it is
    /// turned round for the largest to come first.
    pub(crate) fn descending(number: &[u8], tie: &[u8]) -> Self {
        let length = u8::try_from(number.len()).unwrap_or(u8::MAX);
        let turned = std::iter::once(length).chain(number.iter().copied()).map(|byte| !byte);
        Self(turned.chain(tie.iter().copied()).collect())
    }

    /// The tie-breaker of a sort key.
    pub(crate) fn tie(sort_key: &[u8]) -> &[u8] {
        sort_key.get(number_end(sort_key)..).unwrap_or_default()
    }

    /// Every start of this key that is counted, the shortest first.
    fn counted_starts(&self) -> impl Iterator<Item = &[u8]> {
        let deepest = (number_end(&self.0) + COUNTED_TIE_BYTES).min(self.0.len());
        (1..=deepest).map(|length| &self.0[..length])
    }
}

/// Where the number of a sort key ends and its tie-breaker begins.
fn number_end(sort_key: &[u8]) -> usize {
    1 + sort_key.first().map_or(0, |length| usize::from(!length))
}

fn member(set: RankedSet, sort_key: &[u8]) -> Key {
    Key::EMPTY.then(&[set as u8]).then(sort_key)
}

/// Starts of one length stand together, so that those with a common start are neighbours.
fn count_key(set: RankedSet, length: usize, start: &[u8]) -> Key {
    Key::EMPTY.then(&[set as u8, u8::try_from(length).unwrap_or(u8::MAX)]).then(start)
}

/// Moves of members, gathered so that a count that many moves touch is written once.
#[derive(Debug, Default)]
pub(crate) struct RankMoves {
    counts: HashMap<Key, i64>,
}

impl RankMoves {
    pub(crate) fn insert(&mut self, batch: &mut Batch, set: RankedSet, key: &SortKey) {
        batch.put(Table::Ranked, &member(set, &key.0), []);
        self.count(set, key, 1);
    }

    pub(crate) fn remove(&mut self, batch: &mut Batch, set: RankedSet, key: &SortKey) {
        batch.delete(Table::Ranked, &member(set, &key.0));
        self.count(set, key, -1);
    }

    fn count(&mut self, set: RankedSet, key: &SortKey, change: i64) {
        for start in key.counted_starts() {
            *self.counts.entry(count_key(set, start.len(), start)).or_default() += change;
        }
    }

    pub(crate) fn write(self, view: &View, batch: &mut Batch) -> Result<(), StoreError> {
        for (key, change) in self.counts.into_iter().filter(|(_, change)| *change != 0) {
            let old: u64 = match view.get(Table::RankCount, &key)? {
                Some(row) => RowReader::new(&row).varint()?,
                None => 0,
            };
            match old.checked_add_signed(change) {
                Some(0) => batch.delete(Table::RankCount, &key),
                Some(count) => {
                    let mut row = RowWriter::default();
                    row.varint(count);
                    batch.put(Table::RankCount, &key, row.finish());
                }
                None => return Err(StoreError::Corrupt("a ranked set counts fewer members than it has")),
            }
        }
        Ok(())
    }
}

/// The sort keys of `count` members in a row, from the one at `rank` on.
pub(crate) fn members_from(view: &View, set: RankedSet, rank: u64, count: usize) -> Result<Vec<Vec<u8>>, StoreError> {
    let (start, skip) = find_start(view, set, rank)?;
    let end = Key::EMPTY.then(&[set as u8 + 1]);
    view.range(Table::Ranked, &member(set, &start), &end)
        .skip(usize::try_from(skip).unwrap_or(usize::MAX))
        .take(count)
        .map(|row| Ok(row?.0.get(1..).unwrap_or_default().to_vec()))
        .collect()
}

/// The longest counted start of the member at a rank, and its rank among those that begin so.
fn find_start(view: &View, set: RankedSet, mut rank: u64) -> Result<(Vec<u8>, u64), StoreError> {
    let mut start: Vec<u8> = Vec::new();
    loop {
        let deepest = if start.is_empty() { 1 } else { number_end(&start) + COUNTED_TIE_BYTES };
        if start.len() >= deepest {
            return Ok((start, rank));
        }
        let length = start.len() + 1;
        let mut found = None;
        for row in view.prefix(Table::RankCount, &count_key(set, length, &start)) {
            let (key, count) = row?;
            let count: u64 = RowReader::new(&count).varint()?;
            if rank < count {
                found = Some(key.get(2..).unwrap_or_default().to_vec());
                break;
            }
            rank -= count;
        }
        match found {
            Some(longer) => start = longer,
            None => return Err(StoreError::Corrupt("a ranked set has fewer members than it counts")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sort_keys_sort_by_number_descending_then_by_tie() {
        let key = |number: &[u8], tie: u8| SortKey::descending(number, &[tie; 20]).0;
        let sorted = [key(&[1, 0], 9), key(&[0xff], 1), key(&[2], 1), key(&[2], 2), key(&[], 0), key(&[], 7)];
        assert!(sorted.is_sorted(), "{sorted:?}");
        assert_eq!(SortKey::tie(&sorted[0]), [9; 20]);
        assert_eq!(SortKey::tie(&sorted[4]), [0; 20]);
    }
}
