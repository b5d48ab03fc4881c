//! Webhooks and deliveries as rows.

use deadpool_postgres::Transaction;
use domain::{
    Attempt, AttemptOutcome, Delivery, DeliveryId, DeliveryStatus, EventKind, EventKinds, EventLocation, RetiredSecret,
    SealedSecret, UnixMillis, Webhook, WebhookId,
};
use store::StoreError;
use tokio_postgres::Row;

use crate::{
    database::{Connection, execute, find},
    rows::{RowExt, both, int8, pairs, to_text},
};

/// The columns of a webhook `w`.
pub(super) const WEBHOOK: &str = "w.id, w.owner, w.url, w.watched, w.events, w.is_active, w.created_at, w.after_number,
    w.after_hash, w.secret, w.retired_secrets, w.retired_until, w.last_triggered_at, w.fail_count, w.failing_since,
    w.is_proven";

pub(super) fn webhook_from_row(row: &Row, first: usize) -> Result<Webhook, StoreError> {
    let secrets = pairs(row.value::<Vec<Vec<u8>>>(first + 10)?, row.value::<Vec<i64>>(first + 11)?)?;
    let retired = |(secret, until): (Vec<u8>, i64)| RetiredSecret {
        secret: SealedSecret::new(secret),
        until: until.cast_unsigned(),
    };
    Ok(Webhook {
        id: row.u64(first)?,
        owner: row.address(first + 1)?,
        url: row.text(first + 2)?,
        watched: row.address(first + 3)?,
        events: events_from(row.value(first + 4)?)?,
        active: row.value(first + 5)?,
        created_at: row.u64(first + 6)?,
        after: row.option_block(first + 7)?,
        secret: SealedSecret::new(row.value(first + 9)?),
        retired_secrets: secrets.map(retired).collect(),
        last_triggered_at: row.option_u64(first + 12)?,
        fail_count: u32::try_from(row.u64(first + 13)?).map_err(|_| StoreError::Corrupt("a count of failures"))?,
        failing_since: row.option_u64(first + 14)?,
        proven: row.value(first + 15)?,
    })
}

const UNKNOWN_KIND: StoreError = StoreError::Corrupt("an event of an unknown kind");

pub(super) fn events_from(bits: i16) -> Result<EventKinds, StoreError> {
    u8::try_from(bits).ok().and_then(EventKinds::from_bits).ok_or(UNKNOWN_KIND)
}

/// Inserts or replaces a webhook.
pub(super) async fn put_webhook(tx: &Transaction<'_>, webhook: &Webhook) -> Result<(), StoreError> {
    let secrets: Vec<&[u8]> = webhook.retired_secrets.iter().map(|retired| retired.secret.as_bytes()).collect();
    let until: Vec<i64> = webhook.retired_secrets.iter().map(|retired| int8(retired.until)).collect();
    let sql = "insert into webhook values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
        on conflict (id) do update set url = excluded.url, events = excluded.events, is_active = excluded.is_active,
            after_number = excluded.after_number, after_hash = excluded.after_hash, secret = excluded.secret,
            retired_secrets = excluded.retired_secrets, retired_until = excluded.retired_until,
            last_triggered_at = excluded.last_triggered_at, fail_count = excluded.fail_count,
            failing_since = excluded.failing_since, is_proven = excluded.is_proven";
    execute(
        tx,
        sql,
        &[
            &int8(webhook.id),
            &webhook.owner.as_slice(),
            &webhook.url.as_bytes(),
            &webhook.watched.as_slice(),
            &i16::from(webhook.events.bits()),
            &webhook.active,
            &int8(webhook.created_at),
            &webhook.after.map(|block| int8(block.number)),
            &webhook.after.map(|block| block.hash.to_vec()),
            &webhook.secret.as_bytes(),
            &secrets,
            &until,
            &webhook.last_triggered_at.map(int8),
            &i64::from(webhook.fail_count),
            &webhook.failing_since.map(int8),
            &webhook.proven,
        ],
    )
    .await?;
    Ok(())
}

