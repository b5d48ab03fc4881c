//! Walks along several lists that are too long for a single query.

#[cfg(test)]
mod tests;

use store::StoreError;

use super::{
    ReadSnapshot,
    checkpoints::{Generation, Validity},
    select::Condition,
};
use crate::{lists::List, shared_work::Cancelled};

/// A walk along lists to their end, required before the query is retried.
#[derive(Debug)]
pub(crate) struct LongWalk {
    pub(crate) conditions: Vec<Condition>,
    /// Entries with an id from here on can still be reverted.
    pub(crate) settled: u64,
    /// For which that holds.
    pub(crate) generation: Generation,
}

/// Why a query has no result yet.
#[derive(Debug)]
pub(crate) enum ReadError {
    Store(StoreError),
    NeedsWalk(LongWalk),
}

impl From<StoreError> for ReadError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl ReadSnapshot {
    pub(crate) fn walk(&self, walk: &LongWalk, cancelled: &Cancelled) -> Result<(), StoreError> {
        let generation = self.settled_floor.generation;
        if generation != walk.generation {
            // The index was emptied since. The query is repeated, and finds out what is to be walked now.
            return Ok(());
        }
        let lists = walk
            .conditions
            .iter()
            .map(|condition| Ok((List::open(&self.view, condition.list)?, condition.role)))
            .collect::<Result<Vec<_>, StoreError>>()?;
        let validity = Validity { settled: walk.settled, epoch: self.epoch, generation };
        self.checkpoints().walk_to_end(&walk.conditions, &lists, validity, cancelled)
    }
}
