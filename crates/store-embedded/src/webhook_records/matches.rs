//! Messages for matched blocks: queued when matched, retracted when orphaned.

use std::collections::{BTreeMap, HashSet};

use domain::{B256, BlockNumber, BlockRef, DeliveryNumber, DeliveryStatus, NewDelivery, UnixMillis, WebhookId};
use store::{
    InternalMatches, MATCHED_BLOCK_HISTORY, MatchedBlock, Matches, NewEvent, Orphaning, Part, Recipient, Removal,
    RetractedBatch, Retraction, RetractionCursor, StoreError,
};

use super::{
    change::{Change, varint},
    effects::QueueNote,
    read, rows,
};
use crate::{
    codec::{RowReader, RowWriter},
    engine::View,
    keys::{Key, Table, deliveries_in_block_key},
};

impl Change<'_> {
    pub(super) fn enqueue_matches(&mut self, matches: Matches, now: UnixMillis) -> Result<(), StoreError> {
        let seen = self.note_blocks(&matches.blocks)?;
        self.enqueue_events(matches.events, &seen, now)?;
        if matches.part == Part::Last
            && let Some(cursor) = matches.blocks.last()
        {
            self.put_cursor(&cursor.block)?;
            if matches.skips_internal {
                self.put_internal(cursor.block.number);
            }
            self.prune_blocks(cursor.block.number.saturating_sub(MATCHED_BLOCK_HISTORY))?;
        }
        Ok(())
    }

    pub(super) fn enqueue_internal(&mut self, matches: InternalMatches, now: UnixMillis) -> Result<(), StoreError> {
        // A part of them may have been queued before.
        let located = matches.events.iter().filter_map(|event| event.location);
        let seen = located.map(|location| location.block.hash).collect();
        self.enqueue_events(matches.events, &seen, now)?;
        if matches.part == Part::Last {
            self.put_internal(matches.to);
        }
        Ok(())
    }

    fn put_internal(&mut self, cursor: BlockNumber) {
        self.batch.put(Table::WebhookMeta, &Key::name(read::INTERNAL), varint(cursor));
    }

    /// Records the blocks; returns those that may have queued events already.
    fn note_blocks(&mut self, blocks: &[MatchedBlock]) -> Result<HashSet<B256>, StoreError> {
        let mut seen = HashSet::new();
        for matched in blocks {
            let block = matched.block;
            let matched_before = self.view.get(Table::MatchedBlock, &Key::block(block.number))?;
            if matched_before.is_some_and(|row| row.starts_with(block.hash.as_slice())) {
                seen.insert(block.hash);
                continue;
            }
            let orphaning = read::find_orphaning(self.view, &block)?;
            if orphaning.is_some() {
                seen.insert(block.hash);
            }
            let known_to = orphaning.map_or(matched.known_to, |orphaning| orphaning.known_to);
            let row = read::write_matched_block(&MatchedBlock { block, known_to });
            self.batch.put(Table::MatchedBlock, &Key::block(block.number), row);
        }
        Ok(seen)
    }

    fn enqueue_events(
        &mut self,
        events: Vec<NewEvent>,
        seen: &HashSet<B256>,
        now: UnixMillis,
    ) -> Result<(), StoreError> {
        let mut new: Vec<(usize, Recipient)> = Vec::new();
        for (index, event) in events.iter().enumerate() {
            let block = event.location.map(|location| location.block);
            for recipient in &event.recipients {
                let matched_again = block.filter(|block| seen.contains(&block.hash));
                if let Some(block) = matched_again
                    && self.is_still_valid(block.number, recipient)?
                {
                    continue;
                }
                new.push((index, *recipient));
            }
        }
        let webhooks: Vec<WebhookId> = new.iter().map(|(_, recipient)| recipient.webhook).collect();
        let rejected = self.queues.loads.queues.exceeding(&webhooks, self.limits);
        let mut counts: BTreeMap<WebhookId, u64> = BTreeMap::new();
        for (webhook, rejected) in webhooks.iter().zip(&rejected) {
            let count = counts.entry(*webhook).or_default();
            if *rejected {
                self.log(*webhook)?.dropped.total += 1;
            } else {
                *count += 1;
            }
        }
        self.make_room(&counts)?;
        let mut numbers = EventNumbers::default();
        for ((index, recipient), _) in new.into_iter().zip(rejected).filter(|(_, rejected)| !rejected) {
            #[expect(clippy::indexing_slicing, reason = "the indexes are those of the same events")]
            let event = &events[index];
            let row = numbers.number(index, || self.add_event(rows::write_event(event.location, &event.body)))?;
            let delivery = self.push(row, event.kind, recipient, now)?;
            if let Some(location) = event.location.filter(|_| event.kind.depends_on_block()) {
                self.note_block(location.block.number, recipient.webhook, delivery.number);
            }
        }
        counts.into_keys().try_for_each(|webhook| self.truncate_log(webhook, now))
    }

    /// Whether the event is already queued or delivered, and was not retracted. If so, its message belongs to the block
    /// again; if not, its id is released for a new one.
    fn is_still_valid(&mut self, block: BlockNumber, recipient: &Recipient) -> Result<bool, StoreError> {
        let Some(row) = read::find_row_by_id(self.view, recipient.webhook, &recipient.id)? else { return Ok(false) };
        let valid = !row.delivery.retracted && row.delivery.status != DeliveryStatus::Cancelled;
        if valid {
            self.note_block(block, recipient.webhook, row.delivery.number);
        } else {
            self.supersede(recipient.webhook, &recipient.id)?;
        }
        Ok(valid)
    }

    fn put_cursor(&mut self, cursor: &BlockRef) -> Result<(), StoreError> {
        let mut row = RowWriter::default();
        rows::write_block(&mut row, cursor);
        self.batch.put(Table::WebhookMeta, &Key::name(read::CURSOR), row.finish());
        self.end_copied()
    }

    /// The index has reached the cursor that was copied from another store.
    fn end_copied(&mut self) -> Result<(), StoreError> {
        if read::is_copied(self.view)? {
            self.batch.delete(Table::WebhookMeta, &Key::name(read::COPIED));
        }
        Ok(())
    }

    /// Deletes data that is needed only while a block can be orphaned.
    fn prune_blocks(&mut self, below: BlockNumber) -> Result<(), StoreError> {
        let from = self.queues.pruned_below;
        if below <= from {
            return Ok(());
        }
        for table in [Table::MatchedBlock, Table::DeliveryByBlock, Table::OrphanedBlock] {
            for row in self.view.range(table, &Key::block(from), &Key::block(below)) {
                let key = Key::from_slice(&row?.0).ok_or(StoreError::Corrupt("a key that is too long"))?;
                self.batch.delete(table, &key);
            }
        }
        self.note(QueueNote::PrunedBelow(below));
        Ok(())
    }

    pub(super) fn begin_retraction(&mut self, retraction: Retraction) -> Result<(), StoreError> {
        let first = retraction.to.map_or(0, |to| to.number + 1);
        for row in self.view.range_from(Table::MatchedBlock, &Key::block(first), &Key::EMPTY) {
            let (key, row) = row?;
            let MatchedBlock { block, known_to } = read::matched_block(&key, &row)?;
            let before = read::find_orphaning(self.view, &block)?.unwrap_or(Orphaning { times: 0, known_to });
            let mut row = RowWriter::default();
            row.varint(before.times + 1);
            row.varint(before.known_to);
            self.batch.put(Table::OrphanedBlock, &Key::orphaned_block(&block), row.finish());
            self.batch.delete(Table::MatchedBlock, &Key::block(block.number));
        }
        match retraction.to {
            Some(to) => self.put_cursor(&to)?,
            None => {
                self.batch.delete(Table::WebhookMeta, &Key::name(read::CURSOR));
                self.end_copied()?;
            }
        }
        match (read::find_internal(self.view)?, retraction.to) {
            (Some(_), None) => self.batch.delete(Table::WebhookMeta, &Key::name(read::INTERNAL)),
            (Some(internal), Some(to)) if internal > to.number => self.put_internal(to.number),
            _ => {}
        }
        for id in retraction.rebased {
            if let Some(webhook) = self.webhook(id)? {
                webhook.after = retraction.rebase_to;
            }
        }
        self.note(QueueNote::UnprunedFrom(first));
        let first = read::find_retracting(self.view)?.map_or(first, |earlier| earlier.min(first));
        self.batch.put(Table::WebhookMeta, &Key::name(read::RETRACTING), varint(first));
        self.touch_watch_list()
    }

    pub(super) fn retract(
        &mut self,
        removals: Vec<Removal>,
        upto: RetractionCursor,
        now: UnixMillis,
    ) -> Result<(), StoreError> {
        let Some(first) = read::find_retracting(self.view)? else { return Ok(()) };
        let mut removals: BTreeMap<(WebhookId, DeliveryNumber), NewDelivery> =
            removals.into_iter().map(|removal| ((removal.delivery.webhook, removal.of), removal.delivery)).collect();
        for run in runs_from(self.view, first) {
            let run = run?;
            if run.position(run.first) > upto {
                break;
            }
            self.batch.delete(Table::DeliveryByBlock, &Key::delivery_by_block(run.block, run.webhook, run.first));
            let last = if run.position(run.last) > upto { upto.number } else { run.last };
            if last < run.last {
                let rest = Key::delivery_by_block(run.block, run.webhook, last + 1);
                self.batch.put(Table::DeliveryByBlock, &rest, varint(run.last));
            }
            let oldest = self.log(run.webhook)?.first;
            for number in run.first.max(oldest)..=last {
                let removal = removals.remove(&(run.webhook, number));
                self.retract_one(run.webhook, number, removal, now)?;
            }
        }
        Ok(())
    }

    fn retract_one(
        &mut self,
        webhook: WebhookId,
        number: DeliveryNumber,
        removal: Option<NewDelivery>,
        now: UnixMillis,
    ) -> Result<(), StoreError> {
        let Some(mut row) = read::find_row(self.view, webhook, number)? else { return Ok(()) };
        let received = row.maybe_received
            || row.delivery.may_have_been_received()
            || self.queues.may_have_sent(webhook, number, row.delivery.status, now);
        if let Some(removal) = removal
            && received
            && self.webhook(webhook)?.is_some()
        {
            // It may have been retracted before, by a message with the same id.
            self.supersede(webhook, &removal.id)?;
            self.push_single(removal, now)?;
            row.delivery.retracted = true;
        }
        if let DeliveryStatus::Pending { .. } = row.delivery.status {
            self.unqueue(&row.delivery)?;
            row.delivery.status = DeliveryStatus::Cancelled;
        }
        self.put(&row);
        Ok(())
    }
}

