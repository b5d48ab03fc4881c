//! Counts the intersection of long lists once. Walking two lists of a million entries takes time in proportion, so a
//! walk leaves checkpoints: the count of common ids up to a position. The next query on the same lists starts at the
//! checkpoint before its page.
//!
//! A checkpoint in the part of the lists that cannot be reverted is valid forever. A later one is valid within its
//! epoch: until a revert, lists only grow.

use std::{
    ops::Range,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread::available_parallelism,
};

use domain::{Page, PageRequest};
use quick_cache::{Weighter, unsync::Cache};
use store::StoreError;

use super::{
    conditions::{Condition, LongWalk, ReadError, Validity},
    settled::{Generation, SettledFloor},
};
use crate::{
    engine::Epoch,
    lists::{Intersection, List, Role},
    shared_work::Cancelled,
};

/// Entries between two checkpoints. Tests use short lists.
const STRIDE: u64 = if cfg!(test) { 128 } else { 2 * 1024 };
const CHECKPOINT_BYTES: u64 = size_of::<Checkpoint>() as u64;
/// Checkpoints that are cached in any case.
const MIN_CAPACITY: u64 = 32;
/// The cached combinations of lists, as an estimate.
const COMBINATIONS: usize = 4096;
/// The share of the cache that one combination of lists may take.
const COMBINATION_SHARE: u64 = 4;
/// A walk over at least this many entries does not run within the query: it takes milliseconds, and is worth several
/// threads.
const LONG: u64 = if cfg!(test) { 512 } else { 64 * 1024 };
/// A span with fewer entries is walked for each query: it takes a millisecond.
const SHORT: u64 = if cfg!(test) { 256 } else { 16 * 1024 };
/// Entries of the shortest list after which a long walk stores its checkpoints and checks for cancellation.
const PIECE: u64 = if cfg!(test) { 2_000 } else { 1 << 20 };

/// The number of common ids below `id`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Checkpoint {
    id: u64,
    below: u64,
}

/// How far lists have been walked, and the checkpoints on the way.
#[derive(Debug, Clone, Default)]
struct WalkProgress {
    checkpoints: Vec<Checkpoint>,
    /// The checkpoints are complete up to here.
    walked_to: u64,
    /// The checkpoints are valid forever up to here ...
    settled: u64,
    /// ... and beyond that in this epoch.
    epoch: Option<Epoch>,
    /// None of them is valid in another generation.
    generation: Generation,
}

impl WalkProgress {
    /// The part that is valid in an epoch.
    fn in_epoch(self: Arc<Self>, epoch: Option<Epoch>) -> Arc<Self> {
        if epoch.is_some() && self.epoch == epoch {
            return self;
        }
        let kept = self.checkpoints.partition_point(|checkpoint| checkpoint.id <= self.settled);
        Arc::new(Self {
            checkpoints: self.checkpoints.get(..kept).unwrap_or_default().to_vec(),
            walked_to: self.walked_to.min(self.settled),
            settled: self.settled,
            epoch,
            generation: self.generation,
        })
    }
}

/// The checkpoints of recently queried combinations of lists.
#[derive(Debug)]
pub(crate) struct CheckpointCache {
    /// Not sharded: a shard rejects what takes more than its own part of the capacity, and a query whose checkpoints are
    /// rejected would be retried forever.
    by_conditions: Mutex<Cache<Vec<Condition>, Arc<WalkProgress>, Length>>,
    /// Maximum checkpoints of one combination.
    limit: usize,
    /// A packed [`SettledFloor`], so that both change at once.
    settled_floor: AtomicU64,
}

impl CheckpointCache {
    pub(super) fn new(bytes: u64) -> Self {
        let capacity = (bytes / CHECKPOINT_BYTES).max(MIN_CAPACITY);
        let by_conditions = Mutex::new(Cache::with_weighter(COMBINATIONS, capacity, Length));
        let limit = usize::try_from(capacity / COMBINATION_SHARE).unwrap_or(usize::MAX);
        Self { by_conditions, limit, settled_floor: AtomicU64::new(0) }
    }

