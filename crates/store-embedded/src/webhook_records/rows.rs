use domain::{
    Attempt, AttemptOutcome, BlockRef, Bytes, Delivery, DeliveryId, DeliveryNumber, DeliveryStatus, EventKind,
    EventKinds, EventLocation, RetiredSecret, SealedSecret, Webhook, WebhookId,
};
use store::StoreError;

use crate::codec::{RowReader, RowWriter};

const ACTIVE: u8 = 1;
const PROVEN: u8 = 2;

pub(super) fn write_webhook(webhook: &Webhook) -> Vec<u8> {
    let mut row = RowWriter::with_capacity(256);
    row.bytes(webhook.owner.as_slice());
    row.bytes(webhook.watched.as_slice());
    row.byte(webhook.events.bits());
    row.byte(if webhook.active { ACTIVE } else { 0 } | if webhook.proven { PROVEN } else { 0 });
    row.varint(webhook.created_at);
    row.varint(webhook.fail_count);
    option(&mut row, webhook.last_triggered_at, |row, at| row.varint(at));
    option(&mut row, webhook.failing_since, |row, at| row.varint(at));
    option(&mut row, webhook.after, |row, block| write_block(row, &block));
    row.text(&webhook.url);
    write_secret(&mut row, &webhook.secret);
    row.varint(webhook.retired_secrets.len() as u64);
    for retired in &webhook.retired_secrets {
        row.varint(retired.until);
        write_secret(&mut row, &retired.secret);
    }
    row.finish()
}

pub(super) fn read_webhook(id: WebhookId, row: &[u8]) -> Result<Webhook, StoreError> {
    let mut row = RowReader::new(row);
    let (owner, watched) = (row.address()?, row.address()?);
    let events = read_kinds(row.byte()?)?;
    let flags = row.byte()?;
    if flags & !(ACTIVE | PROVEN) != 0 {
        return Err(StoreError::Corrupt("a webhook with an unknown flag"));
    }
    Ok(Webhook {
        id,
        owner,
        watched,
        events,
        active: flags & ACTIVE != 0,
        proven: flags & PROVEN != 0,
        created_at: row.varint()?,
        fail_count: row.varint()?,
        last_triggered_at: read_option(&mut row, RowReader::varint)?,
        failing_since: read_option(&mut row, RowReader::varint)?,
        after: read_option(&mut row, read_block)?,
        url: row.text()?,
        secret: read_secret(&mut row)?,
        retired_secrets: read_retired(&mut row)?,
    })
}

fn read_retired(row: &mut RowReader<'_>) -> Result<Vec<RetiredSecret>, StoreError> {
    let count: u64 = row.varint()?;
    (0..count).map(|_| Ok(RetiredSecret { until: row.varint()?, secret: read_secret(row)? })).collect()
}

/// A delivery row. The body and the position in the chain are stored with the event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DeliveryRow {
    pub(super) event: EventNumber,
    /// Whether a newer delivery has the same id.
    pub(super) superseded: bool,
    /// Whether it may have been received although no attempt in the row says so: it was claimed without a report, or the
    /// attempt is no longer listed.
    pub(super) maybe_received: bool,
    /// Without its position in the chain.
    pub(super) delivery: Delivery,
}

/// The sequential number of an event, from 1.
pub(super) type EventNumber = u64;

const FRESH: u8 = 0;
const RETRY: u8 = 1;
const DELIVERED: u8 = 2;
const FAILED: u8 = 3;
const CANCELLED: u8 = 4;
const STATE: u8 = 0x0f;
const MAYBE_RECEIVED: u8 = 0x20;
const SUPERSEDED: u8 = 0x40;
const RETRACTED: u8 = 0x80;

/// Whether the row is a pending delivery that was never sent.
pub(super) fn is_fresh(row: &[u8]) -> bool {
    row.first().is_some_and(|byte| byte & STATE == FRESH)
}

pub(super) fn write_delivery(row: &DeliveryRow) -> Vec<u8> {
    let DeliveryRow { event, superseded, maybe_received, delivery } = row;
    let mut row = RowWriter::with_capacity(64);
    let (state, due) = match delivery.status {
        DeliveryStatus::Pending { due: None } => (FRESH, None),
        DeliveryStatus::Pending { due: Some(due) } => (RETRY, Some(due)),
        DeliveryStatus::Delivered => (DELIVERED, None),
        DeliveryStatus::Failed => (FAILED, None),
        DeliveryStatus::Cancelled => (CANCELLED, None),
    };
    let flags = [(*maybe_received, MAYBE_RECEIVED), (*superseded, SUPERSEDED), (delivery.retracted, RETRACTED)];
    row.byte(flags.into_iter().filter(|(set, _)| *set).fold(state, |byte, (_, flag)| byte | flag));
    if let Some(due) = due {
        row.varint(due);
    }
    row.bytes(delivery.id.as_bytes());
    row.byte(kind_byte(delivery.kind));
    row.varint(*event);
    row.varint(delivery.created_at);
    row.varint(delivery.attempt_count);
    row.varint(delivery.attempts.len() as u64);
    delivery.attempts.iter().for_each(|attempt| write_attempt(&mut row, attempt));
    row.finish()
}