/// The numbers assigned to events.
#[derive(Default)]
struct EventNumbers {
    last: Option<(usize, rows::EventNumber)>,
}

impl EventNumbers {
    /// The number of an event. Events come in order, so only the last one is kept.
    fn number(
        &mut self,
        index: usize,
        add: impl FnOnce() -> Result<rows::EventNumber, StoreError>,
    ) -> Result<rows::EventNumber, StoreError> {
        match self.last {
            Some((last, number)) if last == index => Ok(number),
            _ => {
                let number = add()?;
                self.last = Some((index, number));
                Ok(number)
            }
        }
    }
}

/// Consecutive deliveries for one block.
struct BlockRun {
    block: BlockNumber,
    webhook: WebhookId,
    first: DeliveryNumber,
    last: DeliveryNumber,
}

impl BlockRun {
    fn position(&self, number: DeliveryNumber) -> RetractionCursor {
        RetractionCursor { block: self.block, webhook: self.webhook, number }
    }
}

fn runs_from(view: &View, first: BlockNumber) -> impl Iterator<Item = Result<BlockRun, StoreError>> {
    view.range_from(Table::DeliveryByBlock, &Key::block(first), &Key::EMPTY).map(|row| {
        let (key, last) = row?;
        let (block, webhook, first) = deliveries_in_block_key(&key)?;
        Ok(BlockRun { block, webhook, first, last: RowReader::new(&last).varint()? })
    })
}

pub(super) fn list_retracted(view: &View, limit: usize) -> Result<RetractedBatch, StoreError> {
    let mut batch = RetractedBatch { deliveries: Vec::new(), upto: None };
    let Some(first) = read::find_retracting(view)? else { return Ok(batch) };
    for run in runs_from(view, first) {
        let run = run?;
        let oldest = read::delivery_log(view, run.webhook)?.first;
        for number in run.first.max(oldest)..=run.last {
            if batch.deliveries.len() == limit {
                return Ok(batch);
            }
            if let Some(row) = read::find_row(view, run.webhook, number)? {
                let event = read::event(view, row.event)?;
                let delivery = domain::Delivery { location: event.location, ..row.delivery };
                batch.deliveries.push((delivery, event.body));
            }
            batch.upto = Some(run.position(number));
        }
        // Also if nothing is left of a run: it is complete.
        batch.upto = Some(run.position(run.last));
    }
    Ok(batch)
}
