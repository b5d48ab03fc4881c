//! What long lists have in common is counted once. Walking two lists of a million entries takes as long as they are, so a
//! walk leaves marks along its way: how many it had met up to there. The next question about the same lists begins at
//! the mark before its page.
//!
//! A mark in the part of the lists that no revert can reach holds for good, since that part never changes. One behind it
//! holds until blocks are taken back: until then lists are only added to.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::available_parallelism;

use domain::{BlockNumber, Page, PageRequest};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use store::StoreError;

use super::long_walk::{LongWalk, ReadError};
use super::select::Condition;
use crate::engine::Epoch;
use crate::lists::{Common, List, Role};
use crate::shared_work::Cancelled;

/// Entries that a walk looks at from one mark to the next.
const STRIDE: u64 = 2 * 1024;
/// Marks kept in memory for all lists together, 16 bytes each.
const CAPACITY: u64 = 1 << 20;
const COMBINATIONS: usize = 4096;
/// Entries ahead from which on a walk is not made by the reader itself: it takes milliseconds, and is worth more than one
/// thread. Tests have short lists.
const LONG: u64 = if cfg!(test) { 512 } else { 64 * 1024 };
/// Entries of the shortest list that a long walk passes before it keeps its marks and may be cancelled.
const PIECE: u64 = if cfg!(test) { 2_000 } else { 1 << 20 };

/// So many common numbers lie below this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Mark {
    id: u64,
    below: u64,
}

/// How far lists have been walked, and the marks that were left.
#[derive(Debug, Clone, Default)]
struct MarkedWay {
    marks: Vec<Mark>,
    /// Up to here no mark is missing.
    walked_to: u64,
    /// Up to here it holds for good.
    settled: u64,
    /// Beyond that, in this epoch.
    epoch: Option<Epoch>,
}

impl MarkedWay {
    /// What of it holds in an epoch.
    fn in_epoch(self: Arc<Self>, epoch: Option<Epoch>) -> Arc<Self> {
        if epoch.is_some() && self.epoch == epoch {
            return self;
        }
        let kept = self.marks.partition_point(|mark| mark.id <= self.settled);
        Arc::new(Self {
            marks: self.marks[..kept].to_vec(),
            walked_to: self.walked_to.min(self.settled),
            settled: self.settled,
            epoch,
        })
    }
}

/// The marks of the combinations that were asked for of late.
#[derive(Debug)]
pub(crate) struct Marks {
    by_conditions: Cache<Vec<Condition>, Arc<MarkedWay>, Length>,
    settled_floor: AtomicU64,
}

impl Default for Marks {
    fn default() -> Self {
        Self { by_conditions: Cache::with_weighter(COMBINATIONS, CAPACITY, Length), settled_floor: AtomicU64::new(0) }
    }
}

impl Marks {
    /// A block below which nothing can be taken back any more.
    pub(super) fn settled_floor(&self) -> BlockNumber {
        self.settled_floor.load(Ordering::Acquire)
    }

