//! A walk along a list that can leap: for finding what several lists have in common.

use store::StoreError;

use super::chunk::{Chunk, Role};
use super::list::{Chunks, List};

/// Chunks looked at one after the other before a search is worth more than going on.
const STEPS_BEFORE_LEAP: u32 = 2;

/// Stands on one entry of a role, and moves towards the newest.
pub(crate) struct Cursor<'a> {
    list: &'a List<'a>,
    role: Role,
    /// The chunk at hand.
    chunk: u32,
    /// Its entries of the role.
    ids: Vec<u64>,
    /// Which of them it stands on.
    at: usize,
    /// The chunks behind the one at hand, once the walk goes from neighbour to neighbour.
    following: Option<Chunks<'a>>,
}

impl<'a> Cursor<'a> {
    /// Stands on the first entry at or past `begin`.
    pub(crate) fn open(list: &'a List<'a>, role: Role, begin: u64) -> Result<Self, StoreError> {
        let mut cursor = Self { list, role, chunk: 0, ids: Vec::new(), at: 0, following: None };
        if let Some(first) = list.first_chunk(|chunk| chunk.last() >= begin)? {
            cursor.land(first, begin)?;
        }
        Ok(cursor)
    }

    pub(crate) fn current(&self) -> Option<u64> {
        self.ids.get(self.at).copied()
    }

    /// Gives what is left of the chunk at hand, in the place of what was there. The walk goes on by a seek.
    pub(crate) fn take_chunk(&mut self, ids: &mut Vec<u64>) {
        ids.clear();
        ids.extend_from_slice(self.ids.get(self.at..).unwrap_or_default());
        self.at = self.ids.len();
    }

    /// There is nothing more to be had.
    pub(crate) fn end(&mut self) {
        self.ids.clear();
        self.at = 0;
    }

    /// Moves on to the first entry at or past `id`, without looking at what lies between where that can be helped.
    pub(crate) fn seek(&mut self, id: u64) -> Result<(), StoreError> {
        match self.ids.last() {
            // At its end.
            None => Ok(()),
            Some(&furthest) if furthest < id => self.seek_beyond(id),
            Some(_) => {
                self.pass(id);
                self.fill()
            }
        }
    }

    /// Keeps of the given numbers, which ascend, those that stand in the list, and moves past the last of them.
    pub(crate) fn keep_common(&mut self, ids: &mut Vec<u64>) -> Result<(), StoreError> {
        let (mut looked_at, mut kept) = (0, 0);
        while let Some(&next) = ids.get(looked_at) {
            self.seek(next)?;
            let Some(here) = self.ids.get(self.at..).filter(|here| !here.is_empty()) else {
                ids.truncate(kept);
                return Ok(());
            };
            let mut passed = 0;
            // Which of the two goes on cannot be foreseen, so that a branch would cost more than the sums.
            while let (Some(&theirs), Some(&ours)) = (ids.get(looked_at), here.get(passed)) {
                ids[kept] = theirs;
                kept += usize::from(theirs == ours);
                looked_at += usize::from(theirs <= ours);
                passed += usize::from(ours <= theirs);
            }
            self.at += passed;
        }
        ids.truncate(kept);
        self.fill()
    }

    /// Lists that run side by side meet in one of the next chunks; for others it leaps.
    fn seek_beyond(&mut self, id: u64) -> Result<(), StoreError> {
        for _ in 0..STEPS_BEFORE_LEAP {
            if !self.step()? {
                return Ok(());
            }
            if self.ids.last().is_some_and(|&furthest| furthest >= id) {
                self.pass(id);
                return Ok(());
            }
        }
        match self.list.first_chunk_from(self.chunk, |chunk| chunk.last() >= id)? {
            Some(landing) => self.land(landing, id),
            None => {
                self.ids.clear();
                Ok(())
            }
        }
    }

    fn land(&mut self, chunk: u32, id: u64) -> Result<(), StoreError> {
        self.following = None;
        self.take(&self.list.chunk(chunk)?)?;
        self.pass(id);
        self.fill()
    }

    /// Steps over the entries at hand that lie before `id`: most often few.
    fn pass(&mut self, id: u64) {
        while self.ids.get(self.at).is_some_and(|&next| next < id) {
            self.at += 1;
        }
    }

    /// Goes on to further chunks while the one at hand has nothing of the role left.
    fn fill(&mut self) -> Result<(), StoreError> {
        while self.at >= self.ids.len() && self.step()? {}
        Ok(())
    }

    /// Takes the neighbouring chunk in hand; false at the end of the list.
    fn step(&mut self) -> Result<bool, StoreError> {
        self.ids.clear();
        let (list, chunk) = (self.list, self.chunk);
        match self.following.get_or_insert_with(|| list.chunks_after(chunk)).next() {
            Some(chunk) => self.take(&chunk?).map(|()| true),
            None => Ok(false),
        }
    }

    fn take(&mut self, chunk: &Chunk) -> Result<(), StoreError> {
        (self.chunk, self.at) = (chunk.number(), 0);
        if chunk.before(self.role) < chunk.through(self.role) {
            return chunk.collect_ids(self.role, &mut self.ids);
        }
        self.ids.clear();
        Ok(())
    }
}
