use std::ops::Range;

use async_trait::async_trait;
use domain::{
    Address, BlockNumber, BlockRange, InternalFilter, InternalPage, InternalTransaction, Order, Page, PageRequest,
    TracedRange,
};
use store::{InternalProgress, InternalReader, Parties, StoreError};

use super::{
    conditions::{Condition, ReadError},
    events::span_of,
    snapshot::ReadSnapshot,
};
use crate::{
    internal::{FIRST_ABOVE, find_progress, first_id, mirrored},
    keys::{InternalId, Key, ListKind, PartyId, Table, number_in_key},
    lists::{List, Role},
    reader::EmbeddedReader,
    rows::InternalRow,
};

#[async_trait]
impl InternalReader for EmbeddedReader {
    async fn list_internal_transactions(
        &self,
        filter: &InternalFilter,
        page: PageRequest,
    ) -> Result<InternalPage, StoreError> {
        let filter = *filter;
        self.read_list(move |index| index.list_internal_transactions(&filter, page)).await
    }
}

/// What an address is part of inside transactions.
#[derive(Debug, Clone, Copy)]
pub(super) struct InternalActivity {
    pub(super) first_block: BlockNumber,
    pub(super) last_block: BlockNumber,
}

impl ReadSnapshot {
    pub(crate) fn list_internal_transactions(
        &self,
        filter: &InternalFilter,
        page: PageRequest,
    ) -> Result<InternalPage, ReadError> {
        let Some(progress) = self.internal_progress()? else {
            return Ok(InternalPage { page: Page::empty(0), traced_range: None });
        };
        let Page { items, total } = self.select_internal(&progress, filter, page)?;
        let items = items.into_iter().map(|id| self.hydrate_internal(id)).collect::<Result<_, StoreError>>()?;
        Ok(InternalPage { page: Page { items, total }, traced_range: self.traced_range_of(&progress) })
    }

    pub(super) fn traced_range(&self) -> Result<Option<TracedRange>, StoreError> {
        Ok(self.internal_progress()?.and_then(|progress| self.traced_range_of(&progress)))
    }

