//! Reads and writes webhooks, their queues and the matching for files of records.

use deadpool_postgres::Transaction;
use domain::{BlockRef, Delivery, DropCount, EventLocation, Webhook};
use store::{
    DeliveryLogRecord, DeliveryRecord, EventRecord, HashPrefix, MatchedBlock, MatchingRecord, OrphanedBlockRecord,
    Record, RecordPosition, StoreError,
};
use tokio_postgres::Row;

use super::{
    change::ProgressRow,
    deliveries::{answer, text, was_sent},
    rows::{DELIVERY, DeliveryRow, WEBHOOK, kind_number, put_webhook, status_number, webhook_from_row},
};
use crate::{
    database::{Connection, execute, query},
    rows::{RowExt, both, int8, limit},
};

pub(crate) async fn read_webhooks(
    client: &dyn Connection,
    after: Option<RecordPosition>,
    count: usize,
) -> Result<Vec<Record>, StoreError> {
    let after = match after {
        Some(RecordPosition::Webhook(id)) => int8(id),
        _ => -1,
    };
    let sql = format!("select {WEBHOOK} from webhook w where w.id > $1 order by w.id limit $2");
    let rows = query(client, &sql, &[&after, &limit(count)]).await?;
    rows.iter().map(|row| Ok(Record::Webhook(webhook_from_row(row, 0)?))).collect()
}

pub(crate) async fn read_logs(
    client: &dyn Connection,
    after: Option<RecordPosition>,
    count: usize,
) -> Result<Vec<Record>, StoreError> {
    let after = match after {
        Some(RecordPosition::DeliveryLog(webhook)) => int8(webhook),
        _ => -1,
    };
    let sql = "select webhook, first, next, pending, dropped, reported from delivery_log where webhook > $1
        order by webhook limit $2";
    let log = |row: &Row| -> Result<Record, StoreError> {
        Ok(Record::DeliveryLog(DeliveryLogRecord {
            webhook: row.u64(0)?,
            first: row.u64(1)?,
            next: row.u64(2)?,
            pending: row.u64(3)?,
            dropped: DropCount { total: row.u64(4)?, reported: row.u64(5)? },
        }))
    };
    query(client, sql, &[&after, &limit(count)]).await?.iter().map(log).collect()
}

pub(crate) async fn read_events(
    client: &dyn Connection,
    after: Option<RecordPosition>,
    count: usize,
) -> Result<Vec<Record>, StoreError> {
    let after = match after {
        Some(RecordPosition::Event(number)) => int8(number),
        _ => -1,
    };
    let sql = "select number, block_number, block_hash, tx_hash, body, uses from event where number > $1
        order by number limit $2";
    let event = |row: &Row| -> Result<Record, StoreError> {
        let location = both(row.option_block(1)?, row.option_hash(3)?)?;
        Ok(Record::Event(EventRecord {
            number: row.u64(0)?,
            location: location.map(|(block, tx_hash)| EventLocation { block, tx_hash }),
            body: row.bytes(4)?,
            uses: row.u64(5)?,
        }))
    };
    query(client, sql, &[&after, &limit(count)]).await?.iter().map(event).collect()
}

pub(crate) async fn read_deliveries(
    client: &dyn Connection,
    after: Option<RecordPosition>,
    count: usize,
) -> Result<Vec<Record>, StoreError> {
    let (webhook, number) = match after {
        Some(RecordPosition::Delivery(webhook, number)) => (int8(webhook), int8(number)),
        _ => (-1, -1),
    };
    let sql = format!(
        "select {DELIVERY}, o.block from delivery d join event e on e.number = d.event
        left join delivery_of_block o on o.block = e.block_number and o.webhook = d.webhook and o.number = d.number
        where (d.webhook, d.number) > ($1, $2) order by d.webhook, d.number limit $3"
    );
    let delivery = |row: &Row| -> Result<Record, StoreError> {
        let DeliveryRow { delivery, event, lease_until } = DeliveryRow::from_row(row, 0)?;
        Ok(Record::Delivery(DeliveryRecord {
            event,
            // It was claimed, and may have been sent.
            maybe_received: lease_until.is_some(),
            retracted_with: row.option_u64(19)?,
            delivery: Delivery { location: None, ..delivery },
        }))
    };
    query(client, &sql, &[&webhook, &number, &limit(count)]).await?.iter().map(delivery).collect()
}

