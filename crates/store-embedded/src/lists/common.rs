//! What several lists have in common.

use store::StoreError;

use super::chunk::Role;
use super::cursor::Cursor;
use super::list::List;

/// A walk along the shortest of some lists, towards the newest, with the others leapt through to where it stands.
pub(crate) struct Common<'a> {
    lists: &'a [(List<'a>, Role)],
    /// The shortest list's first.
    cursors: Vec<Cursor<'a>>,
}

/// Where the walk has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// All lists hold this number.
    Met(u64),
    /// Some list does not.
    Missed(u64),
}

impl Place {
    pub(crate) fn id(self) -> u64 {
        match self {
            Self::Met(id) | Self::Missed(id) => id,
        }
    }
}

impl<'a> Common<'a> {
    /// Begins at the first number at or past `begin`.
    pub(crate) fn open(lists: &'a [(List<'a>, Role)], begin: u64) -> Result<Self, StoreError> {
        let mut shortest_first: Vec<_> = lists.iter().collect();
        shortest_first.sort_by_key(|(list, role)| list.total(*role));
        let cursors = shortest_first.into_iter().map(|(list, role)| Cursor::open(list, *role, begin));
        Ok(Self { lists, cursors: cursors.collect::<Result<_, _>>()? })
    }

    /// Chunks looked at so far, which is what a walk costs.
    pub(crate) fn work(&self) -> u64 {
        self.lists.iter().map(|(list, _)| list.chunks_read()).sum()
    }

    /// The next place; None where a list is at its end.
    pub(crate) fn next(&mut self) -> Result<Option<Place>, StoreError> {
        let Some((leader, followers)) = self.cursors.split_first_mut() else { return Ok(None) };
        let Some(id) = leader.current() else { return Ok(None) };
        for follower in followers {
            follower.seek(id)?;
            match follower.current() {
                Some(met) if met == id => {}
                Some(ahead) => {
                    leader.seek(ahead)?;
                    return Ok(Some(Place::Missed(id)));
                }
                None => return Ok(None),
            }
        }
        leader.advance()?;
        Ok(Some(Place::Met(id)))
    }
}
