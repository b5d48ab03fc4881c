//! Selects the entries that satisfy several conditions: their count, and those on a page.

use std::ops::Range;

use domain::{Address, BlockRange, Page, PageRequest};
use store::{ChainTotals, Parties, StoreError};

use super::{
    checkpoints::CheckpointedLists,
    conditions::{Condition, ReadError, Validity},
    snapshot::ReadSnapshot,
};
use crate::{
    keys::ListKind,
    lists::{List, Role},
};

impl ReadSnapshot {
    /// The parties as conditions on lists; None if they cannot be satisfied.
    pub(super) fn conditions(&self, parties: Parties, kind: ListKind) -> Result<Option<Vec<Condition>>, StoreError> {
        let Some(required) = parties.required() else { return Ok(None) };
        required.into_iter().map(|(address, party)| self.condition(address, kind, party.into())).collect()
    }

    /// None if the address was never seen.
    pub(super) fn condition(
        &self,
        address: Address,
        kind: ListKind,
        role: Role,
    ) -> Result<Option<Condition>, StoreError> {
        Ok(self.address_id(&address)?.map(|owner| Condition { list: kind.of(owner), role }))
    }

    /// A page of the ids assigned in the block range that satisfy every condition. `numbering` selects the kind of id.
    pub(super) fn select(
        &self,
        conditions: &[Condition],
        blocks: BlockRange,
        numbering: fn(&ChainTotals) -> u64,
        page: PageRequest,
    ) -> Result<Page<u64>, ReadError> {
        let settled = if conditions.len() > 1 { numbering(&self.settled_totals()?) } else { 0 };
        self.select_within(conditions, self.id_span(blocks, numbering)?, settled, page)
    }

    /// Like [`Self::select`], for a span of ids. Ids from `settled` on can still be reverted.
    pub(super) fn select_within(
        &self,
        conditions: &[Condition],
        span: Range<u64>,
        settled: u64,
        page: PageRequest,
    ) -> Result<Page<u64>, ReadError> {
        if span.is_empty() {
            return Ok(Page::empty(0));
        }
        match conditions {
            [] => {
                let total = span.end - span.start;
                Ok(Page { items: page.ranks(total).map(|rank| span.start + rank).collect(), total })
            }
            [condition] => Ok(seek_page(&List::open(&self.view, condition.list)?, condition.role, span, page)?),
            _ => {
                let lists = conditions
                    .iter()
                    .map(|condition| Ok((List::open(&self.view, condition.list)?, condition.role)))
                    .collect::<Result<Vec<_>, StoreError>>()?;
                let validity = Validity { settled, epoch: self.epoch, generation: self.settled_floor.generation };
                Ok(CheckpointedLists::open(self.checkpoints(), conditions, &lists, &span, validity)?
                    .page(span, page)?)
            }
        }
    }
}

/// For one list, totals and ranks are read from its chunks.
pub(super) fn seek_page(
    list: &List<'_>,
    role: Role,
    span: Range<u64>,
    page: PageRequest,
) -> Result<Page<u64>, StoreError> {
    let first = if span.start == 0 { 0 } else { list.rank_of(role, span.start)? };
    let end = match list.last() {
        Some(last) if last < span.end => list.total(role),
        _ => list.rank_of(role, span.end)?,
    };
    let total = end.checked_sub(first).ok_or(StoreError::Corrupt("a list whose counts decrease"))?;
    let items = list.at_ranks(role, page.ranks(total).map(|rank| first + rank))?;
    Ok(Page { items, total })
}

#[cfg(test)]
mod tests {
    use store::Party;

    use super::*;
    use crate::{
        EmbeddedStore, StoreOptions,
        keys::{Key, Table},
        lists::{Chunk, Entry},
    };

    #[tokio::test]
    async fn a_list_whose_counts_decrease_is_not_an_empty_page() {
        let folder = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap();
        let list = ListKind::Transactions.of(7);
        let full = |party: Party| {
            let mut chunk = Chunk::default();
            (0..128).for_each(|id| chunk.push(Entry::new(id, party)).unwrap());
            chunk
        };
        // The chunk before the last one has 128 sent transactions, and the last one counts none before it.
        let mut tail = full(Party::Receiver).next();
        (128..140).for_each(|id| tail.push(Entry::new(id, Party::Sender)).unwrap());
        let reader = store.reader();
        let mut batch = reader.engine().batch();
        batch.put(Table::Chunk, &Key::chunk(list, 0), full(Party::Sender).to_row());
        batch.put(Table::Tail, &Key::list(list), tail.to_row());
        batch.commit().unwrap();

        let view = reader.engine().view();
        let list = List::open(&view, list).unwrap();
        let newest = PageRequest::newest(5);
        assert_eq!(seek_page(&list, Role::Any, 100..129, newest).unwrap().total, 29);
        let sent = seek_page(&list, Role::From, 100..129, newest);
        assert!(matches!(sent, Err(StoreError::Corrupt(_))), "{sent:?}");
    }
}