pub(crate) async fn read_matched_blocks(
    client: &dyn Connection,
    after: Option<RecordPosition>,
    count: usize,
) -> Result<Vec<Record>, StoreError> {
    let after = match after {
        Some(RecordPosition::MatchedBlock(number)) => int8(number),
        _ => -1,
    };
    let sql = "select number, hash, known_to from matched_block where number > $1 order by number limit $2";
    let matched = |row: &Row| -> Result<Record, StoreError> {
        let block = BlockRef { number: row.u64(0)?, hash: row.hash(1)? };
        Ok(Record::MatchedBlock(MatchedBlock { block, known_to: row.u64(2)? }))
    };
    query(client, sql, &[&after, &limit(count)]).await?.iter().map(matched).collect()
}

pub(crate) async fn read_orphaned_blocks(
    client: &dyn Connection,
    after: Option<RecordPosition>,
    count: usize,
) -> Result<Vec<Record>, StoreError> {
    let (number, prefix) = match after {
        Some(RecordPosition::OrphanedBlock(number, prefix)) => (int8(number), prefix.to_vec()),
        _ => (-1, Vec::new()),
    };
    let sql = "select number, hash, times, known_to from orphaned_block where (number, hash) > ($1, $2)
        order by number, hash limit $3";
    let orphaned = |row: &Row| -> Result<Record, StoreError> {
        let hash_prefix = HashPrefix::try_from(row.value::<&[u8]>(1)?);
        Ok(Record::OrphanedBlock(OrphanedBlockRecord {
            number: row.u64(0)?,
            hash_prefix: hash_prefix.map_err(|_| StoreError::Corrupt("an orphaned block without its hash"))?,
            times: u32::try_from(row.u64(2)?).map_err(|_| StoreError::Corrupt("a count of reorgs"))?,
            known_to: row.u64(3)?,
        }))
    };
    query(client, sql, &[&number, &prefix, &limit(count)]).await?.iter().map(orphaned).collect()
}

pub(crate) async fn read_matching(client: &dyn Connection) -> Result<Record, StoreError> {
    let ProgressRow { version, last_webhook, last_event, cursor, retracting_from, internal, .. } =
        ProgressRow::read(client).await?;
    Ok(Record::Matching(MatchingRecord { version, last_webhook, last_event, cursor, retracting_from, internal }))
}

pub(crate) async fn write_webhook(tx: &Transaction<'_>, webhook: &Webhook) -> Result<(), StoreError> {
    put_webhook(tx, webhook).await
}

pub(crate) async fn write_log(tx: &Transaction<'_>, log: &DeliveryLogRecord) -> Result<(), StoreError> {
    let sql = "insert into delivery_log (webhook, first, next, pending, dropped, reported, is_orphaned)
        select $1::int8, $2::int8, $3::int8, $4::int8, $5::int8, $6::int8,
            not exists (select 1 from webhook where id = $1)
        on conflict (webhook) do update set first = excluded.first, next = excluded.next, pending = excluded.pending,
            dropped = excluded.dropped, reported = excluded.reported, is_orphaned = excluded.is_orphaned";
    let numbers = [log.webhook, log.first, log.next, log.pending, log.dropped.total, log.dropped.reported].map(int8);
    let [webhook, first, next, pending, dropped, reported] = &numbers;
    execute(tx, sql, &[webhook, first, next, pending, dropped, reported]).await?;
    Ok(())
}

pub(crate) async fn write_event(tx: &Transaction<'_>, event: &EventRecord) -> Result<(), StoreError> {
    let sql = "insert into event values ($1, $2, $3, $4, $5, $6) on conflict (number) do update set
            block_number = excluded.block_number, block_hash = excluded.block_hash, tx_hash = excluded.tx_hash,
            body = excluded.body, uses = excluded.uses";
    let location = event.location;
    execute(
        tx,
        sql,
        &[
            &int8(event.number),
            &location.map(|location| int8(location.block.number)),
            &location.map(|location| location.block.hash.to_vec()),
            &location.map(|location| location.tx_hash.to_vec()),
            &event.body.as_ref(),
            &int8(event.uses),
        ],
    )
    .await?;
    Ok(())
}

