//! Sorted sets in which the n-th member is found without a scan.
//!
//! Members are rows sorted by their sort key. Count rows next to them contain the number of members with a given
//! prefix, for prefixes of growing length. Finding the n-th member descends from count to count: about a hundred small
//! rows, however many members there are.

use domain::Balance;
use store::StoreError;

use crate::{
    cache::FastMap,
    codec::{RowReader, RowWriter},
    engine::{Batch, View},
    keys::{AddressId, Key, NftId, Table, id_bytes, split_key},
};

/// Identifies a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum RankedSet {
    /// Tokens by number of holders, descending; ties by address.
    Tokens,
    /// Holders of a token by balance, descending; ties by id.
    Holders { token: AddressId },
    /// Tokens that an address holds, by id (all have the same number).
    HeldTokens { holder: AddressId },
    /// Holders of an id of a BEP1155 token by amount, descending; ties by id.
    NftHolders { nft: NftId },
    /// Ids of tokens that an address holds, by NFT id (all have the same number).
    HeldNfts { holder: AddressId },
    /// Approvals that an address gave and that are not revoked, by id (all have the same number).
    Approvals { owner: AddressId },
    /// Verified contracts that still have the verified code, by sequential id (all have the same number).
    VerifiedContracts,
}

impl RankedSet {
    fn key(self) -> Key {
        let (tag, owner) = match self {
            Self::Tokens => (0, 0),
            Self::Holders { token } => (1, token),
            Self::HeldTokens { holder } => (2, holder),
            Self::VerifiedContracts => (3, 0),
            Self::NftHolders { nft } => (4, nft),
            Self::HeldNfts { holder } => (5, holder),
            Self::Approvals { owner } => (6, owner),
        };
        Key::EMPTY.then(&[tag]).then(&id_bytes(owner))
    }

    /// The table of its members, and the table of their counts.
    fn tables(self) -> (Table, Table) {
        match self {
            Self::Tokens
            | Self::Holders { .. }
            | Self::HeldTokens { .. }
            | Self::NftHolders { .. }
            | Self::HeldNfts { .. }
            | Self::Approvals { .. } => (Table::Ranked, Table::RankCount),
            // Not determined by the chain alone.
            Self::VerifiedContracts => (Table::VerifiedListed, Table::VerifiedListedCount),
        }
    }

    /// The lengths at which prefixes of the tie-breaker are counted. Random addresses differ early, sequential ids
    /// late.
    fn counted_tie_lengths(self) -> &'static [usize] {
        match self {
            Self::Tokens => &[1, 2],
            Self::Holders { .. }
            | Self::HeldTokens { .. }
            | Self::NftHolders { .. }
            | Self::Approvals { .. }
            | Self::VerifiedContracts => &[3, 4],
            // One address can hold far more ids than there are tokens.
            Self::HeldNfts { .. } => &[2, 3, 4],
        }
    }

    /// The next longer prefix length that is counted; None if few members can share the prefix.
    fn next_counted(self, prefix: &[u8]) -> Option<usize> {
        if prefix.is_empty() {
            return Some(1);
        }
        let end = number_end(prefix);
        let number_lengths = (1..=COUNTED_NUMBER_BYTES.min(end)).chain([end]);
        let tie_lengths = self.counted_tie_lengths().iter().map(|length| end + length);
        number_lengths.chain(tie_lengths).find(|length| *length > prefix.len())
    }
}

/// Up to this length, every prefix of the number is counted; after that only the whole number.
const COUNTED_NUMBER_BYTES: usize = 4;

/// A number and a tie-breaker, encoded so that they sort by number descending, then by tie-breaker.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SortKey(Vec<u8>);

impl SortKey {
    /// The length comes first, since a longer number is larger; the bits are inverted so that the largest sorts first.
    pub(crate) fn descending(number: &Balance, tie: &[u8]) -> Self {
        let number = number.to_be_bytes_trimmed_vec();
        // At most 40, of 320 bits.
        let length = u8::try_from(number.len()).unwrap_or(u8::MAX);
        let inverted = std::iter::once(length).chain(number).map(|byte| !byte);
        Self(inverted.chain(tie.iter().copied()).collect())
    }

