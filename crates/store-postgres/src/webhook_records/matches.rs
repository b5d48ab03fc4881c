//! Messages for matched blocks: queued when matched, retracted when orphaned.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use domain::{B256, BlockNumber, DeliveryNumber, DeliveryStatus, NewDelivery, UnixMillis, WebhookId};
use store::{
    InternalMatches, MATCHED_BLOCK_HISTORY, MatchedBlock, Matches, NewEvent, Part, Recipient, Removal, RetractedBatch,
    Retraction, RetractionCursor, StoreError,
};

use super::{
    change::{Change, MISCOUNTED, ProgressRow},
    deliveries::{EventRow, NewMessage},
    rows::{DELIVERY, DeliveryRow, put_status},
};
use crate::{
    database::{Connection, execute, query},
    rows::{RowExt, int8, limit},
};

/// Bytes of the hash of an orphaned block that are stored.
const HASH_PREFIX: usize = 8;

impl Change<'_> {
    pub(super) async fn enqueue_matches(&mut self, matches: Matches, now: UnixMillis) -> Result<(), StoreError> {
        let seen = self.note_blocks(&matches.blocks).await?;
        self.enqueue_events(&matches.events, &seen, now).await?;
        if matches.part == Part::Last
            && let Some(cursor) = matches.blocks.last()
        {
            self.progress.cursor = Some(cursor.block);
            self.progress.is_copied = false;
            if matches.skips_internal {
                self.progress.internal = Some(cursor.block.number);
            }
            self.prune_blocks(cursor.block.number.saturating_sub(MATCHED_BLOCK_HISTORY)).await?;
        }
        Ok(())
    }

    pub(super) async fn enqueue_internal(
        &mut self,
        matches: InternalMatches,
        now: UnixMillis,
    ) -> Result<(), StoreError> {
        // A part of them may have been queued before.
        let located = matches.events.iter().filter_map(|event| event.location);
        let seen = located.map(|location| location.block.hash).collect();
        self.enqueue_events(&matches.events, &seen, now).await?;
        if matches.part == Part::Last {
            self.progress.internal = Some(matches.to);
        }
        Ok(())
    }

    /// Records the blocks; returns those that may have queued events already.
    async fn note_blocks(&mut self, blocks: &[MatchedBlock]) -> Result<HashSet<B256>, StoreError> {
        let numbers: Vec<i64> = blocks.iter().map(|matched| int8(matched.block.number)).collect();
        let mut matched_before = BTreeSet::new();
        let sql = "select number, hash from matched_block where number = any($1)";
        for row in query(self.tx, sql, &[&numbers]).await? {
            matched_before.insert((row.u64(0)?, row.hash(1)?));
        }
        let mut orphaned = BTreeMap::new();
        let sql = "select number, hash, known_to from orphaned_block where number = any($1)";
        for row in query(self.tx, sql, &[&numbers]).await? {
            orphaned.insert((row.u64(0)?, row.value::<Vec<u8>>(1)?), row.u64(2)?);
        }
        let mut seen = HashSet::new();
        let mut new: BTreeMap<BlockNumber, (B256, WebhookId)> = BTreeMap::new();
        for MatchedBlock { block, known_to } in blocks {
            if matched_before.contains(&(block.number, block.hash)) {
                seen.insert(block.hash);
                continue;
            }
            let prefix = block.hash.iter().copied().take(HASH_PREFIX).collect();
            let known_before = orphaned.get(&(block.number, prefix));
            if known_before.is_some() {
                seen.insert(block.hash);
            }
            new.insert(block.number, (block.hash, *known_before.unwrap_or(known_to)));
        }
        let numbers: Vec<i64> = new.keys().map(|number| int8(*number)).collect();
        let hashes: Vec<&[u8]> = new.values().map(|(hash, _)| hash.as_slice()).collect();
        let known_to: Vec<i64> = new.values().map(|(_, known_to)| int8(*known_to)).collect();
        let sql = "insert into matched_block select * from unnest($1::int8[], $2::bytea[], $3::int8[])
            on conflict (number) do update set hash = excluded.hash, known_to = excluded.known_to";
        execute(self.tx, sql, &[&numbers, &hashes, &known_to]).await?;
        Ok(seen)
    }

    async fn enqueue_events(
        &mut self,
        events: &[NewEvent],
        seen: &HashSet<B256>,
        now: UnixMillis,
    ) -> Result<(), StoreError> {
        let valid = self.still_valid(events, seen).await?;
        let mut new: Vec<(usize, Recipient)> = Vec::new();
        for (index, event) in events.iter().enumerate() {
            let is_new = |to: &&Recipient| !valid.contains(&(to.webhook, *to.id.as_bytes()));
            new.extend(event.recipients.iter().filter(is_new).map(|to| (index, *to)));
        }
        let webhooks: Vec<WebhookId> = new.iter().map(|(_, to)| to.webhook).collect();
        let loads = self.loads(&webhooks, webhooks.len() as u64).await?;
        let rejected = loads.exceeding(&webhooks, &self.limits);
        let mut counts: BTreeMap<WebhookId, u64> = BTreeMap::new();
        for (webhook, rejected) in webhooks.iter().zip(&rejected) {
            let count = counts.entry(*webhook).or_default();
            if *rejected {
                self.log(*webhook).await?.dropped.total += 1;
            } else {
                *count += 1;
            }
        }
        self.make_room(&counts).await?;
        let (mut rows, mut messages): (Vec<EventRow<'_>>, Vec<NewMessage>) = (Vec::new(), Vec::new());
        let mut last_index = None;
        for ((index, to), _) in new.into_iter().zip(rejected).filter(|(_, rejected)| !rejected) {
            let Some(event) = events.get(index) else { continue };
            if last_index != Some(index) {
                last_index = Some(index);
                self.progress.last_event += 1;
                let number = self.progress.last_event;
                rows.push(EventRow { number, location: event.location, body: &event.body, uses: 0 });
            }
            if let Some(row) = rows.last_mut() {
                row.uses += 1;
            }
            let location = event.location.filter(|_| event.kind.depends_on_block());
            let block = location.map(|location| location.block.number);
            messages.push(NewMessage { event: self.progress.last_event, kind: event.kind, to, block });
        }
        self.add_events(&rows).await?;
        self.push(&messages, now).await?;
        for webhook in counts.into_keys() {
            self.truncate_log(webhook, now).await?;
        }
        Ok(())
    }

    /// Messages of blocks seen before that are already queued or delivered, and were not retracted. They belong to the block
    /// again.
    async fn still_valid(
        &mut self,
        events: &[NewEvent],
        seen: &HashSet<B256>,
    ) -> Result<HashSet<(WebhookId, [u8; 16])>, StoreError> {
        let (mut webhooks, mut ids, mut blocks) = (Vec::new(), Vec::new(), Vec::new());
        for event in events {
            let block = event.location.map(|location| location.block).filter(|block| seen.contains(&block.hash));
            let Some(block) = block else { continue };
            for to in &event.recipients {
                webhooks.push(int8(to.webhook));
                ids.push(to.id.as_bytes().to_vec());
                blocks.push(int8(block.number));
            }
        }
        let mut valid = HashSet::new();
        if webhooks.is_empty() {
            return Ok(valid);
        }
        let sql = "select k.webhook, k.id, k.block, d.number
            from unnest($1::int8[], $2::bytea[], $3::int8[]) as k(webhook, id, block)
            cross join lateral (
                select * from delivery d where d.webhook = k.webhook and d.id = k.id order by d.number desc limit 1
            ) d where not d.is_retracted and d.status <> 4";
        let mut of_blocks = Vec::new();
        for row in query(self.tx, sql, &[&webhooks, &ids, &blocks]).await? {
            let id = row.value::<&[u8]>(1)?.try_into().map_err(|_| StoreError::Corrupt("an id of a delivery"))?;
            valid.insert((row.u64(0)?, id));
            of_blocks.push((row.u64(2)?, row.u64(0)?, row.u64(3)?));
        }
        self.note_blocks_of(&of_blocks).await?;
        Ok(valid)
    }

    /// Deletes data that is needed only while a block can be orphaned.
    async fn prune_blocks(&mut self, below: BlockNumber) -> Result<(), StoreError> {
        for (table, column) in
            [("matched_block", "number"), ("delivery_of_block", "block"), ("orphaned_block", "number")]
        {
            let sql = format!("delete from {table} where {column} < $1");
            execute(self.tx, &sql, &[&int8(below)]).await?;
        }
        Ok(())
    }

    pub(super) async fn begin_retraction(&mut self, retraction: Retraction) -> Result<(), StoreError> {
        let first = retraction.to.map_or(0, |to| to.number + 1);
        let sql = "with orphaned as (delete from matched_block where number >= $1 returning *)
            insert into orphaned_block as o select number, substr(hash, 1, 8), 1, known_to from orphaned
            on conflict (number, hash) do update set times = o.times + 1";
        execute(self.tx, sql, &[&int8(first)]).await?;
        self.progress.cursor = retraction.to;
        self.progress.internal =
            self.progress.internal.zip(retraction.to).map(|(internal, to)| internal.min(to.number));
        self.progress.is_copied = false;
        for id in retraction.rebased {
            if let Some(webhook) = self.find_webhook(id).await? {
                webhook.after = retraction.rebase_to;
            }
        }
        let earlier = self.progress.retracting_from;
        self.progress.retracting_from = Some(earlier.map_or(first, |earlier| earlier.min(first)));
        self.progress.version += 1;
        Ok(())
    }

    pub(super) async fn retract(
        &mut self,
        removals: Vec<Removal>,
        upto: RetractionCursor,
        now: UnixMillis,
    ) -> Result<(), StoreError> {
        let Some(first) = self.progress.retracting_from else { return Ok(()) };
        let mut removals: BTreeMap<(WebhookId, DeliveryNumber), NewDelivery> =
            removals.into_iter().map(|removal| ((removal.delivery.webhook, removal.of), removal.delivery)).collect();
        let sql = format!(
            "with retracted as (
                delete from delivery_of_block where block >= $1 and (block, webhook, number) <= ($2, $3, $4) returning *
            )
            select {DELIVERY} from retracted r join delivery d on d.webhook = r.webhook and d.number = r.number
            join event e on e.number = d.event order by r.block, r.webhook, r.number"
        );
        let upto = [int8(upto.block), int8(upto.webhook), int8(upto.number)];
        let rows = query(self.tx, &sql, &[&int8(first), &upto[0], &upto[1], &upto[2]]).await?;
        let mut changed = Vec::with_capacity(rows.len());
        for row in &rows {
            let mut row = DeliveryRow::from_row(row, 0)?;
            let (webhook, number) = (row.delivery.webhook, row.delivery.number);
            // A message that was claimed, and neither reported nor released, may have been sent.
            let received = row.delivery.may_have_been_received() || row.lease_until.is_some();
            if let Some(removal) = removals.remove(&(webhook, number))
                && received
                && self.find_webhook(webhook).await?.is_some()
            {
                self.push_single(removal, now).await?;
                row.delivery.retracted = true;
            }
            if row.is_pending() {
                let log = self.log(webhook).await?;
                log.pending = log.pending.checked_sub(1).ok_or(MISCOUNTED)?;
                row.delivery.status = DeliveryStatus::Cancelled;
            }
            changed.push(row);
        }
        put_status(self.tx, &changed).await
    }
}

pub(super) async fn list_retracted(client: &dyn Connection, count: usize) -> Result<RetractedBatch, StoreError> {
    let mut batch = RetractedBatch { deliveries: Vec::new(), upto: None };
    let Some(first) = ProgressRow::read(client).await?.retracting_from else { return Ok(batch) };
    let sql = format!(
        "select o.block, o.webhook, o.number, d.number is not null, e.body, {DELIVERY}
        from (
            select * from delivery_of_block where block >= $1 order by block, webhook, number limit $2
        ) o
        left join delivery d on d.webhook = o.webhook and d.number = o.number left join event e on e.number = d.event
        order by o.block, o.webhook, o.number"
    );
    for row in query(client, &sql, &[&int8(first), &limit(count)]).await? {
        if row.value(3)? {
            batch.deliveries.push((DeliveryRow::from_row(&row, 5)?.delivery, row.bytes(4)?));
        }
        batch.upto = Some(RetractionCursor { block: row.u64(0)?, webhook: row.u64(1)?, number: row.u64(2)? });
    }
    Ok(batch)
}