pub(super) fn read_delivery(webhook: WebhookId, number: DeliveryNumber, row: &[u8]) -> Result<DeliveryRow, StoreError> {
    let mut row = RowReader::new(row);
    let state = row.byte()?;
    if state & !(STATE | MAYBE_RECEIVED | SUPERSEDED | RETRACTED) != 0 {
        return Err(StoreError::Corrupt("a delivery with an unknown flag"));
    }
    let status = match state & STATE {
        FRESH => DeliveryStatus::Pending { due: None },
        RETRY => DeliveryStatus::Pending { due: Some(row.varint()?) },
        DELIVERED => DeliveryStatus::Delivered,
        FAILED => DeliveryStatus::Failed,
        CANCELLED => DeliveryStatus::Cancelled,
        _ => return Err(StoreError::Corrupt("a delivery with an unknown status")),
    };
    let id = DeliveryId::new(row.array()?);
    let kind = read_kind(row.byte()?)?;
    let event = row.varint()?;
    let created_at = row.varint()?;
    let attempt_count = row.varint()?;
    let kept: usize = row.varint()?;
    let attempts = (0..kept).map(|_| read_attempt(&mut row)).collect::<Result<_, _>>()?;
    let (superseded, retracted, location) = (state & SUPERSEDED != 0, state & RETRACTED != 0, None);
    let delivery =
        Delivery { webhook, number, id, kind, location, created_at, status, retracted, attempt_count, attempts };
    Ok(DeliveryRow { event, superseded, maybe_received: state & MAYBE_RECEIVED != 0, delivery })
}

/// The body of an event, and its position in the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EventRow {
    pub(super) location: Option<EventLocation>,
    pub(super) body: Bytes,
}

pub(super) fn write_event(location: Option<EventLocation>, body: &[u8]) -> Vec<u8> {
    let mut row = RowWriter::with_capacity(body.len() + 80);
    option(&mut row, location, |row, location| {
        write_block(row, &location.block);
        row.bytes(location.tx_hash.as_slice());
    });
    row.bytes(body);
    row.finish()
}

pub(super) fn read_event(row: &[u8]) -> Result<EventRow, StoreError> {
    let mut row = RowReader::new(row);
    let location = read_option(&mut row, |row| Ok(EventLocation { block: read_block(row)?, tx_hash: row.hash()? }))?;
    Ok(EventRow { location, body: Bytes::copy_from_slice(row.rest()) })
}

fn write_attempt(row: &mut RowWriter, attempt: &Attempt) {
    row.varint(attempt.at);
    row.varint(attempt.millis);
    match &attempt.outcome {
        AttemptOutcome::Answered { status, body } => {
            row.byte(0);
            row.varint(*status);
            row.text(body);
        }
        AttemptOutcome::Unanswered { reason, sent } => {
            row.byte(if *sent { 2 } else { 1 });
            row.text(reason);
        }
    }
}

fn read_attempt(row: &mut RowReader<'_>) -> Result<Attempt, StoreError> {
    let (at, millis) = (row.varint()?, row.varint()?);
    let outcome = match row.byte()? {
        0 => AttemptOutcome::Answered { status: row.varint()?, body: row.text()? },
        tag @ (1 | 2) => AttemptOutcome::Unanswered { sent: tag == 2, reason: row.text()? },
        _ => return Err(StoreError::Corrupt("an attempt with an unknown outcome")),
    };
    Ok(Attempt { at, millis, outcome })
}

fn kind_byte(kind: EventKind) -> u8 {
    EventKinds::default().with(kind).bits()
}

fn read_kind(byte: u8) -> Result<EventKind, StoreError> {
    read_kinds(byte)?.only().ok_or(UNKNOWN_KIND)
}

fn read_kinds(byte: u8) -> Result<EventKinds, StoreError> {
    EventKinds::from_bits(byte).ok_or(UNKNOWN_KIND)
}

const UNKNOWN_KIND: StoreError = StoreError::Corrupt("an event of an unknown kind");

pub(super) fn write_block(row: &mut RowWriter, block: &BlockRef) {
    row.varint(block.number);
    row.bytes(block.hash.as_slice());
}

pub(super) fn read_block(row: &mut RowReader<'_>) -> Result<BlockRef, StoreError> {
    Ok(BlockRef { number: row.varint()?, hash: row.hash()? })
}

fn write_secret(row: &mut RowWriter, secret: &SealedSecret) {
    row.varint(secret.as_bytes().len() as u64);
    row.bytes(secret.as_bytes());
}

fn read_secret(row: &mut RowReader<'_>) -> Result<SealedSecret, StoreError> {
    let length = row.varint()?;
    Ok(SealedSecret::new(row.bytes(length)?.to_vec()))
}

fn option<T>(row: &mut RowWriter, value: Option<T>, write: impl FnOnce(&mut RowWriter, T)) {
    row.byte(u8::from(value.is_some()));
    if let Some(value) = value {
        write(row, value);
    }
}

