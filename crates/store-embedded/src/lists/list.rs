//! Reads a list: its length, the entry at a rank, and the rank of an id.

use std::{
    cell::{Cell, RefCell},
    sync::Arc,
};

use store::StoreError;

use super::chunk::{Chunk, Role};
use crate::{
    engine::{Rows, View},
    keys::{Key, ListKey, Table},
};

pub(crate) struct List<'a> {
    view: &'a View,
    key: ListKey,
    tail: Arc<Chunk>,
    /// The chunk read last: neighbouring ranks are often read together.
    recent: RefCell<Option<Arc<Chunk>>>,
    entries_read: Cell<u64>,
}

impl<'a> List<'a> {
    pub(crate) fn open(view: &'a View, key: ListKey) -> Result<Self, StoreError> {
        let tail = match view.get(Table::tails_of(key.kind), &Key::list(key))? {
            Some(row) => Chunk::from_row(&row)?,
            None => Chunk::default(),
        };
        Ok(Self { view, key, tail: Arc::new(tail), recent: RefCell::new(None), entries_read: Cell::new(0) })
    }

    /// Another handle on the same list, for another thread.
    pub(crate) fn reopen(&self) -> Self {
        let Self { view, key, tail, .. } = self;
        Self { view, key: *key, tail: Arc::clone(tail), recent: RefCell::new(None), entries_read: Cell::new(0) }
    }

    pub(crate) fn total(&self, role: Role) -> u64 {
        self.tail.through(role)
    }

    /// The id of the newest entry.
    pub(crate) fn last(&self) -> Option<u64> {
        (!self.tail.is_empty()).then(|| self.tail.last())
    }

    /// The number of entries in the chunks read since the list was opened.
    pub(crate) fn entries_read(&self) -> u64 {
        self.entries_read.get()
    }

    pub(crate) fn chunk(&self, number: u32) -> Result<Arc<Chunk>, StoreError> {
        if number == self.tail.number() {
            return Ok(Arc::clone(&self.tail));
        }
        if let Some(recent) = self.recent.borrow().as_ref()
            && recent.number() == number
        {
            return Ok(Arc::clone(recent));
        }
        let row = self.view.get(Table::chunks_of(self.key.kind), &Key::chunk(self.key, number))?;
        let chunk = Arc::new(Chunk::from_row(&row.ok_or(StoreError::Corrupt("a chunk of a list is missing"))?)?);
        self.entries_read.set(self.entries_read.get() + chunk.len());
        *self.recent.borrow_mut() = Some(Arc::clone(&chunk));
        Ok(chunk)
    }

    /// The number of entries of a role with an id below `id`.
    pub(crate) fn rank_of(&self, role: Role, id: u64) -> Result<u64, StoreError> {
        let Some(number) = self.first_chunk(|chunk| chunk.last() >= id)? else {
            return Ok(self.total(role));
        };
        let chunk = self.chunk(number)?;
        let mut ids = Vec::new();
        chunk.collect_ids(role, &mut ids)?;
        Ok(chunk.before(role) + ids.partition_point(|entry| *entry < id) as u64)
    }

    /// The ids at the given ranks among the entries of a role. The cost is that of their chunks.
    pub(crate) fn at_ranks(&self, role: Role, ranks: impl Iterator<Item = u64>) -> Result<Vec<u64>, StoreError> {
        let mut ids = Vec::new();
        let (mut open, mut entries): (Option<Arc<Chunk>>, Vec<u64>) = (None, Vec::new());
        for rank in ranks {
            let holds = |chunk: &Chunk| (chunk.before(role)..chunk.through(role)).contains(&rank);
            if !open.as_ref().is_some_and(|chunk| holds(chunk)) {
                let number = match role {
                    Role::Any => Chunk::holding(rank),
                    _ => self.first_chunk(|chunk| chunk.through(role) > rank)?,
                };
                let chunk = self.chunk(number.ok_or(StoreError::Corrupt("a list is shorter than its count"))?)?;
                chunk.collect_ids(role, &mut entries)?;
                open = Some(chunk);
            }
            if let Some(chunk) = &open {
                let position = usize::try_from(rank - chunk.before(role)).unwrap_or(usize::MAX);
                ids.push(*entries.get(position).ok_or(StoreError::Corrupt("a chunk is shorter than its count"))?);
            }
        }
        Ok(ids)
    }

    /// The first chunk for which `holds` is true; once true along the list, it must stay true.
    pub(crate) fn first_chunk(&self, holds: impl Fn(&Chunk) -> bool) -> Result<Option<u32>, StoreError> {
        if !holds(&self.tail) {
            return Ok(None);
        }
        self.search(0, self.tail.number(), holds).map(Some)
    }

    /// Like [`Self::first_chunk`], from a chunk on: searches near it first, with growing strides.
    pub(crate) fn first_chunk_from(
        &self,
        near: u32,
        holds: impl Fn(&Chunk) -> bool,
    ) -> Result<Option<u32>, StoreError> {
        if !holds(&self.tail) {
            return Ok(None);
        }
        let (mut low, mut stride) = (near, 1_u32);
        loop {
            let probe = low.saturating_add(stride).min(self.tail.number());
            if holds(self.chunk(probe)?.as_ref()) {
                return self.search(low, probe, holds).map(Some);
            }
            (low, stride) = (probe + 1, stride.saturating_mul(2));
        }
    }

    /// Binary search for the first chunk for which `holds` is true; it is true for `high`.
    fn search(&self, mut low: u32, mut high: u32, holds: impl Fn(&Chunk) -> bool) -> Result<u32, StoreError> {
        while low < high {
            let middle = low + (high - low) / 2;
            if holds(self.chunk(middle)?.as_ref()) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Ok(low)
    }

    /// The chunks after one, in one range scan.
    pub(crate) fn chunks_after(&'a self, number: u32) -> Chunks<'a> {
        let (first, tail) = (number.saturating_add(1), self.tail.number());
        let rows = self.view.range(
            Table::chunks_of(self.key.kind),
            &Key::chunk(self.key, first),
            &Key::chunk(self.key, tail.max(first)),
        );
        // The open chunk is in another table, after all others.
        Chunks { list: self, rows, tail: (number < tail).then_some(self.tail.as_ref()) }
    }
}

/// Consecutive chunks of a list.
pub(crate) struct Chunks<'a> {
    list: &'a List<'a>,
    rows: Rows,
    tail: Option<&'a Chunk>,
}

impl Iterator for Chunks<'_> {
    type Item = Result<Chunk, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let chunk = match self.rows.next() {
            Some(row) => row.and_then(|(_, row)| Chunk::from_row(&row)),
            None => Ok(self.tail.take().cloned()?),
        };
        if let Ok(chunk) = &chunk {
            self.list.entries_read.set(self.list.entries_read.get() + chunk.len());
        }
        Some(chunk)
    }
}