    /// Walks on to the end of the lists, and keeps the marks of each piece: whoever comes after a cancelled walk begins
    /// where it stopped.
    pub(super) fn walk_to_end(
        &self,
        conditions: &[Condition],
        lists: &[(List<'_>, Role)],
        hold: Hold,
        cancelled: &Cancelled,
    ) -> Result<(), StoreError> {
        let (mut known, end) = self.known(conditions, lists, hold);
        while known.walked_to < end && !cancelled.is_set() {
            let pieces = entries_from(lists, known.walked_to)?.div_ceil(PIECE).max(1);
            let piece = ((end - known.walked_to) / pieces).max(1);
            known = self.walk_on(conditions, lists, hold, &known, end.min(known.walked_to + piece))?;
        }
        Ok(())
    }

    /// What is known of lists, and where they end.
    fn known(&self, conditions: &[Condition], lists: &[(List<'_>, Role)], hold: Hold) -> (Arc<MarkedWay>, u64) {
        let known = self.by_conditions.get(conditions).unwrap_or_default().in_epoch(hold.epoch);
        // What lists have in common ends with the one that ends first.
        let last = lists.iter().map(|(list, _)| list.last()).min().flatten();
        let end = if hold.epoch.is_some() { last.map_or(0, |last| last + 1) } else { hold.settled };
        (known, end)
    }

    fn walk_on(
        &self,
        conditions: &[Condition],
        lists: &[(List<'_>, Role)],
        hold: Hold,
        known: &MarkedWay,
        end: u64,
    ) -> Result<Arc<MarkedWay>, StoreError> {
        let further = marks_between(lists, known.marks.last().copied().unwrap_or_default(), end)?;
        let way = Arc::new(MarkedWay {
            marks: [known.marks.as_slice(), &further].concat(),
            walked_to: end,
            settled: known.settled.max(hold.settled),
            epoch: hold.epoch,
        });
        self.by_conditions.insert(conditions.to_vec(), Arc::clone(&way));
        Ok(way)
    }

    pub(super) fn raise_settled_floor(&self, floor: BlockNumber) {
        self.settled_floor.fetch_max(floor, Ordering::AcqRel);
    }
}

#[derive(Debug, Clone)]
struct Length;

impl Weighter<Vec<Condition>, Arc<MarkedWay>> for Length {
    fn weight(&self, conditions: &Vec<Condition>, way: &Arc<MarkedWay>) -> u64 {
        (conditions.len() + way.marks.len()) as u64
    }
}

/// Several lists with marks along what they have in common.
pub(super) struct Marked<'a> {
    lists: &'a [(List<'a>, Role)],
    way: Arc<MarkedWay>,
}

/// How long marks hold.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hold {
    /// From here on the lists may still change.
    pub(super) settled: u64,
    /// But not within this epoch.
    pub(super) epoch: Option<Epoch>,
}

impl<'a> Marked<'a> {
    /// Walks on to the end of the lists where that is short.
    pub(super) fn open(
        memory: &Marks,
        conditions: &[Condition],
        lists: &'a [(List<'a>, Role)],
        hold: Hold,
    ) -> Result<Self, ReadError> {
        let (known, end) = memory.known(conditions, lists, hold);
        if known.walked_to >= end {
            return Ok(Self { lists, way: known });
        }
        if entries_from(lists, known.walked_to)? >= LONG {
            return Err(ReadError::NeedsWalk(LongWalk { conditions: conditions.to_vec(), settled: hold.settled }));
        }
        Ok(Self { lists, way: memory.walk_on(conditions, lists, hold, &known, end)? })
    }

    /// A page of the common numbers that lie in the span.
    pub(super) fn page(&self, span: Range<u64>, page: PageRequest) -> Result<Page<u64>, StoreError> {
        let first = self.count_below(span.start)?;
        let total = self.count_below(span.end)? - first;
        let ranks: Vec<u64> = page.ranks(total).map(|rank| first + rank).collect();
        let (Some(&low), Some(&high)) = (ranks.iter().min(), ranks.iter().max()) else {
            return Ok(Page::empty(total));
        };
        let ascending = self.at_ranks(low..high + 1)?;
        let items = ranks.into_iter().filter_map(|rank| ascending.get(usize::try_from(rank - low).ok()?).copied());
        Ok(Page { items: items.collect(), total })
    }

    fn count_below(&self, id: u64) -> Result<u64, StoreError> {
        if id == 0 {
            return Ok(0);
        }
        let mark = self.last_mark(|mark| mark.id <= id);
        Ok(mark.below + walk(self.lists, mark.id, id, |_, _| ())?)
    }

