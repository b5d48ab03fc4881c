//! Sets that are kept in an order, from which the n-th member can be had without walking to it.
//!
//! Members stand in a table sorted by their sort key. Beside them stand counts: how many members begin with these
//! bytes, for starts of growing length. Finding the n-th member goes down from count to count, some hundred small rows
//! in all, however many members there are.

use std::collections::HashMap;

use domain::Balance;
use store::StoreError;

use crate::codec::{RowReader, RowWriter};
use crate::engine::{Batch, View};
use crate::keys::{AddressId, Key, Table, id_bytes};

/// Which set, and of whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum RankedSet {
    /// Tokens, the most held first; ties by address.
    Tokens,
    /// Holders of a token, the largest balance first; ties by id.
    Holders { token: AddressId },
    /// Tokens that an address holds; all tie, by id.
    HeldTokens { holder: AddressId },
    /// Verified contracts whose code stands at their address; all tie, by running number.
    VerifiedContracts,
}

impl RankedSet {
    fn key(self) -> Key {
        let (mark, owner) = match self {
            Self::Tokens => (0, 0),
            Self::Holders { token } => (1, token),
            Self::HeldTokens { holder } => (2, holder),
            Self::VerifiedContracts => (3, 0),
        };
        Key::EMPTY.then(&[mark]).then(&id_bytes(owner))
    }

    /// Where its members stand, and where their counts.
    fn tables(self) -> (Table, Table) {
        match self {
            Self::Tokens | Self::Holders { .. } | Self::HeldTokens { .. } => (Table::Ranked, Table::RankCount),
            // Not of the chain's own saying.
            Self::VerifiedContracts => (Table::VerifiedListed, Table::VerifiedListedCount),
        }
    }

    /// The lengths at which starts of the tie-breaker are counted. Random addresses part early, running numbers late.
    fn counted_tie_lengths(self) -> [usize; 2] {
        match self {
            Self::Tokens => [1, 2],
            Self::Holders { .. } | Self::HeldTokens { .. } | Self::VerifiedContracts => [3, 4],
        }
    }

    /// The next longer start that is counted, for a start of a sort key; None: what is left is few.
    fn next_counted(self, start: &[u8]) -> Option<usize> {
        if start.is_empty() {
            return Some(1);
        }
        let end = number_end(start);
        let number_lengths = (1..=FINELY_COUNTED.min(end)).chain([end]);
        let tie_lengths = self.counted_tie_lengths().map(|length| end + length);
        number_lengths.chain(tie_lengths).find(|length| *length > start.len())
    }
}

/// Up to this length, every start of the number is counted; after that the whole number.
const FINELY_COUNTED: usize = 4;

/// A descending number and a tie-breaker, as bytes that sort so.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SortKey(Vec<u8>);

impl SortKey {
    /// A longer number is larger, so its length goes first; all of it is turned round for the largest to come first.
    pub(crate) fn descending(number: &Balance, tie: &[u8]) -> Self {
        let number = number.to_be_bytes_trimmed_vec();
        let length = u8::try_from(number.len()).unwrap_or(u8::MAX);
        let turned = std::iter::once(length).chain(number).map(|byte| !byte);
        Self(turned.chain(tie.iter().copied()).collect())
    }

    /// The number and the tie-breaker of a sort key.
    pub(crate) fn parts(sort_key: &[u8]) -> Option<(Balance, &[u8])> {
        let (number, tie) = sort_key.split_at_checked(number_end(sort_key))?;
        let number: Vec<u8> = number.iter().skip(1).map(|byte| !byte).collect();
        Some((Balance::try_from_be_slice(&number)?, tie))
    }
}

/// Where the number of a sort key ends and its tie-breaker begins.
fn number_end(sort_key: &[u8]) -> usize {
    1 + sort_key.first().map_or(0, |length| usize::from(!length))
}

/// Starts of one length stand together, so that those with a common start are neighbours.
fn count_key(set: RankedSet, length: usize, start: &[u8]) -> Key {
    set.key().then(&[u8::try_from(length).unwrap_or(u8::MAX)]).then(start)
}

/// Moves of members, gathered so that a count that many moves touch is written once.
#[derive(Debug, Default)]
pub(crate) struct RankMoves {
    counts: HashMap<(Table, Key), i64>,
}

impl RankMoves {
    pub(crate) fn insert(&mut self, batch: &mut Batch, set: RankedSet, key: &SortKey) {
        batch.put(set.tables().0, &set.key().then(&key.0), []);
        self.count(set, key, 1);
    }

