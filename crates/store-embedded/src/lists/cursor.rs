//! A walk along a list that can leap: for finding what two lists have in common.

use domain::Order;
use store::StoreError;

use super::chunk::{Entry, Role};
use super::list::List;

/// Stands on one entry of a role, and moves in one direction only.
pub(crate) struct Cursor<'a> {
    list: &'a List<'a>,
    role: Role,
    order: Order,
    chunk: u32,
    /// The current chunk's entries of the role, turned so that the next one is last.
    ahead: Vec<Entry>,
}

impl<'a> Cursor<'a> {
    /// Stands on the first entry, seen in the order of the walk, whose number lies in the span.
    pub(crate) fn open(list: &'a List<'a>, role: Role, order: Order, from: u64) -> Result<Self, StoreError> {
        let mut cursor = Self { list, role, order, chunk: 0, ahead: Vec::new() };
        if list.chunk_count() > 0 {
            cursor.jump(from)?;
        }
        Ok(cursor)
    }

    pub(crate) fn current(&self) -> Option<u64> {
        self.ahead.last().map(|entry| entry.id)
    }

    pub(crate) fn advance(&mut self) -> Result<(), StoreError> {
        self.ahead.pop();
        self.fill()
    }

    /// Moves on to the first entry at or past `id`, without looking at what lies between where that can be helped.
    pub(crate) fn seek(&mut self, id: u64) -> Result<(), StoreError> {
        let Some(furthest) = self.ahead.first() else { return Ok(()) };
        if self.is_before(furthest.id, id) {
            let following = match self.order {
                Order::OldestFirst => self.chunk + 1,
                Order::NewestFirst => self.chunk.wrapping_sub(1),
            };
            // Lists that run side by side meet in the next chunk; others are worth a search.
            if following < self.list.chunk_count() {
                self.load(following)?;
            } else {
                self.ahead.clear();
                return Ok(());
            }
            if self.ahead.first().is_none_or(|furthest| self.is_before(furthest.id, id)) {
                return self.jump(id);
            }
        }
        while self.ahead.last().is_some_and(|entry| self.is_before(entry.id, id)) {
            self.ahead.pop();
        }
        self.fill()
    }

    fn jump(&mut self, id: u64) -> Result<(), StoreError> {
        let number = match self.order {
            Order::OldestFirst => self.list.first_chunk(|chunk| chunk.last() >= id)?,
            // The chunk whose span holds `id` is the first that ends at or past it, or the last one of all.
            Order::NewestFirst => {
                Some(self.list.first_chunk(|chunk| chunk.last() >= id)?.unwrap_or(self.list.chunk_count() - 1))
            }
        };
        let Some(number) = number else {
            self.ahead.clear();
            return Ok(());
        };
        self.load(number)?;
        while self.ahead.last().is_some_and(|entry| self.is_before(entry.id, id)) {
            self.ahead.pop();
        }
        self.fill()
    }

    /// Goes on to further chunks while the current one has nothing of the role left.
    fn fill(&mut self) -> Result<(), StoreError> {
        while self.ahead.is_empty() {
            let chunk = self.list.chunk(self.chunk)?;
            let next = match self.order {
                Order::OldestFirst => {
                    let through = chunk.through(self.role);
                    self.list.first_chunk(|chunk| chunk.through(self.role) > through)?
                }
                Order::NewestFirst => {
                    let before = chunk.before(self.role);
                    if before == 0 {
                        None
                    } else {
                        self.list.first_chunk(|chunk| chunk.through(self.role) >= before)?
                    }
                }
            };
            let Some(next) = next else { return Ok(()) };
            self.load(next)?;
        }
        Ok(())
    }

    fn load(&mut self, number: u32) -> Result<(), StoreError> {
        self.chunk = number;
        self.ahead = self.list.chunk(number)?.decode()?;
        self.ahead.retain(|entry| self.role.matches(entry.roles));
        if self.order == Order::OldestFirst {
            self.ahead.reverse();
        }
        Ok(())
    }

    fn is_before(&self, id: u64, other: u64) -> bool {
        match self.order {
            Order::OldestFirst => id < other,
            Order::NewestFirst => id > other,
        }
    }
}
