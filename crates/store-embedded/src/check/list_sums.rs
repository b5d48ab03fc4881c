//! Compares two sets of list entries without keeping either: each entry changes the sum of its ids' range, and equal sets cancel out.

use std::{collections::BTreeMap, ops::RangeInclusive};

use store::Party;

use crate::{
    keys::{ListKey, ListKind},
    lists::Entry,
};

/// Ids per sum, as a power of two.
const RANGE_BITS: u32 = 12;

#[derive(Debug, Default)]
pub(super) struct ListSums {
    sums: BTreeMap<ListKind, Vec<u64>>,
}

impl ListSums {
    /// The entries that follow from a row.
    pub(super) fn expect_in(&mut self, lists: impl Iterator<Item = (ListKey, Party)>, id: u64) {
        for (list, party) in lists {
            self.expect(list, Entry::new(id, party));
        }
    }

    fn expect(&mut self, list: ListKey, entry: Entry) {
        *self.sum(list.kind, entry.id) = self.sum(list.kind, entry.id).wrapping_add(digest(list, entry));
    }

    /// An entry of a list.
    pub(super) fn find(&mut self, list: ListKey, entry: Entry) {
        *self.sum(list.kind, entry.id) = self.sum(list.kind, entry.id).wrapping_sub(digest(list, entry));
    }

    /// Ranges of ids whose entries differ.
    pub(super) fn differences(&self, kind: ListKind) -> impl Iterator<Item = RangeInclusive<u64>> + '_ {
        let sums = self.sums.get(&kind).into_iter().flatten().zip(0_u64..);
        sums.filter(|(sum, _)| **sum != 0).map(|(_, range)| {
            let first = range << RANGE_BITS;
            first..=first + (1 << RANGE_BITS) - 1
        })
    }

    #[expect(clippy::indexing_slicing, reason = "the vector was extended to this length")]
    fn sum(&mut self, kind: ListKind, id: u64) -> &mut u64 {
        let sums = self.sums.entry(kind).or_default();
        let range = usize::try_from(id >> RANGE_BITS).unwrap_or(usize::MAX);
        if range >= sums.len() {
            sums.resize(range + 1, 0);
        }
        &mut sums[range]
    }
}

/// A number that two different entries hardly share.
fn digest(list: ListKey, entry: Entry) -> u64 {
    let roles = u64::from(entry.roles.from) | u64::from(entry.roles.to) << 1;
    [list.kind as u64, list.owner, entry.id, roles].into_iter().fold(0x9e37_79b9_7f4a_7c15, |digest: u64, part| {
        let mixed = (digest ^ part).wrapping_mul(0xff51_afd7_ed55_8ccd);
        let mixed = (mixed ^ mixed >> 32).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        mixed ^ mixed >> 29
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_entries_cancel_out_in_any_order_and_others_are_found() {
        let (mut sums, list) = (ListSums::default(), ListKind::Transactions.of(7));
        let entry = |id| Entry::new(id, Party::Any);
        (0..10_000).for_each(|id| sums.expect(list, entry(id)));
        (0..10_000).rev().for_each(|id| sums.find(list, entry(id)));
        assert_eq!(sums.differences(ListKind::Transactions).count(), 0);
        sums.find(ListKind::Transactions.of(8), entry(5_000));
        sums.expect(list, entry(5_000));
        assert_eq!(sums.differences(ListKind::Transactions).collect::<Vec<_>>(), [4_096..=8_191]);
        assert_eq!(sums.differences(ListKind::Mined).count(), 0);
    }
}