    pub(crate) fn remove(&mut self, batch: &mut Batch, set: RankedSet, key: &SortKey) {
        batch.delete(set.tables().0, &set.key().then(&key.0));
        self.count(set, key, -1);
    }

    fn count(&mut self, set: RankedSet, key: &SortKey, change: i64) {
        let mut start: &[u8] = &[];
        while let Some(length) = set.next_counted(start).filter(|length| *length <= key.0.len()) {
            start = &key.0[..length];
            *self.counts.entry((set.tables().1, count_key(set, length, start))).or_default() += change;
        }
    }

    pub(crate) fn write(self, view: &View, batch: &mut Batch) -> Result<(), StoreError> {
        for ((table, key), change) in self.counts.into_iter().filter(|(_, change)| *change != 0) {
            let old = match view.get(table, &key)? {
                Some(row) => count_from_row(&row)?,
                None => 0,
            };
            match old.checked_add_signed(change) {
                Some(0) => batch.delete(table, &key),
                Some(count) => batch.put(table, &key, count_to_row(count)),
                None => return Err(StoreError::Corrupt("a ranked set counts fewer members than it has")),
            }
        }
        Ok(())
    }
}

fn count_to_row(count: u64) -> Vec<u8> {
    let mut row = RowWriter::default();
    row.varint(count);
    row.finish()
}

fn count_from_row(row: &[u8]) -> Result<u64, StoreError> {
    RowReader::new(row).varint()
}

/// How many members a set has.
pub(crate) fn member_count(view: &View, set: RankedSet) -> Result<u64, StoreError> {
    view.prefix(set.tables().1, &count_key(set, 1, &[])).map(|row| count_from_row(&row?.1)).sum()
}

/// The sort keys of `count` members in a row, from the one at `rank` on; of fewer where the set ends.
pub(crate) fn members_from(view: &View, set: RankedSet, rank: u64, count: usize) -> Result<Vec<Vec<u8>>, StoreError> {
    let Some((start, skip)) = find_start(view, set, rank)? else { return Ok(Vec::new()) };
    let set_key = set.key();
    view.range_from(set.tables().0, &set_key.then(&start), &set_key)
        .skip(usize::try_from(skip).unwrap_or(usize::MAX))
        .take(count)
        .map(|row| Ok(row?.0.get(set_key.as_slice().len()..).unwrap_or_default().to_vec()))
        .collect()
}

/// The longest counted start of the member at a rank, and its rank among those that begin so. None: the set is smaller.
fn find_start(view: &View, set: RankedSet, mut rank: u64) -> Result<Option<(Vec<u8>, u64)>, StoreError> {
    let mut start: Vec<u8> = Vec::new();
    'longer: while let Some(length) = set.next_counted(&start) {
        let head = count_key(set, length, &[]).as_slice().len();
        for row in view.prefix(set.tables().1, &count_key(set, length, &start)) {
            let (key, count) = row?;
            let count = count_from_row(&count)?;
            if rank < count {
                start = key.get(head..).unwrap_or_default().to_vec();
                continue 'longer;
            }
            rank -= count;
        }
        if start.is_empty() {
            return Ok(None);
        }
        return Err(StoreError::Corrupt("a ranked set has fewer members than it counts"));
    }
    Ok(Some((start, rank)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sort_keys_sort_by_number_descending_then_by_tie() {
        let key = |number: u64, tie: u8| SortKey::descending(&Balance::from(number), &[tie; 20]).0;
        let sorted = [key(256, 9), key(255, 1), key(2, 1), key(2, 2), key(0, 0), key(0, 7)];
        assert!(sorted.is_sorted(), "{sorted:?}");
        assert_eq!(SortKey::parts(&sorted[0]), Some((Balance::from(256), [9; 20].as_slice())));
        assert_eq!(SortKey::parts(&sorted[5]), Some((Balance::ZERO, [7; 20].as_slice())));
    }

    #[test]
    fn starts_of_every_number_are_counted_in_growing_lengths() {
        let set = RankedSet::Holders { token: 1 };
        for number in [Balance::ZERO, Balance::from(7), Balance::MAX] {
            let key = SortKey::descending(&number, &[0, 0, 1, 2, 3]).0;
            let (mut start, mut lengths) = (0, Vec::new());
            while let Some(length) = set.next_counted(&key[..start]) {
                lengths.push(length);
                start = length;
            }
            assert_eq!(lengths.last(), Some(&(key.len() - 1)));
            assert!(lengths.contains(&number_end(&key)) && lengths.is_sorted(), "{lengths:?}");
        }
    }
}
