//! The intersection of several lists.

use store::StoreError;

use super::{chunk::Role, cursor::Cursor, list::List};

/// Walks along the shortest list, towards the newest entry; the other cursors seek to its position.
pub(crate) struct Intersection<'a> {
    lists: &'a [(List<'a>, Role)],
    leader: Cursor<'a>,
    followers: Vec<Cursor<'a>>,
    ids: Vec<u64>,
}

/// The part of the intersection that lies in one chunk of the shortest list.
pub(crate) struct IntersectionChunk<'a> {
    pub(crate) begin: u64,
    /// The ids that all lists contain, from `begin` to before the next part.
    pub(crate) ids: &'a [u64],
}

impl<'a> Intersection<'a> {
    /// Starts at the first id at or after `begin`. None if there are no lists.
    pub(crate) fn open(lists: &'a [(List<'a>, Role)], begin: u64) -> Result<Option<Self>, StoreError> {
        let mut shortest_first: Vec<_> = lists.iter().collect();
        shortest_first.sort_by_key(|(list, role)| list.total(*role));
        let mut cursors = shortest_first.into_iter().map(|(list, role)| Cursor::open(list, *role, begin));
        let Some(leader) = cursors.next().transpose()? else { return Ok(None) };
        Ok(Some(Self { lists, leader, followers: cursors.collect::<Result<_, _>>()?, ids: Vec::new() }))
    }

    /// Entries of all chunks read so far: the cost of the walk.
    pub(crate) fn work(&self) -> u64 {
        self.lists.iter().map(|(list, _)| list.entries_read()).sum()
    }

    /// The next part; None if a list has ended.
    pub(crate) fn next(&mut self) -> Result<Option<IntersectionChunk<'_>>, StoreError> {
        let Some(begin) = self.leader.current() else { return Ok(None) };
        self.leader.take_chunk(&mut self.ids);
        for follower in &mut self.followers {
            follower.save_common(&mut self.ids)?;
        }
        // Once a list has ended, the intersection has ended.
        match self.followers.iter().map(Cursor::current).min() {
            Some(None) => self.leader.end(),
            _ => {
                let furthest = self.followers.iter().filter_map(Cursor::current).max().unwrap_or_default();
                self.leader.seek(furthest)?;
            }
        }
        Ok(Some(IntersectionChunk { begin, ids: &self.ids }))
    }
}