    fn at_ranks(&self, ranks: Range<u64>) -> Result<Vec<u64>, StoreError> {
        let mark = self.last_mark(|mark| mark.below <= ranks.start);
        let Some(mut walk) = Common::open(self.lists, mark.id)? else { return Ok(Vec::new()) };
        let (mut below, mut ids) = (mark.below, Vec::new());
        while below < ranks.end
            && let Some(stretch) = walk.next()?
        {
            let ranked = (below..).zip(stretch.met);
            ids.extend(ranked.filter(|(rank, _)| ranks.contains(rank)).map(|(_, id)| *id));
            below += stretch.met.len() as u64;
        }
        Ok(ids)
    }

    /// The last mark with a property that all marks have up to some point.
    fn last_mark(&self, holds: impl Fn(&Mark) -> bool) -> Mark {
        let marks = &self.way.marks;
        let after = marks.partition_point(holds);
        after.checked_sub(1).and_then(|last| marks.get(last)).copied().unwrap_or_default()
    }
}

/// Entries of the shortest list from a number on.
fn entries_from(lists: &[(List<'_>, Role)], id: u64) -> Result<u64, StoreError> {
    let Some((list, role)) = lists.iter().min_by_key(|(list, role)| list.total(*role)) else { return Ok(0) };
    let before = if id == 0 { 0 } else { list.rank_of(*role, id)? };
    Ok(list.total(*role).saturating_sub(before))
}

/// Walks on from a mark to `end`, and marks its way. A long way is split into parts that are walked at the same time.
fn marks_between(lists: &[(List<'_>, Role)], begin: Mark, end: u64) -> Result<Vec<Mark>, StoreError> {
    if begin.id >= end {
        return Ok(Vec::new());
    }
    let is_long = entries_from(lists, begin.id)? >= LONG;
    let parts = if is_long { available_parallelism().map_or(1, usize::from) as u64 } else { 1 };
    let bound = |part: u64| begin.id + (end - begin.id) * part / parts;
    let ways: Vec<Result<Way, StoreError>> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..parts)
            .map(|part| {
                let again: Vec<_> = lists.iter().map(|(list, role)| (list.again(), *role)).collect();
                scope.spawn(move || Way::walk(&again, bound(part), bound(part + 1)))
            })
            .collect();
        let first = Way::walk(lists, begin.id, bound(1));
        std::iter::once(first).chain(others.into_iter().map(|other| other.join().unwrap_or(Err(LOST)))).collect()
    });
    let (mut marks, mut below) = (Vec::new(), begin.below);
    for (way, part) in ways.into_iter().zip(0..) {
        let way = way?;
        if part > 0 {
            marks.push(Mark { id: bound(part), below });
        }
        marks.extend(way.marks.iter().map(|mark| Mark { id: mark.id, below: below + mark.below }));
        below += way.met;
    }
    Ok(marks)
}

const LOST: StoreError = StoreError::Corrupt("a walk along lists ended early");

/// What a walk found.
struct Way {
    /// How many it met.
    met: u64,
    /// Counted from where it began.
    marks: Vec<Mark>,
}

impl Way {
    fn walk(lists: &[(List<'_>, Role)], begin: u64, end: u64) -> Result<Self, StoreError> {
        let (mut marks, mut marked_at) = (Vec::new(), 0);
        let met = walk(lists, begin, end, |mark, work| {
            if work - marked_at >= STRIDE {
                marks.push(mark);
                marked_at = work;
            }
        })?;
        Ok(Self { met, marks })
    }
}

/// Counts what lists have in common from `begin` to before `end`, and shows every place where a mark could stand, with
/// the work up to there.
fn walk(lists: &[(List<'_>, Role)], begin: u64, end: u64, mut pass: impl FnMut(Mark, u64)) -> Result<u64, StoreError> {
    let Some(mut walk) = Common::open(lists, begin)? else { return Ok(0) };
    let mut met = 0;
    loop {
        let work = walk.work();
        let Some(stretch) = walk.next()?.filter(|stretch| stretch.begin < end) else { return Ok(met) };
        pass(Mark { id: stretch.begin, below: met }, work);
        met += stretch.met.partition_point(|id| *id < end) as u64;
    }
}