    fn by_conditions(&self) -> MutexGuard<'_, Cache<Vec<Condition>, Arc<WalkProgress>, Length>> {
        self.by_conditions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// No block below this one can be reverted any more.
    pub(super) fn settled_floor(&self) -> SettledFloor {
        SettledFloor::unpacked(self.settled_floor.load(Ordering::Acquire))
    }

    /// To be called when the index is empty. What queries of the generation before add later is ignored.
    pub(super) fn start_over(&self) {
        let next = self.settled_floor().next_generation();
        self.settled_floor.store(next.packed(), Ordering::Release);
        self.by_conditions().clear();
    }

    /// Continues to the end of the lists, and stores the checkpoints of each piece, so that a later walk continues
    /// where a cancelled one stopped.
    pub(super) fn walk_to_end(
        &self,
        conditions: &[Condition],
        lists: &[(List<'_>, Role)],
        validity: Validity,
        cancelled: &Cancelled,
    ) -> Result<(), StoreError> {
        let (mut known, end) = self.known(conditions, lists, validity);
        while known.walked_to < end && !cancelled.is_set() {
            let pieces = entries_from(lists, known.walked_to)?.div_ceil(PIECE).max(1);
            let piece = ((end - known.walked_to) / pieces).max(1);
            known = self.walk_on(conditions, lists, validity, &known, end.min(known.walked_to + piece))?;
        }
        Ok(())
    }

    /// The progress on these lists, and their end.
    fn known(
        &self,
        conditions: &[Condition],
        lists: &[(List<'_>, Role)],
        validity: Validity,
    ) -> (Arc<WalkProgress>, u64) {
        let known = self.by_conditions().get(conditions).cloned();
        let known = known.filter(|known| known.generation == validity.generation);
        let known = known.unwrap_or_default().in_epoch(validity.epoch);
        // The intersection ends with the list that ends first.
        let last = lists.iter().map(|(list, _)| list.last()).min().flatten();
        let end = if validity.epoch.is_some() { last.map_or(0, |last| last + 1) } else { validity.settled };
        (known, end)
    }

    fn walk_on(
        &self,
        conditions: &[Condition],
        lists: &[(List<'_>, Role)],
        validity: Validity,
        known: &WalkProgress,
        end: u64,
    ) -> Result<Arc<WalkProgress>, StoreError> {
        let further = checkpoints_between(lists, known.checkpoints.last().copied().unwrap_or_default(), end)?;
        let mut checkpoints = [known.checkpoints.as_slice(), &further].concat();
        thin_out(&mut checkpoints, self.limit);
        let progress = Arc::new(WalkProgress {
            checkpoints,
            walked_to: end,
            settled: known.settled.max(validity.settled),
            epoch: validity.epoch,
            generation: validity.generation,
        });
        self.by_conditions().insert(conditions.to_vec(), Arc::clone(&progress));
        Ok(progress)
    }

    pub(super) fn raise_settled_floor(&self, floor: SettledFloor) {
        // The generation is in the higher bits, and one that is over is not raised.
        self.settled_floor.fetch_max(floor.packed(), Ordering::AcqRel);
    }
}

/// Drops every second checkpoint until there are few enough; a query then walks further from the last one before it.
fn thin_out(checkpoints: &mut Vec<Checkpoint>, limit: usize) {
    while checkpoints.len() > limit.max(1) {
        // The last one stays: the next walk continues there.
        let (len, mut index) = (checkpoints.len(), 0);
        checkpoints.retain(|_| {
            index += 1;
            (len - index) % 2 == 0
        });
    }
}

#[derive(Debug, Clone)]
struct Length;

impl Weighter<Vec<Condition>, Arc<WalkProgress>> for Length {
    fn weight(&self, conditions: &Vec<Condition>, progress: &Arc<WalkProgress>) -> u64 {
        (conditions.len() + progress.checkpoints.len()) as u64
    }
}

/// Several lists with the checkpoints of their intersection.
pub(super) struct CheckpointedLists<'a> {
    lists: &'a [(List<'a>, Role)],
    progress: Arc<WalkProgress>,
}

impl<'a> CheckpointedLists<'a> {
    /// For a span. Continues to the end of the lists if that is short; if it is not, but the span is, nothing before the span is
    /// walked.
    pub(super) fn open(
        cache: &CheckpointCache,
        conditions: &[Condition],
        lists: &'a [(List<'a>, Role)],
        span: &Range<u64>,
        validity: Validity,
    ) -> Result<Self, ReadError> {
        let (known, end) = cache.known(conditions, lists, validity);
        if known.walked_to >= end.min(span.end) {
            return Ok(Self { lists, progress: known });
        }
        let entries = entries_from(lists, known.walked_to)?;
        if entries >= LONG && entries_within(lists, span)? < SHORT {
            let checkpoints = vec![Checkpoint { id: span.start, below: 0 }];
            return Ok(Self { lists, progress: Arc::new(WalkProgress { checkpoints, ..WalkProgress::default() }) });
        }
        if entries >= LONG {
            return Err(ReadError::NeedsWalk(LongWalk {
                conditions: conditions.to_vec(),
                settled: validity.settled,
                generation: validity.generation,
            }));
        }
        Ok(Self { lists, progress: cache.walk_on(conditions, lists, validity, &known, end)? })
    }

    /// A page of the common ids in the span.
    pub(super) fn page(&self, span: Range<u64>, page: PageRequest) -> Result<Page<u64>, StoreError> {
        let first = self.count_below(span.start)?;
        let total = self.count_below(span.end)?.checked_sub(first).ok_or(MISCOUNTED)?;
        let ranks: Vec<u64> = page.ranks(total).map(|rank| first + rank).collect();
        let (Some(&low), Some(&high)) = (ranks.iter().min(), ranks.iter().max()) else {
            return Ok(Page::empty(total));
        };
        let ascending = self.at_ranks(low..high + 1)?;
        let at = |rank: u64| ascending.get(usize::try_from(rank - low).ok()?).copied();
        let items = ranks.into_iter().map(|rank| at(rank).ok_or(MISCOUNTED));
        Ok(Page { items: items.collect::<Result<_, _>>()?, total })
    }

    fn count_below(&self, id: u64) -> Result<u64, StoreError> {
        if id == 0 {
            return Ok(0);
        }
        let checkpoint = self.last_checkpoint(|checkpoint| checkpoint.id <= id);
        Ok(checkpoint.below + walk(self.lists, checkpoint.id, id, |_, _| ())?)
    }

    fn at_ranks(&self, ranks: Range<u64>) -> Result<Vec<u64>, StoreError> {
        let checkpoint = self.last_checkpoint(|checkpoint| checkpoint.below <= ranks.start);
        let Some(mut walk) = Intersection::open(self.lists, checkpoint.id)? else { return Ok(Vec::new()) };
        let (mut below, mut ids) = (checkpoint.below, Vec::new());
        while below < ranks.end
            && let Some(chunk) = walk.next()?
        {
            let ranked = (below..).zip(chunk.ids);
            ids.extend(ranked.filter(|(rank, _)| ranks.contains(rank)).map(|(_, id)| *id));
            below += chunk.ids.len() as u64;
        }
        Ok(ids)
    }

    /// The last checkpoint for which `holds` is true; it must be true for a prefix of the checkpoints.
    fn last_checkpoint(&self, holds: impl Fn(&Checkpoint) -> bool) -> Checkpoint {
        let checkpoints = &self.progress.checkpoints;
        let after = checkpoints.partition_point(holds);
        after.checked_sub(1).and_then(|last| checkpoints.get(last)).copied().unwrap_or_default()
    }
}

/// The number of entries in a span of the list that has the fewest there.
fn entries_within(lists: &[(List<'_>, Role)], span: &Range<u64>) -> Result<u64, StoreError> {
    let mut fewest = u64::MAX;
    for (list, role) in lists {
        let [first, end] = [span.start, span.end].map(|id| list.rank_of(*role, id));
        fewest = fewest.min(end?.checked_sub(first?).ok_or(MISCOUNTED)?);
    }
    Ok(fewest)
}

/// The number of entries of the shortest list from an id on.
fn entries_from(lists: &[(List<'_>, Role)], id: u64) -> Result<u64, StoreError> {
    let Some((list, role)) = lists.iter().min_by_key(|(list, role)| list.total(*role)) else { return Ok(0) };
    let before = if id == 0 { 0 } else { list.rank_of(*role, id)? };
    list.total(*role).checked_sub(before).ok_or(MISCOUNTED)
}

/// Continues from a checkpoint to `end`, and returns the checkpoints on the way. A long walk is split into parts that
/// run in parallel.
fn checkpoints_between(lists: &[(List<'_>, Role)], begin: Checkpoint, end: u64) -> Result<Vec<Checkpoint>, StoreError> {
    if begin.id >= end {
        return Ok(Vec::new());
    }
    let is_long = entries_from(lists, begin.id)? >= LONG;
    let parts = if is_long { available_parallelism().map_or(1, usize::from) as u64 } else { 1 };
    let bound = |part: u64| begin.id + (end - begin.id) * part / parts;
    let parts_walked: Vec<Result<WalkPart, StoreError>> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..parts)
            .map(|part| {
                let reopened: Vec<_> = lists.iter().map(|(list, role)| (list.reopen(), *role)).collect();
                scope.spawn(move || WalkPart::walk(&reopened, bound(part), bound(part + 1)))
            })
            .collect();
        let first = WalkPart::walk(lists, begin.id, bound(1));
        std::iter::once(first).chain(others.into_iter().map(|other| other.join().unwrap_or(Err(LOST)))).collect()
    });
    let (mut checkpoints, mut below) = (Vec::new(), begin.below);
    for (progress, part) in parts_walked.into_iter().zip(0..) {
        let progress = progress?;
        if part > 0 {
            checkpoints.push(Checkpoint { id: bound(part), below });
        }
        checkpoints.extend(
            progress
                .checkpoints
                .iter()
                .map(|checkpoint| Checkpoint { id: checkpoint.id, below: below + checkpoint.below }),
        );
        below += progress.count;
    }
    Ok(checkpoints)
}

const MISCOUNTED: StoreError = StoreError::Corrupt("lists with fewer common entries than were counted");
const LOST: StoreError = StoreError::Corrupt("a walk along lists ended early");

/// The result of one part of a walk.
struct WalkPart {
    /// Number of common ids.
    count: u64,
    /// Counted from the start of the part.
    checkpoints: Vec<Checkpoint>,
}

impl WalkPart {
    fn walk(lists: &[(List<'_>, Role)], begin: u64, end: u64) -> Result<Self, StoreError> {
        let (mut checkpoints, mut last_work) = (Vec::new(), 0);
        let count = walk(lists, begin, end, |checkpoint, work| {
            if work - last_work >= STRIDE {
                checkpoints.push(checkpoint);
                last_work = work;
            }
        })?;
        Ok(Self { count, checkpoints })
    }
}

/// Counts the common ids from `begin` to before `end`, and calls `visit` for every possible checkpoint with the work
/// done up to there.
fn walk(
    lists: &[(List<'_>, Role)],
    begin: u64,
    end: u64,
    mut visit: impl FnMut(Checkpoint, u64),
) -> Result<u64, StoreError> {
    let Some(mut walk) = Intersection::open(lists, begin)? else { return Ok(0) };
    let mut count = 0;
    loop {
        let work = walk.work();
        let Some(chunk) = walk.next()?.filter(|chunk| chunk.begin < end) else { return Ok(count) };
        visit(Checkpoint { id: chunk.begin, below: count }, work);
        count += chunk.ids.partition_point(|id| *id < end) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_are_thinned_out_evenly_and_the_last_one_stays() {
        let mut checkpoints: Vec<Checkpoint> = (1..=20).map(|id| Checkpoint { id, below: id }).collect();
        thin_out(&mut checkpoints, 20);
        assert_eq!(checkpoints.len(), 20);
        thin_out(&mut checkpoints, 5);
        assert_eq!(checkpoints.iter().map(|checkpoint| checkpoint.id).collect::<Vec<_>>(), [4, 8, 12, 16, 20]);
        thin_out(&mut checkpoints, 0);
        assert_eq!(checkpoints, [Checkpoint { id: 20, below: 20 }]);
    }
}