/// A delivery with the number of its event, and the end of its lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DeliveryRow {
    pub(super) delivery: Delivery,
    pub(super) event: u64,
    pub(super) lease_until: Option<UnixMillis>,
}

/// The columns of a delivery `d` with its event `e`.
pub(super) const DELIVERY: &str =
    "d.webhook, d.number, d.id, d.kind, d.event, d.created_at, d.status, d.due, d.is_retracted,
    d.lease_until, d.attempt_count, d.attempt_at, d.attempt_millis, d.attempt_status, d.attempt_sent, d.attempt_text,
    e.block_number, e.block_hash, e.tx_hash";

const FRESH: i16 = 0;
const RETRY: i16 = 1;
const DELIVERED: i16 = 2;
const FAILED: i16 = 3;
const CANCELLED: i16 = 4;

/// The status and the due time of a row.
pub(super) fn status_number(status: DeliveryStatus) -> (i16, Option<i64>) {
    match status {
        DeliveryStatus::Pending { due: None } => (FRESH, None),
        DeliveryStatus::Pending { due: Some(due) } => (RETRY, Some(int8(due))),
        DeliveryStatus::Delivered => (DELIVERED, None),
        DeliveryStatus::Failed => (FAILED, None),
        DeliveryStatus::Cancelled => (CANCELLED, None),
    }
}

fn status_from(number: i16, due: Option<u64>) -> Result<DeliveryStatus, StoreError> {
    Ok(match number {
        FRESH => DeliveryStatus::Pending { due: None },
        RETRY => DeliveryStatus::Pending { due: Some(due.ok_or(StoreError::Corrupt("a retry without a time"))?) },
        DELIVERED => DeliveryStatus::Delivered,
        FAILED => DeliveryStatus::Failed,
        CANCELLED => DeliveryStatus::Cancelled,
        _ => return Err(StoreError::Corrupt("a delivery with an unknown status")),
    })
}

impl DeliveryRow {
    pub(super) fn from_row(row: &Row, first: usize) -> Result<Self, StoreError> {
        let attempt_count = u32::try_from(row.u64(first + 10)?);
        let location = both(row.option_block(first + 16)?, row.option_hash(first + 18)?)?;
        let location = location.map(|(block, tx_hash)| EventLocation { block, tx_hash });
        let delivery = Delivery {
            webhook: row.u64(first)?,
            number: row.u64(first + 1)?,
            id: id_from(row.value(first + 2)?)?,
            kind: kind_from(row.value(first + 3)?)?,
            location,
            created_at: row.u64(first + 5)?,
            status: status_from(row.value(first + 6)?, row.option_u64(first + 7)?)?,
            retracted: row.value(first + 8)?,
            attempt_count: attempt_count.map_err(|_| StoreError::Corrupt("a count of attempts"))?,
            attempts: attempts_from(row, first + 11)?,
        };
        Ok(Self { delivery, event: row.u64(first + 4)?, lease_until: row.option_u64(first + 9)? })
    }

    pub(super) fn is_pending(&self) -> bool {
        matches!(self.delivery.status, DeliveryStatus::Pending { .. })
    }
}

pub(super) fn id_from(bytes: &[u8]) -> Result<DeliveryId, StoreError> {
    let bytes = bytes.try_into().map_err(|_| StoreError::Corrupt("a delivery with an invalid id"))?;
    Ok(DeliveryId::new(bytes))
}

pub(super) fn kind_number(kind: EventKind) -> i16 {
    i16::from(EventKinds::default().with(kind).bits())
}

pub(super) fn kind_from(number: i16) -> Result<EventKind, StoreError> {
    events_from(number)?.only().ok_or(UNKNOWN_KIND)
}

