//! The ids that lists have in common in a span, as far as it was walked. If there are many, only the ends of the steps are kept, between
//! which ids are found again: what is in memory does not depend on their number.

use store::StoreError;

use super::walk::Walk;

/// Ids that are listed, in steps.
const LISTED_STEPS: i64 = 4;

pub(super) const MISCOUNTED: StoreError = StoreError::Corrupt("lists with fewer common entries than were counted");

#[derive(Debug, Clone)]
pub(super) struct Common {
    /// Ids from here on are not walked yet.
    end: i64,
    total: u64,
    /// The beginnings of the steps.
    marks: Vec<Mark>,
    /// None if there are too many.
    ids: Option<Vec<i64>>,
}

#[derive(Debug, Clone, Copy)]
struct Mark {
    id: i64,
    /// Common ids below.
    below: u64,
}

impl Common {
    /// Before the first step from an id.
    pub(super) fn before(id: i64) -> Self {
        Self { end: id, total: 0, marks: Vec::new(), ids: Some(Vec::new()) }
    }

    /// Those of a span.
    pub(super) async fn of(walk: &Walk<'_>, low: i64, high: i64) -> Result<Self, StoreError> {
        let mut common = Self::before(low);
        while common.end < high {
            common.extend(walk, high).await?;
        }
        Ok(common)
    }

    pub(super) fn end(&self) -> i64 {
        self.end
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// The memory that it takes, in ids.
    pub(super) fn weight(&self) -> usize {
        self.ids.as_ref().map_or(0, Vec::len) + 2 * self.marks.len()
    }

    /// One more step.
    pub(super) async fn extend(&mut self, walk: &Walk<'_>, high: i64) -> Result<(), StoreError> {
        let (end, new) = walk.next(self.end, high).await?;
        self.marks.push(Mark { id: self.end, below: self.total });
        self.total += new.len() as u64;
        self.end = end;
        let listed = usize::try_from(walk.step.saturating_mul(LISTED_STEPS)).unwrap_or(usize::MAX);
        self.ids = self.ids.take().filter(|ids| ids.len() + new.len() <= listed).map(|mut ids| {
            ids.extend(new);
            ids
        });
        Ok(())
    }

    /// The number of common ids below one.
    pub(super) async fn rank(&self, walk: &Walk<'_>, id: i64) -> Result<u64, StoreError> {
        if id >= self.end {
            return Ok(self.total);
        }
        if let Some(ids) = &self.ids {
            return Ok(ids.partition_point(|found| *found < id) as u64);
        }
        let before = self.marks.partition_point(|mark| mark.id <= id);
        let Some(mark) = before.checked_sub(1).and_then(|last| self.marks.get(last)) else { return Ok(0) };
        Ok(mark.below + walk.all(mark.id, id).await?.len() as u64)
    }

    /// The common ids from one rank to before another.
    pub(super) async fn at(&self, walk: &Walk<'_>, start: u64, stop: u64) -> Result<Vec<i64>, StoreError> {
        let position = |rank: u64| usize::try_from(rank).unwrap_or(usize::MAX);
        if let Some(ids) = &self.ids {
            return Ok(ids.get(position(start)..position(stop)).unwrap_or_default().to_vec());
        }
        let mut found = Vec::new();
        let ends = self.marks.iter().skip(1).copied().chain([Mark { id: self.end, below: self.total }]);
        for (mark, end) in self.marks.iter().zip(ends) {
            // Other steps have none of them.
            if mark.below.max(start) < end.below.min(stop) {
                let common = walk.all(mark.id, end.id).await?;
                let within = position(start.saturating_sub(mark.below))..position(end.below.min(stop) - mark.below);
                found.extend_from_slice(common.get(within).ok_or(MISCOUNTED)?);
            }
        }
        Ok(found)
    }
}