    /// None if the address is part of no internal transaction.
    pub(super) fn find_internal_activity(&self, address: Address) -> Result<Option<InternalActivity>, StoreError> {
        let Some(party) = self.party_id(address)? else { return Ok(None) };
        let below = List::open(&self.view, ListKind::InternalBelow.of(party))?;
        let above = List::open(&self.view, ListKind::InternalAbove.of(party))?;
        let first_of = |list: &List<'_>| {
            let ranks = if list.total(Role::Any) == 0 { 0..0 } else { 0..1 };
            Ok::<_, StoreError>(list.at_ranks(Role::Any, ranks)?.first().copied())
        };
        // The lower side was traced from its newest block on.
        let oldest = match below.last() {
            Some(entry) => Some(mirrored(entry)),
            None => first_of(&above)?.map(|entry| FIRST_ABOVE + entry),
        };
        let newest = match above.last() {
            Some(entry) => Some(FIRST_ABOVE + entry),
            None => first_of(&below)?.map(mirrored),
        };
        let (Some(oldest), Some(newest)) = (oldest, newest) else { return Ok(None) };
        let block_of = |id| Ok::<_, StoreError>(self.transaction_row(self.internal_row(id)?.tx)?.block_number);
        Ok(Some(InternalActivity { first_block: block_of(oldest)?, last_block: block_of(newest)? }))
    }

    fn internal_progress(&self) -> Result<Option<InternalProgress>, StoreError> {
        find_progress(&self.view)
    }

    fn traced_range_of(&self, progress: &InternalProgress) -> Option<TracedRange> {
        progress.traced_range(self.tip()?.start_block)
    }

    fn party_id(&self, address: Address) -> Result<Option<PartyId>, StoreError> {
        let row = self.view.get(Table::InternalPartyId, &Key::address(&address))?;
        row.map(|row| number_in_key(&row, 0)).transpose()
    }

    /// The ids of a page: those of the lower side from its end on, then those of the upper side.
    fn select_internal(
        &self,
        progress: &InternalProgress,
        filter: &InternalFilter,
        page: PageRequest,
    ) -> Result<Page<InternalId>, ReadError> {
        let span = self.internal_span(progress, filter)?;
        let parties = Parties::of(filter.address, filter.from, filter.to);
        let Some(required) = parties.required().filter(|_| !span.is_empty()) else { return Ok(Page::empty(0)) };
        let mut owners = Vec::with_capacity(required.len());
        for (address, party) in required {
            let Some(owner) = self.party_id(address)? else { return Ok(Page::empty(0)) };
            owners.push((owner, Role::from(party)));
        }
        if owners.is_empty() {
            let total = span.end - span.start;
            return Ok(Page { items: page.ranks(total).map(|rank| span.start + rank).collect(), total });
        }
        let conditions = |kind: ListKind| {
            owners.iter().map(|(owner, role)| Condition { list: kind.of(*owner), role: *role }).collect::<Vec<_>>()
        };
        let (below, above) = (conditions(ListKind::InternalBelow), conditions(ListKind::InternalAbove));
        let mirror = |id: InternalId| FIRST_ABOVE.saturating_sub(id);
        let (below_span, above_span) = (
            mirror(span.end)..mirror(span.start),
            span.start.saturating_sub(FIRST_ABOVE)..span.end.saturating_sub(FIRST_ABOVE),
        );
        // Nothing of the lower side can be reverted.
        let from_below = |page| self.select_within(&below, below_span.clone(), progress.below_count, page);
        let from_above = |page| self.select_within(&above, above_span.clone(), 0, page);
        let below_total = from_below(PageRequest::newest(0))?.total;
        let total = below_total + from_above(PageRequest::newest(0))?.total;

        let ranks = page_ranks(page, total);
        let (low, high) = (ranks.start.min(below_total), ranks.end.min(below_total));
        let mut ids = Vec::new();
        if low < high {
            let entries = from_below(slice(below_total - high, high - low))?.items;
            ids.extend(entries.into_iter().rev().map(mirrored));
        }
        let (low, high) = (ranks.start.max(below_total), ranks.end.max(below_total));
        if low < high {
            let entries = from_above(slice(low - below_total, high - low))?.items;
            ids.extend(entries.into_iter().map(|entry| FIRST_ABOVE + entry));
        }
        if page.order == Order::NewestFirst {
            ids.reverse();
        }
        Ok(Page { items: ids, total })
    }

    /// The ids in the blocks and the transaction of a filter.
    fn internal_span(
        &self,
        progress: &InternalProgress,
        filter: &InternalFilter,
    ) -> Result<Range<InternalId>, StoreError> {
        let Some(tip) = self.tip() else { return Ok(0..0) };
        let (lowest, end) = (progress.lowest(tip.start_block), progress.above);
        let span_of_blocks = |range: BlockRange| {
            let first = range.from.unwrap_or(0).max(lowest);
            let last = range.to.map_or(end, |to| to.saturating_add(1)).min(end);
            if first >= last {
                return Ok::<_, StoreError>(0..0);
            }
            Ok(first_id(&self.view, progress, first)?..first_id(&self.view, progress, last)?)
        };
        let Some(hash) = filter.transaction else { return span_of_blocks(filter.blocks) };
        match self.find_transaction_row(hash)? {
            Some((tx, row)) if filter.blocks.contains(row.block_number) => {
                let block = span_of_blocks(BlockRange::only(row.block_number))?;
                span_of(tx, block, |id| Ok(self.internal_row(id)?.tx))
            }
            _ => Ok(0..0),
        }
    }

    fn internal_row(&self, id: InternalId) -> Result<InternalRow, StoreError> {
        let row = self.view.get(Table::Internal, &Key::id(id))?;
        InternalRow::from_row(&row.ok_or(StoreError::Corrupt("an internal transaction is missing"))?)
    }

    fn party(&self, id: PartyId) -> Result<Address, StoreError> {
        if let Some(party) = self.parties.borrow().get(&id) {
            return Ok(*party);
        }
        let row = self.view.get(Table::InternalParty, &Key::id(id))?;
        let row = row.ok_or(StoreError::Corrupt("a party of an internal transaction is missing"))?;
        let party = Address::try_from(&*row).map_err(|_| StoreError::Corrupt("an address of another length"))?;
        self.parties.borrow_mut().insert(id, party);
        Ok(party)
    }

    fn hydrate_internal(&self, id: InternalId) -> Result<InternalTransaction, StoreError> {
        let row = self.internal_row(id)?;
        let position = self.transaction_position(row.tx)?;
        Ok(InternalTransaction {
            event: row.into_event(position.tx_index, |id| self.party(id))?,
            tx_hash: position.tx_hash,
            block_number: position.block_number,
            timestamp: position.timestamp,
        })
    }
}

/// The ranks of a page in chain order.
fn page_ranks(page: PageRequest, total: u64) -> Range<u64> {
    let start = page.offset.min(total);
    let end = page.offset.saturating_add(page.limit.into()).min(total);
    match page.order {
        Order::OldestFirst => start..end,
        Order::NewestFirst => total - end..total - start,
    }
}

fn slice(offset: u64, length: u64) -> PageRequest {
    PageRequest { offset, limit: u32::try_from(length).unwrap_or(u32::MAX), order: Order::OldestFirst }
}
