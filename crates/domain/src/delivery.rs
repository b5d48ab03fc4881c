use std::{fmt, str::FromStr};

use alloy_primitives::{B256, Bytes, Keccak256, hex};

use crate::{AttemptEffect, BlockRef, EventKind, UnixMillis, WebhookId};

/// The sequence number of a delivery of its webhook, from 1, without gaps.
pub type DeliveryNumber = u64;

/// Identifies an event for a webhook. It is the same on each attempt, so that a receiver can deduplicate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeliveryId([u8; 16]);

const ID_PREFIX: &str = "evt_";

/// The content that determines an event id. The same transaction in the same block is always the same event, also if the
/// block is orphaned and becomes canonical again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventIdentity {
    pub webhook: WebhookId,
    pub kind: EventKind,
    pub block_hash: B256,
    pub tx_hash: B256,
    /// None for events about the whole transaction.
    pub log_index: Option<u32>,
    pub batch_index: u32,
}

impl EventIdentity {
    #[must_use]
    pub fn id(&self) -> DeliveryId {
        let mut digest = Keccak256::new();
        digest.update(self.webhook.to_be_bytes());
        digest.update([self.kind.bit()]);
        digest.update(self.block_hash);
        digest.update(self.tx_hash);
        digest.update([u8::from(self.log_index.is_some())]);
        digest.update(self.log_index.unwrap_or_default().to_be_bytes());
        digest.update(self.batch_index.to_be_bytes());
        DeliveryId::truncated(&digest.finalize())
    }
}

impl DeliveryId {
    #[must_use]
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The id of the `removed` event for this event.
    #[must_use]
    pub fn of_removal(&self) -> Self {
        let mut digest = Keccak256::new();
        digest.update(b"removed");
        digest.update(self.0);
        Self::truncated(&digest.finalize())
    }

    fn truncated(digest: &B256) -> Self {
        let [first @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] = digest.0;
        Self(first)
    }
}

impl fmt::Display for DeliveryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{ID_PREFIX}{}", hex::encode(self.0))
    }
}

impl fmt::Debug for DeliveryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected evt_ and 32 hexadecimal digits")]
pub struct InvalidDeliveryId;

impl FromStr for DeliveryId {
    type Err = InvalidDeliveryId;

    fn from_str(text: &str) -> Result<Self, InvalidDeliveryId> {
        let digits = text.strip_prefix(ID_PREFIX).filter(|digits| digits.len() == 32).ok_or(InvalidDeliveryId)?;
        hex::decode_to_array(digits).map(Self).map_err(|_| InvalidDeliveryId)
    }
}

/// A message to be sent to a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDelivery {
    pub webhook: WebhookId,
    pub id: DeliveryId,
    pub kind: EventKind,
    /// The transaction; None for events without one.
    pub location: Option<EventLocation>,
    /// The message body, the same on each attempt.
    pub body: Bytes,
}

/// The transaction that an event belongs to, and its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventLocation {
    pub block: BlockRef,
    pub tx_hash: B256,
}

/// A message with its status and attempts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub webhook: WebhookId,
    pub number: DeliveryNumber,
    pub id: DeliveryId,
    pub kind: EventKind,
    pub location: Option<EventLocation>,
    pub created_at: UnixMillis,
    pub status: DeliveryStatus,
    /// Whether a `removed` event for it was queued or sent.
    pub retracted: bool,
    /// Attempts made so far.
    pub attempt_count: u32,
    /// The latest attempts, oldest first.
    pub attempts: Vec<Attempt>,
}

impl Delivery {
    /// Whether the receiver has accepted the message at least once, even if it is queued again, or may have: a message
    /// that was sent without a response can have been processed.
    #[must_use]
    pub fn may_have_been_received(&self) -> bool {
        let received = |attempt: &Attempt| match attempt.outcome {
            AttemptOutcome::Answered { status, .. } => (200..300).contains(&status),
            AttemptOutcome::Unanswered { sent, .. } => sent,
        };
        self.status == DeliveryStatus::Delivered || self.attempts.iter().any(received)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryStatus {
    /// To be sent, not before `due`; None means in queue order.
    Pending {
        due: Option<UnixMillis>,
    },
    Delivered,
    /// Every attempt failed.
    Failed,
    /// Its block was orphaned before it could be sent.
    Cancelled,
}

/// One attempt to send a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    pub at: UnixMillis,
    pub millis: u32,
    pub outcome: AttemptOutcome,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// The receiver responded; `body` is the start of the response.
    Answered { status: u16, body: String },
    /// There was no complete response in time; `sent` if the request may have reached the receiver.
    Unanswered { reason: String, sent: bool },
}

/// A message that a worker has claimed for sending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedDelivery {
    pub webhook: WebhookId,
    pub number: DeliveryNumber,
    pub id: DeliveryId,
    pub kind: EventKind,
    pub body: Bytes,
    pub created_at: UnixMillis,
    /// Earlier attempts.
    pub attempt_count: u32,
    pub dropped: DropCount,
}

/// Messages of a webhook that were dropped because its queue was full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DropCount {
    pub total: u64,
    /// How many of them were reported in a message that the receiver accepted.
    pub reported: u64,
}

impl DropCount {
    #[must_use]
    pub fn unreported(self) -> u64 {
        self.total.saturating_sub(self.reported)
    }
}

/// The outcome of an attempt, and the next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptReport {
    pub webhook: WebhookId,
    pub number: DeliveryNumber,
    pub attempt: Attempt,
    pub effect: AttemptEffect,
    pub next: NextStep,
    /// The total of dropped messages that the attempt reported.
    pub dropped: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextStep {
    Done,
    RetryAt(UnixMillis),
    GiveUp,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity() -> EventIdentity {
        EventIdentity {
            webhook: 7,
            kind: EventKind::TokenTransfer,
            block_hash: B256::repeat_byte(1),
            tx_hash: B256::repeat_byte(2),
            log_index: Some(0),
            batch_index: 0,
        }
    }

    #[test]
    fn the_id_of_an_event_depends_on_every_field() {
        let same = identity().id();
        assert_eq!(identity().id(), same);
        let others = [
            EventIdentity { webhook: 8, ..identity() },
            EventIdentity { kind: EventKind::Tx, ..identity() },
            EventIdentity { block_hash: B256::repeat_byte(3), ..identity() },
            EventIdentity { tx_hash: B256::repeat_byte(3), ..identity() },
            EventIdentity { log_index: None, ..identity() },
            EventIdentity { log_index: Some(1), ..identity() },
            EventIdentity { batch_index: 1, ..identity() },
        ];
        let mut ids: Vec<DeliveryId> = others.iter().map(EventIdentity::id).collect();
        ids.extend([same, same.of_removal()]);
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), others.len() + 2);
    }

    #[test]
    fn ids_round_trip_and_other_texts_are_rejected() {
        let id = identity().id();
        assert_eq!(id.to_string().parse(), Ok(id));
        for text in ["", "evt_", "evt_00", &id.to_string()[4..], &format!("{id}0"), &format!("evt_{}", "g".repeat(32))]
        {
            assert_eq!(text.parse::<DeliveryId>(), Err(InvalidDeliveryId), "{text}");
        }
    }
}
