use domain::Page;
use serde::Serialize;
use utoipa::ToSchema;

use super::event_type::EventType;
use crate::{
    params::Paging,
    wire::{Hash, Timestamp, list::list},
};

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueuedDelivery {
    pub success: bool,
    /// The webhook.
    pub id: u64,
    #[schema(example = "evt_5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a")]
    pub delivery_id: String,
    pub message: &'static str,
}

impl From<domain::Delivery> for QueuedDelivery {
    fn from(delivery: domain::Delivery) -> Self {
        Self {
            success: true,
            id: delivery.webhook,
            delivery_id: delivery.id.to_string(),
            message: "The message is queued. See the webhook's deliveries for its status.",
        }
    }
}

/// `cancelled`: the block was reverted before the message was delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryStatus {
    /// Waiting to be sent or retried.
    Pending,
    Delivered,
    /// All attempts failed.
    Failed,
    /// Its block was reverted before it was delivered.
    Cancelled,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Delivery {
    #[schema(example = "evt_5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a")]
    pub id: String,
    pub event: EventType,
    pub status: DeliveryStatus,
    pub created_at: Timestamp,
    /// Null if none is due.
    #[schema(required = true)]
    pub next_attempt_at: Option<Timestamp>,
    /// Of the event, or null.
    #[schema(required = true)]
    pub block_number: Option<u64>,
    /// Of the event, or null.
    #[schema(required = true)]
    pub tx_hash: Option<Hash>,
    pub attempt_count: u32,
    /// The newest, newest first.
    pub attempts: Vec<DeliveryAttempt>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryAttempt {
    pub at: Timestamp,
    /// Its duration.
    pub milliseconds: u32,
    /// Of the receiver's response, or null.
    #[schema(required = true)]
    pub status_code: Option<u16>,
    /// The first KiB of the receiver's response, or null.
    #[schema(required = true)]
    pub answer: Option<String>,
    /// Why there was no response, or null.
    #[schema(required = true)]
    pub error: Option<String>,
}

impl From<domain::Attempt> for DeliveryAttempt {
    fn from(attempt: domain::Attempt) -> Self {
        let (status_code, answer, error) = match attempt.outcome {
            domain::AttemptOutcome::Answered { status, body } => (Some(status), Some(body), None),
            domain::AttemptOutcome::Unanswered { reason, .. } => (None, None, Some(reason)),
        };
        let at = Timestamp::from_unix_millis(attempt.at);
        Self { at, milliseconds: attempt.millis, status_code, answer, error }
    }
}

impl From<domain::Delivery> for Delivery {
    fn from(delivery: domain::Delivery) -> Self {
        let (status, due) = match delivery.status {
            domain::DeliveryStatus::Pending { due } => (DeliveryStatus::Pending, due),
            domain::DeliveryStatus::Delivered => (DeliveryStatus::Delivered, None),
            domain::DeliveryStatus::Failed => (DeliveryStatus::Failed, None),
            domain::DeliveryStatus::Cancelled => (DeliveryStatus::Cancelled, None),
        };
        Self {
            id: delivery.id.to_string(),
            event: delivery.kind.into(),
            status,
            created_at: Timestamp::from_unix_millis(delivery.created_at),
            next_attempt_at: due.map(Timestamp::from_unix_millis),
            block_number: delivery.location.map(|location| location.block.number),
            tx_hash: delivery.location.map(|location| location.tx_hash.into()),
            attempt_count: delivery.attempt_count,
            attempts: delivery.attempts.into_iter().rev().map(DeliveryAttempt::from).collect(),
        }
    }
}

list! {
    pub struct DeliveryList {
        deliveries: Delivery,
        total,
    }
}

impl DeliveryList {
    #[must_use]
    pub fn new(deliveries: Page<domain::Delivery>, paging: Paging) -> Self {
        Self::of(deliveries.map(Delivery::from), paging)
    }
}
