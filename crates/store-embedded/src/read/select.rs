//! Which entries satisfy several conditions at once, how many they are, and which of them stand on a page.

use std::ops::Range;

use domain::{Address, Order, Page, PageRequest};
use store::StoreError;

use super::Reading;
use crate::keys::{ListKey, ListKind};
use crate::lists::{Cursor, List, Role};

/// What the conditions on two parties come down to. There is one giver and one receiver, so there are few cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parties {
    Anyone,
    Nobody,
    One(Address, Role),
    Pair { from: Address, to: Address },
}

impl Parties {
    pub(super) fn of(address: Option<Address>, from: Option<Address>, to: Option<Address>) -> Self {
        match (address, from, to) {
            (None, None, None) => Self::Anyone,
            (Some(address), None, None) => Self::One(address, Role::Any),
            (None, Some(from), None) => Self::One(from, Role::From),
            (None, None, Some(to)) => Self::One(to, Role::To),
            (None, Some(from), Some(to)) => Self::pair(from, to),
            (Some(address), Some(from), None) if address == from => Self::One(from, Role::From),
            (Some(address), Some(from), None) => Self::pair(from, address),
            (Some(address), None, Some(to)) if address == to => Self::One(to, Role::To),
            (Some(address), None, Some(to)) => Self::pair(address, to),
            (Some(address), Some(from), Some(to)) if address == from || address == to => Self::pair(from, to),
            (Some(_), Some(_), Some(_)) => Self::Nobody,
        }
    }

    fn pair(from: Address, to: Address) -> Self {
        if from == to { Self::One(from, Role::Both) } else { Self::Pair { from, to } }
    }
}

/// An entry must stand in this list, in this role.
#[derive(Debug, Clone, Copy)]
pub(super) struct Condition {
    pub(super) list: ListKey,
    pub(super) role: Role,
}

impl Reading {
    /// The parties as conditions on lists; None where they cannot be met.
    pub(super) fn conditions(&self, parties: Parties, kind: ListKind) -> Result<Option<Vec<Condition>>, StoreError> {
        let wanted = match parties {
            Parties::Anyone => Vec::new(),
            Parties::Nobody => return Ok(None),
            Parties::One(address, role) => vec![(address, role)],
            Parties::Pair { from, to } => vec![(from, Role::From), (to, Role::To)],
        };
        wanted.into_iter().map(|(address, role)| self.condition(address, kind, role)).collect()
    }

    /// None where the address was never seen.
    pub(super) fn condition(
        &self,
        address: Address,
        kind: ListKind,
        role: Role,
    ) -> Result<Option<Condition>, StoreError> {
        Ok(self.address_id(&address)?.map(|owner| Condition { list: kind.of(owner), role }))
    }

    /// The numbers on a page of those that satisfy every condition and lie in the span. There is at least one condition.
    pub(super) fn select(
        &self,
        conditions: &[Condition],
        span: Range<u64>,
        page: PageRequest,
    ) -> Result<Page<u64>, StoreError> {
        if span.is_empty() {
            return Ok(Page::empty(0));
        }
        let lists = conditions.iter().map(|condition| List::open(&self.view, condition.list));
        let lists = lists.collect::<Result<Vec<_>, _>>()?;
        match (&lists[..], conditions) {
            ([list], [condition]) => seek_page(list, condition.role, span, page),
            _ => {
                let lists = lists.iter().zip(conditions.iter().map(|condition| condition.role));
                intersect_page(lists.collect(), span, page)
            }
        }
    }
}

/// One list: totals and places are read off its chunks.
fn seek_page(list: &List<'_>, role: Role, span: Range<u64>, page: PageRequest) -> Result<Page<u64>, StoreError> {
    let first = if span.start == 0 { 0 } else { list.rank_of(role, span.start)? };
    let end = match list.last() {
        Some(last) if last < span.end => list.total(role),
        _ => list.rank_of(role, span.end)?,
    };
    let total = end.saturating_sub(first);
    let items = list.at_ranks(role, page.ranks(total).map(|rank| first + rank))?;
    Ok(Page { items, total })
}

/// Several lists: the shortest leads, and the others are leapt through to where it stands.
fn intersect_page(
    mut lists: Vec<(&List<'_>, Role)>,
    span: Range<u64>,
    page: PageRequest,
) -> Result<Page<u64>, StoreError> {
    lists.sort_by_key(|(list, role)| list.total(*role));
    let begin = match page.order {
        Order::OldestFirst => span.start,
        Order::NewestFirst => span.end - 1,
    };
    let cursors = lists.into_iter().map(|(list, role)| Cursor::open(list, role, page.order, begin));
    let mut cursors = cursors.collect::<Result<Vec<_>, _>>()?;

    let (mut total, mut items) = (0, Vec::new());
    let wanted = page.offset..page.offset.saturating_add(u64::from(page.limit));
    'candidates: while let Some(id) = cursors.first().and_then(Cursor::current).filter(|id| span.contains(id)) {
        for follower in 1..cursors.len() {
            cursors[follower].seek(id)?;
            match cursors[follower].current() {
                Some(met) if met == id => {}
                Some(ahead) => {
                    cursors[0].seek(ahead)?;
                    continue 'candidates;
                }
                None => break 'candidates,
            }
        }
        if wanted.contains(&total) {
            items.push(id);
        }
        total += 1;
        cursors[0].advance()?;
    }
    Ok(Page { items, total })
}
