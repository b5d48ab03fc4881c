//! What several lists have in common.

use store::StoreError;

use super::chunk::Role;
use super::cursor::Cursor;
use super::list::List;

/// A walk along the shortest of some lists, towards the newest, with the others leapt through to where it stands.
pub(crate) struct Common<'a> {
    lists: &'a [(List<'a>, Role)],
    leader: Cursor<'a>,
    followers: Vec<Cursor<'a>>,
    met: Vec<u64>,
}

/// A part of the way: what the shortest list has in one chunk.
pub(crate) struct Stretch<'a> {
    pub(crate) begin: u64,
    /// The numbers that all lists hold, from `begin` on and before the next stretch begins.
    pub(crate) met: &'a [u64],
}

impl<'a> Common<'a> {
    /// Begins at the first number at or past `begin`. None where there is no list.
    pub(crate) fn open(lists: &'a [(List<'a>, Role)], begin: u64) -> Result<Option<Self>, StoreError> {
        let mut shortest_first: Vec<_> = lists.iter().collect();
        shortest_first.sort_by_key(|(list, role)| list.total(*role));
        let mut cursors = shortest_first.into_iter().map(|(list, role)| Cursor::open(list, *role, begin));
        let Some(leader) = cursors.next().transpose()? else { return Ok(None) };
        Ok(Some(Self { lists, leader, followers: cursors.collect::<Result<_, _>>()?, met: Vec::new() }))
    }

    /// Entries of all chunks looked at so far, which is what a walk costs.
    pub(crate) fn work(&self) -> u64 {
        self.lists.iter().map(|(list, _)| list.entries_read()).sum()
    }

    /// The next stretch; None where a list is at its end.
    pub(crate) fn next(&mut self) -> Result<Option<Stretch<'_>>, StoreError> {
        let Some(begin) = self.leader.current() else { return Ok(None) };
        self.leader.take_chunk(&mut self.met);
        for follower in &mut self.followers {
            follower.keep_common(&mut self.met)?;
        }
        // A list that is at its end has nothing more in common with any other.
        match self.followers.iter().map(Cursor::current).min() {
            Some(None) => self.leader.end(),
            _ => {
                let furthest = self.followers.iter().filter_map(Cursor::current).max().unwrap_or_default();
                self.leader.seek(furthest)?;
            }
        }
        Ok(Some(Stretch { begin, met: &self.met }))
    }
}