fn attempts_from(row: &Row, first: usize) -> Result<Vec<Attempt>, StoreError> {
    let times = pairs(row.value::<Vec<i64>>(first)?, row.value::<Vec<i64>>(first + 1)?)?;
    let outcomes = pairs(row.value::<Vec<Option<i32>>>(first + 2)?, row.value::<Vec<bool>>(first + 3)?)?;
    let outcomes = pairs(outcomes.collect(), row.value::<Vec<&[u8]>>(first + 4)?)?;
    let all = pairs(times.collect(), outcomes.collect())?;
    let mut attempts = Vec::new();
    for ((at, millis), ((status, sent), text)) in all {
        let text = to_text(text)?;
        let outcome = match status {
            Some(status) => AttemptOutcome::Answered {
                status: u16::try_from(status).map_err(|_| StoreError::Corrupt("a status of a response"))?,
                body: text,
            },
            None => AttemptOutcome::Unanswered { reason: text, sent },
        };
        let millis = u32::try_from(millis).map_err(|_| StoreError::Corrupt("the time of an attempt"))?;
        attempts.push(Attempt { at: at.cast_unsigned(), millis, outcome });
    }
    Ok(attempts)
}

/// The newest delivery with this id.
pub(super) async fn find_by_id(
    client: &dyn Connection,
    webhook: WebhookId,
    id: DeliveryId,
) -> Result<Option<DeliveryRow>, StoreError> {
    let sql = format!(
        "select {DELIVERY} from delivery d join event e on e.number = d.event
        where d.webhook = $1 and d.id = $2 order by d.number desc limit 1"
    );
    let row = find(client, &sql, &[&int8(webhook), &id.as_bytes().as_slice()]).await?;
    row.map(|row| DeliveryRow::from_row(&row, 0)).transpose()
}

/// Writes the status of deliveries, and whether they are retracted.
pub(super) async fn put_status(tx: &Transaction<'_>, rows: &[DeliveryRow]) -> Result<(), StoreError> {
    if rows.is_empty() {
        return Ok(());
    }
    let webhooks: Vec<i64> = rows.iter().map(|row| int8(row.delivery.webhook)).collect();
    let numbers: Vec<i64> = rows.iter().map(|row| int8(row.delivery.number)).collect();
    let (statuses, due): (Vec<i16>, Vec<Option<i64>>) =
        rows.iter().map(|row| status_number(row.delivery.status)).unzip();
    let retracted: Vec<bool> = rows.iter().map(|row| row.delivery.retracted).collect();
    let sql = "update delivery d set status = r.status, due = r.due, is_retracted = r.is_retracted
        from unnest($1::int8[], $2::int8[], $3::int2[], $4::int8[], $5::boolean[])
            as r(webhook, number, status, due, is_retracted)
        where d.webhook = r.webhook and d.number = r.number";
    execute(tx, sql, &[&webhooks, &numbers, &statuses, &due, &retracted]).await?;
    Ok(())
}

pub(super) async fn find_webhook(client: &dyn Connection, id: WebhookId) -> Result<Option<Webhook>, StoreError> {
    let sql = format!("select {WEBHOOK} from webhook w where w.id = $1");
    let row = find(client, &sql, &[&int8(id)]).await?;
    row.map(|row| webhook_from_row(&row, 0)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_no_kind_or_of_several_is_damage() {
        for kind in EventKind::ALL {
            assert_eq!(kind_from(kind_number(kind)).unwrap(), kind);
        }
        let both = kind_number(EventKind::Tx) | kind_number(EventKind::Ping);
        assert!(events_from(both).unwrap().contains(EventKind::Ping));
        for number in [0, both, 0x80, 0x100 | kind_number(EventKind::Tx), -1] {
            let read = kind_from(number);
            assert!(matches!(read, Err(StoreError::Corrupt(_))), "{number}: {read:?}");
        }
        assert!(matches!(events_from(0x101), Err(StoreError::Corrupt(_))), "more than a byte");
    }
}