    /// The number and the tie-breaker of a sort key.
    pub(crate) fn parts(sort_key: &[u8]) -> Option<(Balance, &[u8])> {
        let (number, tie) = sort_key.split_at_checked(number_end(sort_key))?;
        let number: Vec<u8> = number.iter().skip(1).map(|byte| !byte).collect();
        Some((Balance::try_from_be_slice(&number)?, tie))
    }
}

/// The offset in a sort key where the number ends and the tie-breaker starts.
fn number_end(sort_key: &[u8]) -> usize {
    1 + sort_key.first().map_or(0, |length| usize::from(!length))
}

/// Prefixes of one length are adjacent, so that those with a common prefix are neighbours.
fn count_key(set: RankedSet, length: usize, prefix: &[u8]) -> Key {
    // Counted prefixes are shorter than a key.
    set.key().then(&[u8::try_from(length).unwrap_or(u8::MAX)]).then(prefix)
}

/// Moves of members, collected so that a count that many moves change is written once.
#[derive(Debug, Default)]
pub(crate) struct RankMoves {
    counts: FastMap<(Table, Key), i64>,
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
        let mut prefix: &[u8] = &[];
        while let Some(length) = set.next_counted(prefix)
            && let Some(next) = key.0.get(..length)
        {
            prefix = next;
            *self.counts.entry((set.tables().1, count_key(set, length, prefix))).or_default() += change;
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

/// The number of members of a set.
pub(crate) fn member_count(view: &View, set: RankedSet) -> Result<u64, StoreError> {
    view.prefix(set.tables().1, &count_key(set, 1, &[])).map(|row| count_from_row(&row?.1)).sum()
}

/// The sort keys of up to `count` consecutive members, starting at `rank`.
pub(crate) fn members_from(view: &View, set: RankedSet, rank: u64, count: usize) -> Result<Vec<Vec<u8>>, StoreError> {
    let Some((prefix, skip)) = find_prefix(view, set, rank)? else { return Ok(Vec::new()) };
    let set_key = set.key();
    view.range_from(set.tables().0, &set_key.then(&prefix), &set_key)
        .skip(usize::try_from(skip).unwrap_or(usize::MAX))
        .take(count)
        .map(|row| Ok(split_key(&row?.0, set_key.as_slice().len())?.1.to_vec()))
        .collect()
}

/// The longest counted prefix of the member at a rank, and its rank among those with the prefix. None if the set is
/// smaller.
fn find_prefix(view: &View, set: RankedSet, mut rank: u64) -> Result<Option<(Vec<u8>, u64)>, StoreError> {
    let mut prefix: Vec<u8> = Vec::new();
    'longer: while let Some(length) = set.next_counted(&prefix) {
        let head = count_key(set, length, &[]).as_slice().len();
        for row in view.prefix(set.tables().1, &count_key(set, length, &prefix)) {
            let (key, count) = row?;
            let count = count_from_row(&count)?;
            if rank < count {
                prefix = split_key(&key, head)?.1.to_vec();
                continue 'longer;
            }
            rank -= count;
        }
        if prefix.is_empty() {
            return Ok(None);
        }
        return Err(StoreError::Corrupt("a ranked set has fewer members than it counts"));
    }
    Ok(Some((prefix, rank)))
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
    fn prefixes_of_every_number_are_counted_in_growing_lengths() {
        let set = RankedSet::Holders { token: 1 };
        for number in [Balance::ZERO, Balance::from(7), Balance::MAX] {
            let key = SortKey::descending(&number, &[0, 0, 1, 2, 3]).0;
            let (mut prefix, mut lengths) = (0, Vec::new());
            while let Some(length) = set.next_counted(&key[..prefix]) {
                lengths.push(length);
                prefix = length;
            }
            assert_eq!(lengths.last(), Some(&(key.len() - 1)));
            assert!(lengths.contains(&number_end(&key)) && lengths.is_sorted(), "{lengths:?}");
        }
    }
}