pub(crate) async fn write_delivery(tx: &Transaction<'_>, record: &DeliveryRecord) -> Result<(), StoreError> {
    let Delivery { webhook, number, attempts, .. } = &record.delivery;
    let (webhook, number) = (int8(*webhook), int8(*number));
    let (status, due) = status_number(record.delivery.status);
    let times: Vec<i64> = attempts.iter().map(|attempt| int8(attempt.at)).collect();
    let millis: Vec<i64> = attempts.iter().map(|attempt| i64::from(attempt.millis)).collect();
    let answers: Vec<Option<i32>> = attempts.iter().map(answer).collect();
    let sent: Vec<bool> = attempts.iter().map(was_sent).collect();
    let texts: Vec<&[u8]> = attempts.iter().map(|attempt| text(attempt).as_bytes()).collect();
    let sql = "insert into delivery values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
        on conflict (webhook, number) do update set id = excluded.id, kind = excluded.kind, event = excluded.event,
            created_at = excluded.created_at, status = excluded.status, due = excluded.due,
            is_retracted = excluded.is_retracted, lease_until = excluded.lease_until,
            attempt_count = excluded.attempt_count, attempt_at = excluded.attempt_at,
            attempt_millis = excluded.attempt_millis, attempt_status = excluded.attempt_status,
            attempt_sent = excluded.attempt_sent, attempt_text = excluded.attempt_text";
    execute(
        tx,
        sql,
        &[
            &webhook,
            &number,
            &record.delivery.id.as_bytes().as_slice(),
            &kind_number(record.delivery.kind),
            &int8(record.event),
            &int8(record.delivery.created_at),
            &status,
            &due,
            &record.delivery.retracted,
            // A lease that has ended: it was claimed, and may have been sent.
            &record.maybe_received.then_some(0_i64),
            &i64::from(record.delivery.attempt_count),
            &times,
            &millis,
            &answers,
            &sent,
            &texts,
        ],
    )
    .await?;
    if let Some(block) = record.retracted_with {
        let sql = "insert into delivery_of_block values ($1, $2, $3) on conflict do nothing";
        execute(tx, sql, &[&int8(block), &webhook, &number]).await?;
    }
    Ok(())
}

pub(crate) async fn write_matched_block(tx: &Transaction<'_>, matched: &MatchedBlock) -> Result<(), StoreError> {
    let sql = "insert into matched_block values ($1, $2, $3)
        on conflict (number) do update set hash = excluded.hash, known_to = excluded.known_to";
    let MatchedBlock { block, known_to } = matched;
    execute(tx, sql, &[&int8(block.number), &block.hash.as_slice(), &int8(*known_to)]).await?;
    Ok(())
}

pub(crate) async fn write_orphaned_block(tx: &Transaction<'_>, block: &OrphanedBlockRecord) -> Result<(), StoreError> {
    let sql = "insert into orphaned_block values ($1, $2, $3, $4)
        on conflict (number, hash) do update set times = excluded.times, known_to = excluded.known_to";
    let (prefix, times) = (block.hash_prefix.as_slice(), i64::from(block.times));
    execute(tx, sql, &[&int8(block.number), &prefix, &times, &int8(block.known_to)]).await?;
    Ok(())
}

/// Also counts the totals over all webhooks, whose rows are complete by now.
pub(crate) async fn write_matching(tx: &Transaction<'_>, matching: &MatchingRecord) -> Result<(), StoreError> {
    let sql = "update webhook_progress set version = $1, last_webhook = $2, last_event = $3, cursor_number = $4,
            cursor_hash = $5, retracting_from = $6, internal_cursor = $7, is_copied = $4::int8 is not null,
            webhooks = (select count(*) from webhook),
            pending = (select coalesce(sum(pending), 0)::int8 from delivery_log where not is_orphaned)";
    execute(
        tx,
        sql,
        &[
            &int8(matching.version),
            &int8(matching.last_webhook),
            &int8(matching.last_event),
            &matching.cursor.map(|cursor| int8(cursor.number)),
            &matching.cursor.map(|cursor| cursor.hash.to_vec()),
            &matching.retracting_from.map(int8),
            &matching.internal.map(int8),
        ],
    )
    .await?;
    Ok(())
}
