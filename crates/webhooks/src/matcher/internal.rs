//! Messages about native coins that moved inside transactions. They come from traces, which are later than their block, so
//! they are matched behind the cursor with one of their own.

use std::collections::HashMap;

use domain::{
    BlockNumber, BlockRange, BlockRef, EventKind, EventLocation, InternalFilter, InternalTransaction, Order,
    PageRequest, TracedRange,
};
use store::{EnqueueError, InternalMatches, NewEvent, Part, StoreError};

use super::{
    MAX_BLOCKS, Matcher, PAGE, Step,
    events::{Event, Orphanings},
};
use crate::{clock, payload, watch::Watch};

/// A part of the internal transactions of some blocks.
struct Traced {
    /// In the order of execution.
    transactions: Vec<InternalTransaction>,
    traced_range: Option<TracedRange>,
}

impl Matcher {
    /// Matches the internal transactions of the next traced blocks, up to the cursor; None if the watch list has changed.
    pub(super) async fn advance_internal(
        &self,
        watch: &Watch,
        internal: Option<BlockNumber>,
        cursor: BlockRef,
    ) -> Result<Option<Step>, StoreError> {
        let Some(first) = watch.first_internal_block() else { return Ok(Some(Step::AtTip)) };
        let next = internal.map_or(first, |internal| first.max(internal + 1));
        if next > cursor.number {
            return Ok(Some(Step::AtTip));
        }
        let last = cursor.number.min(next.saturating_add(u64::from(MAX_BLOCKS) - 1));
        let Some(traced_range) = self.read_internal(next, last, 0).await?.traced_range else {
            return Ok(Some(Step::Untraced));
        };
        if traced_range.from > next {
            return self.skip_untraced(watch, internal, next, cursor.number.min(traced_range.from - 1)).await;
        }
        let last = last.min(traced_range.to);
        if last < next {
            return Ok(Some(Step::Untraced));
        }
        self.match_internal(watch, internal, next, last).await
    }

    /// Skips blocks whose traces are not available: tracing them was given up, or began later.
    async fn skip_untraced(
        &self,
        watch: &Watch,
        internal: Option<BlockNumber>,
        first: BlockNumber,
        last: BlockNumber,
    ) -> Result<Option<Step>, StoreError> {
        tracing::warn!(
            first,
            last,
            "blocks without traces: webhooks get no messages about their internal transactions"
        );
        self.enqueue_internal(watch, internal, last, Vec::new(), Part::Last).await
    }

    async fn match_internal(
        &self,
        watch: &Watch,
        internal: Option<BlockNumber>,
        first: BlockNumber,
        last: BlockNumber,
    ) -> Result<Option<Step>, StoreError> {
        let range = BlockRange { from: Some(first), to: Some(last) };
        let page = PageRequest { offset: 0, limit: MAX_BLOCKS, order: Order::OldestFirst };
        let blocks = self.chain.list_blocks(range, page).await?.items;
        let blocks: HashMap<BlockNumber, BlockRef> = blocks.iter().map(|block| (block.number, block.id())).collect();
        let Some(&newest) = blocks.get(&last) else { return Ok(Some(Step::Changed)) };
        let mut orphanings = Orphanings::default();
        let mut offset = 0;
        loop {
            let Traced { transactions, traced_range } = self.read_internal(first, last, offset).await?;
            let is_traced = traced_range.is_some_and(|range| range.to >= last);
            // Read from the branch of these blocks if the last one is still canonical.
            if !is_traced || !self.is_canonical(newest).await? {
                return Ok(Some(Step::Changed));
            }
            offset += transactions.len() as u64;
            let is_last = transactions.len() < PAGE as usize;
            let mut events: Vec<NewEvent> = Vec::new();
            for transaction in transactions.iter().filter(|transaction| transaction.event.moves_value()) {
                let Some(&block) = blocks.get(&transaction.block_number) else { continue };
                let mut webhooks = watch.of_internal(transaction);
                let inclusion = self.retain_created_before_first_match(&mut webhooks, block, &mut orphanings).await?;
                if webhooks.is_empty() {
                    continue;
                }
                let event = Event {
                    kind: EventKind::Internal,
                    location: EventLocation { block, tx_hash: transaction.tx_hash },
                    log_index: Some(transaction.event.position),
                    batch_index: 0,
                    body: payload::internal(transaction, &block, inclusion),
                };
                events.push(event.into_new(webhooks));
            }
            let part = if is_last { Part::Last } else { Part::More };
            if !events.is_empty() || is_last {
                match self.enqueue_internal(watch, internal, last, events, part).await? {
                    Some(_) if is_last => return Ok(Some(Step::Advanced)),
                    Some(_) => {}
                    None => return Ok(None),
                }
            }
        }
    }

    async fn read_internal(&self, first: BlockNumber, last: BlockNumber, offset: u64) -> Result<Traced, StoreError> {
        let blocks = BlockRange { from: Some(first), to: Some(last) };
        let filter = InternalFilter { blocks, ..InternalFilter::default() };
        let page = PageRequest { offset, limit: PAGE, order: Order::OldestFirst };
        let found = self.chain.list_internal_transactions(&filter, page).await?;
        Ok(Traced { transactions: found.page.items, traced_range: found.traced_range })
    }

    async fn enqueue_internal(
        &self,
        watch: &Watch,
        from: Option<BlockNumber>,
        to: BlockNumber,
        events: Vec<NewEvent>,
        part: Part,
    ) -> Result<Option<Step>, StoreError> {
        let notified = super::recipients(&events);
        let matches = InternalMatches { version: watch.version, from, to, events, part };
        match self.records.enqueue_internal(matches, clock::now()).await {
            Ok(()) => {
                self.wake.queued(notified);
                Ok(Some(Step::Advanced))
            }
            Err(EnqueueError::Stale) => Ok(None),
            Err(EnqueueError::Store(error)) => Err(error),
        }
    }
}