fn read_option<'a, T>(
    row: &mut RowReader<'a>,
    read: impl FnOnce(&mut RowReader<'a>) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    row.flag()?.then(|| read(row)).transpose()
}

#[cfg(test)]
mod tests {
    use domain::{Address, B256};

    use super::*;

    #[test]
    fn a_delivery_survives_a_round_trip() {
        for status in [
            DeliveryStatus::Pending { due: None },
            DeliveryStatus::Pending { due: Some(77) },
            DeliveryStatus::Delivered,
            DeliveryStatus::Failed,
            DeliveryStatus::Cancelled,
        ] {
            let answered = AttemptOutcome::Answered { status: 503, body: "later \u{1f551}".to_owned() };
            let unanswered = AttemptOutcome::Unanswered { reason: "no answer in time".to_owned(), sent: true };
            let refused = AttemptOutcome::Unanswered { reason: "connection refused".to_owned(), sent: false };
            let delivery = Delivery {
                webhook: 3,
                number: 9,
                id: DeliveryId::new([7; 16]),
                kind: EventKind::Removed,
                location: None,
                created_at: 1_800_000_000_000,
                status,
                retracted: status == DeliveryStatus::Delivered,
                attempt_count: 2,
                attempts: vec![
                    Attempt { at: 1, millis: 2, outcome: answered },
                    Attempt { at: 3, millis: 10_000, outcome: unanswered },
                    Attempt { at: 4, millis: 1, outcome: refused },
                ],
            };
            let superseded = status == DeliveryStatus::Cancelled;
            let maybe_received = status == DeliveryStatus::Pending { due: None };
            let row = DeliveryRow { event: 1 << 33, superseded, maybe_received, delivery };
            let bytes = write_delivery(&row);
            assert_eq!(is_fresh(&bytes), status == DeliveryStatus::Pending { due: None });
            assert_eq!(read_delivery(3, 9, &bytes).unwrap(), row);
        }
    }

    #[test]
    fn an_event_survives_a_round_trip() {
        let block = BlockRef { number: 12, hash: B256::repeat_byte(4) };
        for location in [None, Some(EventLocation { block, tx_hash: B256::repeat_byte(5) })] {
            let event = EventRow { location, body: Bytes::from_static(b"{}") };
            assert_eq!(read_event(&write_event(location, b"{}")).unwrap(), event);
        }
    }

    fn webhook() -> Webhook {
        Webhook {
            id: 5,
            owner: Address::repeat_byte(1),
            url: "https://receiver.example/hook".to_owned(),
            watched: Address::repeat_byte(2),
            events: EventKinds::default().with(EventKind::Tx).with(EventKind::Removed),
            active: false,
            created_at: 9,
            after: Some(BlockRef { number: 1, hash: B256::repeat_byte(3) }),
            secret: SealedSecret::new(vec![1, 2, 3]),
            retired_secrets: vec![
                RetiredSecret { secret: SealedSecret::new(vec![4]), until: 99 },
                RetiredSecret { secret: SealedSecret::new(vec![5, 6]), until: 98 },
            ],
            last_triggered_at: Some(8),
            fail_count: 4,
            failing_since: None,
            proven: true,
        }
    }

    #[test]
    fn a_webhook_survives_a_round_trip() {
        let webhook = webhook();
        assert_eq!(read_webhook(5, &write_webhook(&webhook)).unwrap(), webhook);
    }

    fn assert_corrupt<T: std::fmt::Debug>(read: Result<T, StoreError>) {
        assert!(matches!(read, Err(StoreError::Corrupt(_))), "{read:?}");
    }

    #[test]
    fn a_kind_or_a_flag_that_is_not_known_is_damage() {
        // Behind the two addresses: the kinds, then the flags.
        for (position, byte) in [(40, 0x20), (40, 0xff), (41, 4), (41, 0x80)] {
            let mut row = write_webhook(&webhook());
            row[position] |= byte;
            assert_corrupt(read_webhook(5, &row));
        }
        let written = |kind: u8, head: u8| {
            let mut row = vec![head];
            row.extend([7; 16]);
            // The kind, the event, the time, and no attempts.
            row.extend([kind, 1, 1, 0, 0]);
            row
        };
        assert!(read_delivery(3, 9, &written(kind_byte(EventKind::Ping), DELIVERED)).is_ok());
        assert_corrupt(read_delivery(3, 9, &written(kind_byte(EventKind::Ping), DELIVERED | 0x10)));
        let two = kind_byte(EventKind::Tx) | kind_byte(EventKind::Ping);
        for kind in [0, two, 0x80] {
            assert_corrupt(read_delivery(3, 9, &written(kind, DELIVERED)));
        }
    }

    #[test]
    fn an_option_is_there_or_not() {
        let event = |flag: u8| [vec![flag, 12], vec![5; 64], b"{}".to_vec()].concat();
        assert!(read_event(&event(1)).unwrap().location.is_some());
        assert_corrupt(read_event(&event(2)));
    }
}
