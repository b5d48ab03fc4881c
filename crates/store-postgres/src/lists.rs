//! Lists of ids, stored as runs: see `migrations/0001_schema.sql`.

use std::collections::BTreeMap;

use store::{ChainTotals, ListKey, ListKind, Party, StoreError};
use tokio_postgres::Row;

use crate::rows::RowExt;

/// Entries of a run. A longer one would be moved out of its table.
pub(crate) const RUN_ENTRIES: usize = 128;

/// An address, by its position in the order of first appearance.
pub(crate) type AddressId = u64;

/// A table of lists. The trades of all exchanges share one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ListTable(ListKind);

impl From<ListKind> for ListTable {
    fn from(kind: ListKind) -> Self {
        Self::of(kind.of(0)).0
    }
}

impl ListTable {
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        ListKind::ALL
            .iter()
            .map(|kind| (Self::from(*kind), kind))
            .filter(|(table, kind)| table.0 == **kind)
            .map(|(table, _)| table)
    }

    /// The table of a list, and its owner there. The owner of the trades of an exchange has the style in its lowest bit: a third style
    /// needs another layout of the table.
    pub(crate) fn of(list: ListKey) -> (Self, u64) {
        match list.kind {
            ListKind::V2Trades => (Self(ListKind::V2Trades), list.owner << 1),
            ListKind::V3Trades => (Self(ListKind::V2Trades), list.owner << 1 | 1),
            kind => (Self(kind), list.owner),
        }
    }

    /// The prefix of the names of its table and functions.
    pub(crate) fn name(self) -> &'static str {
        match self.0 {
            ListKind::V2Trades => "exchange_trade",
            kind => kind.name(),
        }
    }

    /// The first of its kinds.
    pub(crate) fn kind(self) -> ListKind {
        self.0
    }

    /// The first owner that the chain did not have, given its totals.
    pub(crate) fn first_new_owner(self, before: &ChainTotals) -> u64 {
        Self::of(self.0.of(self.0.first_new_owner(before))).1
    }
}

/// The bits of an entry that say what its owner is to it.
pub(crate) fn mask(party: Party) -> i32 {
    match party {
        Party::Any => 0,
        Party::Sender => 1,
        Party::Receiver => 2,
        Party::Both => 3,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    id: u64,
    party: Party,
}

impl Entry {
    pub(crate) fn new(id: u64, party: Party) -> Self {
        Self { id, party }
    }

    fn value(self) -> i64 {
        self.id.cast_signed() << 2 | i64::from(mask(self.party))
    }
}

/// How many entries a list has up to some place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    pub(crate) total: u64,
    pub(crate) sent: u64,
    pub(crate) received: u64,
}

/// The end of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Tail {
    pub(crate) counts: Counts,
    /// The id of the last entry.
    pub(crate) last: Option<u64>,
}

/// A row of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) owner: u64,
    before: Counts,
    first: i64,
    rest: Vec<i32>,
    has_roles: bool,
}

impl Run {
    /// From the columns of a list.
    pub(crate) fn from_row(row: &Row, list: ListTable) -> Result<Self, StoreError> {
        let (sent, received) = match (list.kind().has_roles(), row.option_u64(3)?, row.option_u64(4)?) {
            (true, Some(sent), Some(received)) => (sent, received),
            // Not counted.
            (false, None, None) => (0, 0),
            _ => return Err(StoreError::Corrupt("a run with the counts of another list")),
        };
        let before = Counts { total: row.u64(1)?, sent, received };
        let rest = row.value::<Option<Vec<i32>>>(5)?.unwrap_or_default();
        Ok(Self { owner: row.u64(0)?, before, first: row.value(2)?, rest, has_roles: list.kind().has_roles() })
    }

    /// One run with the entries of several that follow each other; None if there are none.
    pub(crate) fn concat(runs: Vec<Self>) -> Result<Option<Self>, StoreError> {
        let mut runs = runs.into_iter();
        let Some(mut merged) = runs.next() else { return Ok(None) };
        let base = merged.first & -4;
        for run in runs {
            let distance = (run.first & -4) - base;
            let entries =
                std::iter::once(run.first - base).chain(run.rest.iter().map(|rest| i64::from(*rest) + distance));
            for entry in entries {
                merged.rest.push(i32::try_from(entry).map_err(|_| TOO_FAR)?);
            }
        }
        Ok(Some(merged))
    }

    /// Whether the entries of a later run can be in this one.
    pub(crate) fn can_hold(&self, later: &Self) -> bool {
        let last = (later.first & -4) + later.rest.last().map_or(3, |rest| i64::from(*rest));
        i32::try_from(last - (self.first & -4)).is_ok()
    }

    pub(crate) fn len(&self) -> usize {
        1 + self.rest.len()
    }

    pub(crate) fn first_seq(&self) -> i64 {
        self.before.total.cast_signed()
    }

    pub(crate) fn first(&self) -> i64 {
        self.first
    }

    pub(crate) fn sent_before(&self) -> Option<i64> {
        self.has_roles.then_some(self.before.sent.cast_signed())
    }

    pub(crate) fn received_before(&self) -> Option<i64> {
        self.has_roles.then_some(self.before.received.cast_signed())
    }

    pub(crate) fn rest(&self) -> Option<&[i32]> {
        (!self.rest.is_empty()).then_some(&self.rest)
    }
}

/// Appended rows, and the ends of their lists by owner.
type RunsAndTails = (Vec<Run>, Vec<(u64, Tail)>);

const TOO_FAR: StoreError = StoreError::Corrupt("an entry too far from the first one of its run");

