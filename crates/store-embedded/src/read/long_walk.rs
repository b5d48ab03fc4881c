//! Walks along several lists that are too long for a single query.

#[cfg(test)]
mod tests;

use store::StoreError;

use super::{
    conditions::{LongWalk, Validity},
    snapshot::ReadSnapshot,
};
use crate::{lists::List, shared_work::Cancelled};

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
