//! A cursor on a list that can skip chunks, for intersections of lists.

use store::StoreError;

use super::{
    chunk::{Chunk, Role},
    list::{Chunks, List},
};

/// Chunks read sequentially before a search is cheaper.
const STEPS_BEFORE_SEARCH: u32 = 2;

/// Points to one entry of a role, and moves towards the newest.
pub(crate) struct Cursor<'a> {
    list: &'a List<'a>,
    role: Role,
    /// The current chunk.
    chunk: u32,
    /// Its entries of the role.
    ids: Vec<u64>,
    /// Index of the current entry in `ids`.
    at: usize,
    /// Iterator over the following chunks, while the cursor reads sequentially.
    following: Option<Chunks<'a>>,
}

impl<'a> Cursor<'a> {
    /// Points to the first entry at or after `begin`.
    pub(crate) fn open(list: &'a List<'a>, role: Role, begin: u64) -> Result<Self, StoreError> {
        let mut cursor = Self { list, role, chunk: 0, ids: Vec::new(), at: 0, following: None };
        if let Some(first) = list.first_chunk(|chunk| chunk.last() >= begin)? {
            cursor.load_at(first, begin)?;
        }
        Ok(cursor)
    }

    pub(crate) fn current(&self) -> Option<u64> {
        self.ids.get(self.at).copied()
    }

    /// Replaces `ids` by the rest of the current chunk. The caller continues with a seek.
    pub(crate) fn take_chunk(&mut self, ids: &mut Vec<u64>) {
        ids.clear();
        ids.extend_from_slice(self.ids.get(self.at..).unwrap_or_default());
        self.at = self.ids.len();
    }

    /// Moves the cursor to the end.
    pub(crate) fn end(&mut self) {
        self.ids.clear();
        self.at = 0;
    }

    /// Moves to the first entry at or after `id`, without reading the chunks in between where possible.
    pub(crate) fn seek(&mut self, id: u64) -> Result<(), StoreError> {
        match self.ids.last() {
            // The cursor is at its end.
            None => Ok(()),
            Some(&furthest) if furthest < id => self.seek_beyond(id),
            Some(_) => {
                self.skip_to(id);
                self.fill()
            }
        }
    }

    /// Keeps those of the given ascending ids that are in the list, and moves past the last of them.
    #[expect(clippy::indexing_slicing, reason = "no more ids are kept than were checked")]
    pub(crate) fn save_common(&mut self, ids: &mut Vec<u64>) -> Result<(), StoreError> {
        let (mut checked, mut kept) = (0, 0);
        while let Some(&next) = ids.get(checked) {
            self.seek(next)?;
            let Some(here) = self.ids.get(self.at..).filter(|here| !here.is_empty()) else {
                ids.truncate(kept);
                return Ok(());
            };
            let mut advanced = 0;
            // Which of the two advances is unpredictable, so a branch would cost more than the additions.
            while let (Some(&theirs), Some(&ours)) = (ids.get(checked), here.get(advanced)) {
                ids[kept] = theirs;
                kept += usize::from(theirs == ours);
                checked += usize::from(theirs <= ours);
                advanced += usize::from(ours <= theirs);
            }
            self.at += advanced;
        }
        ids.truncate(kept);
        self.fill()
    }

    /// In dense lists the entry is in one of the next chunks; in sparse ones a search finds it.
    fn seek_beyond(&mut self, id: u64) -> Result<(), StoreError> {
        for _ in 0..STEPS_BEFORE_SEARCH {
            if !self.step()? {
                return Ok(());
            }
            if self.ids.last().is_some_and(|&furthest| furthest >= id) {
                self.skip_to(id);
                return Ok(());
            }
        }
        match self.list.first_chunk_from(self.chunk, |chunk| chunk.last() >= id)? {
            Some(target) => self.load_at(target, id),
            None => {
                self.ids.clear();
                Ok(())
            }
        }
    }

    fn load_at(&mut self, chunk: u32, id: u64) -> Result<(), StoreError> {
        self.following = None;
        let read = self.list.chunk(chunk)?;
        self.take(&read)?;
        self.skip_to(id);
        self.fill()
    }

    /// Skips the entries of the current chunk before `id`: most often few.
    fn skip_to(&mut self, id: u64) {
        while self.ids.get(self.at).is_some_and(|&next| next < id) {
            self.at += 1;
        }
    }

    /// Reads further chunks while the current one has no entries of the role left.
    fn fill(&mut self) -> Result<(), StoreError> {
        while self.at >= self.ids.len() && self.step()? {}
        Ok(())
    }

    /// Moves to the next chunk; false at the end of the list.
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
