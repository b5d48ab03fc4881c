use std::{fmt, str::FromStr};

use alloy_primitives::{B256, Bytes, Keccak256, hex};

use crate::{AttemptEffect, BlockRef, UnixMillis, WebhookId};

/// What a delivery tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// The watched address sent or received a transaction.
    Tx,
    /// The watched address gave or received a token, or is the token.
    TokenTransfer,
    /// A block that was told of is no longer part of the chain.
    Removed,
    /// A trial that the owner asked for.
    Ping,
}

impl EventKind {
    pub const ALL: [Self; 4] = [Self::Tx, Self::TokenTransfer, Self::Removed, Self::Ping];

    pub(crate) fn bit(self) -> u8 {
        match self {
            Self::Tx => 1,
            Self::TokenTransfer => 2,
            Self::Removed => 4,
            Self::Ping => 8,
        }
    }

    /// The kind as receivers and owners write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tx => "tx",
            Self::TokenTransfer => "token_transfer",
            Self::Removed => "removed",
            Self::Ping => "ping",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// The place of a delivery among those of its webhook, from 1, without gaps.
pub type DeliveryNumber = u64;

/// Names one event for one webhook, the same on each attempt: by it a receiver knows what it has seen before.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeliveryId([u8; 16]);

const ID_PREFIX: &str = "evt_";

/// What an id is made of: nothing but what the event tells. The same transaction in the same block is the same event for
/// ever, also where the block leaves the chain and comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventIdentity {
    pub webhook: WebhookId,
    pub kind: EventKind,
    pub block_hash: B256,
    pub tx_hash: B256,
    /// None for what is told of the transaction as a whole.
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
        DeliveryId::first_of(&digest.finalize())
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

    /// The id of the news that what another delivery told of is no longer true.
    #[must_use]
    pub fn of_removal(&self) -> Self {
        let mut digest = Keccak256::new();
        digest.update(b"removed");
        digest.update(self.0);
        Self::first_of(&digest.finalize())
    }

    fn first_of(digest: &B256) -> Self {
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
pub struct NoDeliveryId;

impl FromStr for DeliveryId {
    type Err = NoDeliveryId;

    fn from_str(text: &str) -> Result<Self, NoDeliveryId> {
        let digits = text.strip_prefix(ID_PREFIX).filter(|digits| digits.len() == 32).ok_or(NoDeliveryId)?;
        hex::decode_to_array(digits).map(Self).map_err(|_| NoDeliveryId)
    }
}

/// A message to be sent to a webhook's receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDelivery {
    pub webhook: WebhookId,
    pub id: DeliveryId,
    pub kind: EventKind,
    /// Where it happened; None for what is not of a block.
    pub place: Option<EventPlace>,
    /// What is sent: made once, the same on each attempt.
    pub body: Bytes,
}

/// The transaction that an event belongs to, and its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventPlace {
    pub block: BlockRef,
    pub tx_hash: B256,
}

/// A message, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub webhook: WebhookId,
    pub number: DeliveryNumber,
    pub id: DeliveryId,
    pub kind: EventKind,
    pub place: Option<EventPlace>,
    pub created_at: UnixMillis,
    pub status: DeliveryStatus,
    /// Whether the receiver was or is to be sent a removal of it.
    pub retracted: bool,
    /// Attempts made so far.
    pub attempt_count: u32,
    /// The newest attempts, the oldest of them first.
    pub attempts: Vec<Attempt>,
}

impl Delivery {
    /// Whether the receiver has said that it got the message, be it that it is to be sent again.
    #[must_use]
    pub fn was_received(&self) -> bool {
        let accepted = |attempt: &Attempt| matches!(attempt.outcome, AttemptOutcome::Answered { status: 200..300, .. });
        self.status == DeliveryStatus::Delivered || self.attempts.iter().any(accepted)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryStatus {
    /// To be sent, at this time at the earliest. None: as soon as those before it.
    Pending {
        due: Option<UnixMillis>,
    },
    Delivered,
    /// Every attempt failed.
    Failed,
    /// Its block left the chain before it could be sent.
    Cancelled,
}

/// One try to hand a message over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    pub at: UnixMillis,
    pub millis: u32,
    pub outcome: AttemptOutcome,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// The receiver answered; of its answer, the beginning.
    Answered { status: u16, body: String },
    /// There was no whole answer in time.
    Unanswered { reason: String },
}

/// A message that somebody has taken on to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedDelivery {
    pub webhook: WebhookId,
    pub number: DeliveryNumber,
    pub id: DeliveryId,
    pub kind: EventKind,
    pub body: Bytes,
    pub created_at: UnixMillis,
    /// Attempts made before.
    pub attempt_count: u32,
    pub dropped: DropCount,
}

/// Messages that a webhook lost because too many were pending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DropCount {
    pub total: u64,
    /// Of these, how many the receiver was told of by a message that it accepted.
    pub reported: u64,
}

impl DropCount {
    #[must_use]
    pub fn unreported(self) -> u64 {
        self.total.saturating_sub(self.reported)
    }
}

/// How an attempt went, and what is to be done next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptReport {
    pub webhook: WebhookId,
    pub number: DeliveryNumber,
    pub attempt: Attempt,
    pub effect: AttemptEffect,
    pub next: NextStep,
    /// The total of dropped messages that the attempt told of.
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
    fn an_event_has_one_id_and_every_difference_gives_another() {
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
    fn an_id_is_read_back_and_nothing_else_is_one() {
        let id = identity().id();
        assert_eq!(id.to_string().parse(), Ok(id));
        for text in ["", "evt_", "evt_00", &id.to_string()[4..], &format!("{id}0"), &format!("evt_{}", "g".repeat(32))]
        {
            assert_eq!(text.parse::<DeliveryId>(), Err(NoDeliveryId), "{text}");
        }
    }

    #[test]
    fn a_kind_is_known_by_its_name() {
        for kind in EventKind::ALL {
            assert_eq!(EventKind::from_name(kind.name()), Some(kind));
        }
        assert_eq!(EventKind::from_name("TX"), None);
    }
}