/// The entries that a commit appends. Where blocks can be reverted, no run contains entries of two of them, so that a revert
/// deletes whole runs.
#[derive(Debug, Default)]
pub(crate) struct Appended {
    by_list: BTreeMap<(ListTable, u64), Vec<Vec<Entry>>>,
}

impl Appended {
    /// The entry is not in a run with entries below `floor`.
    pub(crate) fn push(&mut self, list: ListKey, entry: Entry, floor: u64) {
        let runs = self.by_list.entry(ListTable::of(list)).or_default();
        let open = runs.last_mut().filter(|run| {
            let fits = run.first().is_some_and(|first| i32::try_from(entry.value() - (first.value() & -4)).is_ok());
            fits && run.len() < RUN_ENTRIES && run.last().is_some_and(|last| last.id >= floor)
        });
        match open {
            Some(run) => run.push(entry),
            None => runs.push(vec![entry]),
        }
    }

    pub(crate) fn owners(&self, list: ListTable) -> impl Iterator<Item = u64> {
        self.by_list.range((list, 0)..=(list, u64::MAX)).map(|((_, owner), _)| *owner)
    }

    /// The rows of a list, and its tails after them. `tail` is the tail before.
    pub(crate) fn runs(&self, list: ListTable, tail: impl Fn(u64) -> Tail) -> Result<RunsAndTails, StoreError> {
        let (mut rows, mut tails) = (Vec::new(), Vec::new());
        for ((_, owner), runs) in self.by_list.range((list, 0)..=(list, u64::MAX)) {
            let mut end = tail(*owner);
            for entries in runs {
                let Some((first, rest)) = entries.split_first() else { continue };
                let first = first.value();
                let rest = rest.iter().map(|entry| i32::try_from(entry.value() - (first & -4)).map_err(|_| TOO_FAR));
                let rest = rest.collect::<Result<_, _>>()?;
                rows.push(Run { owner: *owner, before: end.counts, first, rest, has_roles: list.kind().has_roles() });
                for entry in entries {
                    end.counts.total += 1;
                    end.counts.sent += u64::from(mask(entry.party) & 1 != 0);
                    end.counts.received += u64::from(mask(entry.party) & 2 != 0);
                    end.last = Some(entry.id);
                }
            }
            tails.push((*owner, end));
        }
        Ok((rows, tails))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_has_a_table() {
        let schema = include_str!("../migrations/0001_schema.sql");
        for table in ListTable::all() {
            assert!(schema.contains(&format!("'{}'", table.name())), "{table:?}");
        }
        let (v2, v3) = (ListTable::of(ListKind::V2Trades.of(9)), ListTable::of(ListKind::V3Trades.of(9)));
        assert_eq!((v2.0, v2.1, v3.1), (v3.0, 18, 19));
        assert_eq!(ListTable::all().count(), ListKind::ALL.len() - 1);
    }

    #[test]
    fn a_run_has_the_counts_before_it_and_at_most_128_entries() {
        let mut appended = Appended::default();
        for id in 10..210 {
            let party = if id % 2 == 0 { Party::Sender } else { Party::Both };
            appended.push(ListKind::Transactions.of(7), Entry::new(id, party), 0);
        }
        let (runs, tails) = appended
            .runs(ListKind::Transactions.into(), |_| Tail {
                counts: Counts { total: 5, sent: 5, received: 1 },
                last: Some(9),
            })
            .unwrap();
        let lengths: Vec<usize> = runs.iter().map(|run| 1 + run.rest.len()).collect();
        assert_eq!(lengths, [128, 72]);
        assert_eq!((runs[0].first_seq(), runs[0].first(), runs[0].received_before()), (5, 41, Some(1)));
        assert_eq!(runs[0].rest[..2], [7, 9], "11 in both roles, 12 as the sender, from id 10 on");
        assert_eq!((runs[1].first_seq(), runs[1].sent_before(), runs[1].received_before()), (133, Some(133), Some(65)));
        let counts = Counts { total: 205, sent: 205, received: 101 };
        assert_eq!(tails, [(7, Tail { counts, last: Some(209) })]);
        assert_eq!(appended.runs(ListKind::Involved.into(), |_| Tail::default()).unwrap().0, []);
    }

    #[test]
    fn blocks_that_can_be_reverted_have_their_own_runs() {
        let mut appended = Appended::default();
        for id in 0..6 {
            appended.push(ListKind::Mined.of(1), Entry::new(id, Party::Any), id / 2 * 2);
        }
        let (runs, _) = appended.runs(ListKind::Mined.into(), |_| Tail::default()).unwrap();
        assert_eq!(runs.iter().map(Run::first).collect::<Vec<_>>(), [0, 8, 16]);
        assert_eq!(runs[0].sent_before(), None);
    }

    #[test]
    fn no_entry_is_left_out_of_a_run_that_cannot_hold_it() {
        let run = |id: u64| {
            let mut appended = Appended::default();
            appended.push(ListKind::Mined.of(1), Entry::new(id, Party::Any), 0);
            appended.runs(ListKind::Mined.into(), |_| Tail::default()).unwrap().0.remove(0)
        };
        let (first, near, far) = (run(7), run(400_000_000), run(700_000_000));
        assert!(first.can_hold(&near) && !first.can_hold(&far));
        assert_eq!(Run::concat(vec![first.clone(), near]).unwrap().map(|run| run.len()), Some(2));
        let merged = Run::concat(vec![first, far]);
        assert!(matches!(merged, Err(StoreError::Corrupt(_))), "{merged:?}");
        assert_eq!(Run::concat(Vec::new()).unwrap(), None);
    }
}
