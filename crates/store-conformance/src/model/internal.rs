//! Internal transactions, by a scan of all of them.

use std::collections::{BTreeMap, BTreeSet};

use domain::{
    Address, BlockNumber, InternalBlock, InternalEvent, InternalFilter, InternalFrontier, InternalPage,
    InternalTransaction, PageRequest, TracedRange,
};

use super::{Model, paginate, transaction};

#[derive(Debug, Default)]
pub(super) struct Internal {
    /// The first block that was to be traced upwards; None before the first trace.
    anchor: Option<BlockNumber>,
    /// What was traced, by block; None where that was given up.
    blocks: BTreeMap<BlockNumber, Option<Vec<InternalEvent>>>,
    /// The first and the last block that was given up.
    gap: Option<(BlockNumber, BlockNumber)>,
}

impl Model {
    #[must_use]
    pub fn internal_frontier(&self) -> Option<InternalFrontier> {
        let oldest = self.oldest_revertible()?;
        let anchor = self.internal.anchor.unwrap_or(oldest + 1);
        let traced = &self.internal.blocks;
        let above = traced.keys().next_back().filter(|last| **last >= anchor).map_or(anchor, |last| last + 1);
        let lowest = traced.keys().next().copied().unwrap_or(anchor).min(anchor);
        let first_block = self.blocks.first().map_or(0, |changes| changes.block.number);
        Some(InternalFrontier { above, below: lowest.checked_sub(1).filter(|below| *below >= first_block) })
    }

    pub fn save_internal(&mut self, blocks: &[InternalBlock]) {
        for InternalBlock { block, events } in blocks {
            self.start_internal();
            self.internal.blocks.insert(block.number, Some(events.clone()));
        }
    }

    pub fn skip_internal(&mut self, last: BlockNumber) {
        let Some(frontier) = self.internal_frontier() else { return };
        self.start_internal();
        self.internal.blocks.extend((frontier.above..=last).map(|number| (number, None)));
        self.internal.gap = Some((self.internal.gap.map_or(frontier.above, |(first, _)| first), last));
    }

    fn start_internal(&mut self) {
        let first = self.oldest_revertible().map(|oldest| oldest + 1);
        self.internal.anchor = self.internal.anchor.or(first);
    }

    pub(super) fn revert_internal(&mut self, number: BlockNumber) {
        self.internal.blocks.retain(|block, _| *block <= number);
        let gap = self.internal.gap.filter(|(first, _)| *first <= number);
        self.internal.gap = gap.map(|(first, last)| (first, last.min(number)));
    }

    /// The blocks above the newest one that was given up. If that one was reverted, older ones are not told apart from those
    /// that were traced, so that fewer blocks count as complete than are.
    #[must_use]
    pub fn traced_range(&self) -> Option<TracedRange> {
        let after_gap = self.internal.gap.map_or(0, |(_, last)| last + 1);
        let mut complete = self.internal.blocks.range(after_gap..).map(|(number, _)| *number);
        let from = complete.next()?;
        Some(TracedRange { from, to: complete.next_back().unwrap_or(from) })
    }

    #[must_use]
    pub fn list_internal_transactions(&self, filter: &InternalFilter, page: PageRequest) -> InternalPage {
        let all = self.internal.blocks.iter().flat_map(|(number, events)| {
            let changes = self.blocks.iter().find(|changes| changes.block.number == *number);
            let changes = changes.expect("a traced block is indexed");
            events.iter().flatten().map(|event| InternalTransaction {
                event: event.clone(),
                tx_hash: transaction(changes, event.tx_index).hash,
                block_number: *number,
                timestamp: changes.block.timestamp,
            })
        });
        let all = all.filter(|found| filter.matches(found)).collect();
        InternalPage { page: paginate(all, page), traced_range: self.traced_range() }
    }

    /// Every address in an internal transaction.
    #[must_use]
    pub fn internal_parties(&self) -> BTreeSet<Address> {
        let events = self.internal.blocks.values().flatten().flatten();
        events.flat_map(|event| [Some(event.from), event.to]).flatten().collect()
    }

    /// Whether an address is part of an internal transaction in a block.
    pub(super) fn is_internal_party(&self, block: BlockNumber, address: Address) -> bool {
        let events = self.internal.blocks.get(&block).and_then(Option::as_ref);
        events.into_iter().flatten().any(|event| event.touches(&address))
    }
}
