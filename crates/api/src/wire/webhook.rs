use std::fmt;

use domain::{EventKinds, Page};
use serde::{Serialize, Serializer};
use utoipa::ToSchema;
use webhooks::{ListedWebhook, Registered, Registration, Secret, event_name};

use super::{Address, AnyCaseAddress, Hash, Timestamp};
use crate::{
    error::ApiError,
    params::{Fields, FromBody, Paging, parse_address},
};

/// The type of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventType {
    /// The watched address sent or received a transaction.
    Tx,
    /// The watched address sent or received a token, or is the token.
    TokenTransfer,
    /// A block of an earlier event was reverted.
    Removed,
    /// A test message, sent on request.
    Ping,
}

impl From<domain::EventKind> for EventType {
    fn from(kind: domain::EventKind) -> Self {
        match kind {
            domain::EventKind::Tx => Self::Tx,
            domain::EventKind::TokenTransfer => Self::TokenTransfer,
            domain::EventKind::Removed => Self::Removed,
            domain::EventKind::Ping => Self::Ping,
        }
    }
}

/// A webhook without its secret.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Webhook {
    #[schema(example = 3)]
    pub id: u64,
    #[schema(example = "https://receiver.example/hook")]
    pub url: String,
    pub watch_address: Address,
    pub event_types: Vec<EventType>,
    /// Whether messages are sent.
    pub active: bool,
    pub created_at: Timestamp,
    /// When the last attempt finished, or null.
    #[schema(required = true)]
    pub last_triggered_at: Option<Timestamp>,
    /// Failed attempts since the last success.
    #[schema(example = 0)]
    pub fail_count: u32,
    /// Messages waiting to be sent or retried.
    #[schema(example = 0)]
    pub pending_count: u64,
    /// Messages dropped since the webhook was created, because too many were pending.
    #[schema(example = 0)]
    pub dropped_count: u64,
}

impl From<ListedWebhook> for Webhook {
    fn from(ListedWebhook { webhook, queue }: ListedWebhook) -> Self {
        Self {
            id: webhook.id,
            url: webhook.url,
            watch_address: webhook.watched.into(),
            event_types: webhook.events.iter().map(EventType::from).collect(),
            active: webhook.active,
            created_at: Timestamp::from_unix_millis(webhook.created_at),
            last_triggered_at: webhook.last_triggered_at.map(Timestamp::from_unix_millis),
            fail_count: webhook.fail_count,
            pending_count: queue.pending,
            dropped_count: queue.dropped,
        }
    }
}

/// An owner's webhooks, newest first.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct WebhookList {
    pub webhooks: Vec<Webhook>,
}

impl From<Vec<ListedWebhook>> for WebhookList {
    fn from(webhooks: Vec<ListedWebhook>) -> Self {
        Self { webhooks: webhooks.into_iter().map(Webhook::from).collect() }
    }
}

/// A new webhook. The secret is shown only once.
#[derive(Debug, Serialize, ToSchema)]
pub struct CreatedWebhook {
    #[schema(example = 3)]
    pub id: u64,
    pub secret: RevealedSecret,
    #[schema(example = "Store this secret: it is not shown again.")]
    pub message: &'static str,
}

impl From<Registered> for CreatedWebhook {
    fn from(registered: Registered) -> Self {
        Self {
            id: registered.webhook.id,
            secret: RevealedSecret(registered.secret),
            message: "Store this secret: it is not shown again. Verify X-Explorer-Signature or webhook-signature with it.",
        }
    }
}

/// The new secret of a webhook.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RotatedSecret {
    #[schema(example = 3)]
    pub id: u64,
    pub secret: RevealedSecret,
    /// Until then, `webhook-signature` also has a signature with the old secret.
    pub previous_secret_until: Timestamp,
    #[schema(example = "Store this secret: it is not shown again.")]
    pub message: &'static str,
}

impl RotatedSecret {
    #[must_use]
    pub fn new(registered: Registered, until: domain::UnixMillis) -> Self {
        Self {
            id: registered.webhook.id,
            secret: RevealedSecret(registered.secret),
            previous_secret_until: Timestamp::from_unix_millis(until),
            message: "Store this secret: it is not shown again. The old one remains valid for 24 hours.",
        }
    }
}

/// The key to verify signatures with.
#[derive(ToSchema)]
#[schema(
    value_type = String,
    pattern = "^whsec_[0-9A-Za-z+/]{43}=$",
    example = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
)]
pub struct RevealedSecret(Secret);

impl Serialize for RevealedSecret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.reveal())
    }
}

impl fmt::Debug for RevealedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The result of deleting a webhook.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeletedWebhook {
    pub success: bool,
    #[schema(example = 3)]
    pub id: u64,
    #[schema(example = "The webhook is deleted.")]
    pub message: &'static str,
}

impl DeletedWebhook {
    #[must_use]
    pub fn new(id: u64) -> Self {
        Self { success: true, id, message: "The webhook and its queue are deleted." }
    }
}

/// A queued message.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueuedDelivery {
    pub success: bool,
    /// The webhook.
    #[schema(example = 3)]
    pub id: u64,
    #[schema(example = "evt_5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a")]
    pub delivery_id: String,
    #[schema(example = "The message is queued.")]
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

/// The status of a message.
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

/// A message with its delivery attempts.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Delivery {
    #[schema(example = "evt_5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a")]
    pub id: String,
    pub event: EventType,
    pub status: DeliveryStatus,
    pub created_at: Timestamp,
    /// When the next attempt is due, or null.
    #[schema(required = true)]
    pub next_attempt_at: Option<Timestamp>,
    /// The block of the event, or null.
    #[schema(required = true, example = 21_000_000)]
    pub block_number: Option<u64>,
    /// The transaction of the event, or null.
    #[schema(required = true)]
    pub tx_hash: Option<Hash>,
    /// Number of attempts.
    #[schema(example = 1)]
    pub attempt_count: u32,
    /// The newest attempts, newest first.
    pub attempts: Vec<DeliveryAttempt>,
}

/// An attempt to deliver a message.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryAttempt {
    pub at: Timestamp,
    /// Duration in milliseconds.
    #[schema(example = 84)]
    pub milliseconds: u32,
    /// The HTTP status of the receiver's response, or null.
    #[schema(required = true, example = 200)]
    pub status_code: Option<u16>,
    /// The first KiB of the receiver's response, or null.
    #[schema(required = true, example = "ok")]
    pub answer: Option<String>,
    /// Why there was no response, or null.
    #[schema(required = true, example = json!(null))]
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

/// A page of a webhook's deliveries of the last 7 days, newest first.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct DeliveryList {
    pub deliveries: Vec<Delivery>,
    /// Number of deliveries.
    #[schema(example = 120)]
    pub total: u64,
    /// The page number.
    #[schema(example = 1)]
    pub page: u64,
    /// The page size.
    #[schema(example = 25)]
    pub limit: u32,
}

impl DeliveryList {
    #[must_use]
    pub fn new(deliveries: Page<domain::Delivery>, paging: Paging) -> Self {
        Self {
            deliveries: deliveries.items.into_iter().map(Delivery::from).collect(),
            total: deliveries.total,
            page: paging.page(),
            limit: paging.limit(),
        }
    }
}

/// A webhook to create.
#[derive(Debug, ToSchema)]
#[schema(as = NewWebhook)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewWebhookRequest {
    /// The owner of the webhook, in any letter case.
    #[schema(value_type = AnyCaseAddress)]
    pub(crate) owner_address: domain::Address,
    #[schema(value_type = ReceiverUrl)]
    pub(crate) url: String,
    /// The address to watch; the owner's by default.
    #[schema(value_type = Option<AnyCaseAddress>)]
    pub(crate) watch_address: Option<domain::Address>,
    /// The events to send; `["tx"]` by default.
    #[schema(value_type = Option<Vec<WantedEvent>>, min_items = 1, example = json!(["tx", "token_transfer"]))]
    pub(crate) event_types: Option<EventKinds>,
}

/// The URL that messages are sent to: https, without credentials, at a public address. The address is checked when the host
/// name is resolved.
#[derive(Debug, ToSchema)]
#[schema(
    value_type = String,
    max_length = 2_048,
    pattern = r"^[Hh][Tt][Tt][Pp][Ss]?://[^\x00-\x20\x7f-\xa0\s\\/?#@]+([/?#][^\x00-\x20\x7f-\xa0\s\\]*)?$",
    example = "https://receiver.example/hook"
)]
pub struct ReceiverUrl(pub String);

/// An event that a webhook can subscribe to.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum WantedEvent {
    Tx,
    TokenTransfer,
    Removed,
}

impl FromBody for NewWebhookRequest {
    fn from_json(json: &[u8]) -> Result<Self, ApiError> {
        Fields::read(json, |fields| {
            let watched = fields.find_text("watchAddress")?;
            Ok(Self {
                owner_address: parse_address("ownerAddress", &fields.text("ownerAddress")?)?,
                url: fields.text("url")?,
                watch_address: watched.map(|text| parse_address("watchAddress", &text)).transpose()?,
                event_types: event_types(fields)?,
            })
        })
    }
}

impl NewWebhookRequest {
    pub(crate) fn registration(self) -> Registration {
        Registration {
            owner: self.owner_address,
            url: self.url,
            watched: self.watch_address.unwrap_or(self.owner_address),
            events: self.event_types.unwrap_or_else(|| EventKinds::default().with(domain::EventKind::Tx)),
        }
    }
}

/// Changes to a webhook. Missing fields are not changed.
#[derive(Debug, ToSchema)]
#[schema(as = WebhookChange)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WebhookChangeRequest {
    /// A reactivated webhook receives its queued messages.
    #[schema(value_type = Option<bool>, example = true)]
    pub(crate) active: Option<bool>,
    #[schema(value_type = Option<ReceiverUrl>)]
    pub(crate) url: Option<String>,
    #[schema(value_type = Option<Vec<WantedEvent>>, min_items = 1, example = json!(["tx", "removed"]))]
    pub(crate) event_types: Option<EventKinds>,
}

impl FromBody for WebhookChangeRequest {
    fn from_json(json: &[u8]) -> Result<Self, ApiError> {
        Fields::read(json, |fields| {
            Ok(Self {
                active: fields.find_bool("active")?,
                url: fields.find_text("url")?,
                event_types: event_types(fields)?,
            })
        })
    }
}

impl From<WebhookChangeRequest> for domain::WebhookChange {
    fn from(request: WebhookChangeRequest) -> Self {
        Self { active: request.active, url: request.url, events: request.event_types }
    }
}

fn event_types(fields: &mut Fields<'_>) -> Result<Option<EventKinds>, ApiError> {
    const FIELD: &str = "eventTypes";
    let error = ApiError::InvalidParameter {
        field: FIELD,
        rule: "must be a list of at least one of tx, token_transfer and removed",
    };
    let Some(names) = fields.find_texts(FIELD)? else { return Ok(None) };
    let kinds: Option<EventKinds> = names.iter().map(|name| wanted_event(name)).collect();
    kinds.filter(|kinds| !kinds.is_empty()).ok_or(error).map(Some)
}

/// The event kind that a webhook can subscribe to by this name.
fn wanted_event(name: &str) -> Option<domain::EventKind> {
    let mut wanted = domain::EventKind::ALL.into_iter().filter(|kind| *kind != domain::EventKind::Ping);
    wanted.find(|kind| event_name(*kind) == name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn new_webhook(body: &serde_json::Value) -> Result<Registration, ApiError> {
        NewWebhookRequest::from_json(body.to_string().as_bytes()).map(NewWebhookRequest::registration)
    }

    #[test]
    fn the_defaults_are_the_owners_address_and_transactions() {
        let owner = format!("0x{}", "Aa".repeat(20));
        let registration = new_webhook(&json!({ "ownerAddress": owner, "url": "https://a.example/" })).unwrap();
        assert_eq!(registration.watched, registration.owner);
        assert_eq!(registration.events.iter().collect::<Vec<_>>(), [domain::EventKind::Tx]);
    }

    #[test]
    fn event_types_must_be_known_and_not_empty() {
        let body = |types: serde_json::Value| json!({ "ownerAddress": format!("0x{}", "aa".repeat(20)), "url": "https://a.example/", "eventTypes": types });
        let registration = new_webhook(&body(json!(["removed", "token_transfer", "removed"]))).unwrap();
        let kinds: Vec<_> = registration.events.iter().collect();
        assert_eq!(kinds, [domain::EventKind::TokenTransfer, domain::EventKind::Removed]);
        for types in [json!([]), json!(["ping"]), json!(["TX"]), json!("tx"), json!([1]), json!({}), json!([["tx"]])] {
            let problem = new_webhook(&body(types.clone())).unwrap_err().problem();
            assert_eq!((problem.status, problem.field.as_deref()), (400, Some("eventTypes")), "{types}");
        }
    }

    #[test]
    fn events_have_the_same_names_in_responses_and_messages() {
        for kind in domain::EventKind::ALL {
            assert_eq!(json!(EventType::from(kind)), event_name(kind));
            let wanted = (kind != domain::EventKind::Ping).then_some(kind);
            assert_eq!(wanted_event(event_name(kind)), wanted);
        }
    }

    #[test]
    fn a_listed_webhook_has_the_documented_names_and_types() {
        let webhook = domain::Webhook {
            id: 3,
            owner: domain::Address::repeat_byte(1),
            url: "https://receiver.example/hook".to_owned(),
            watched: domain::Address::repeat_byte(2),
            events: EventKinds::default().with(domain::EventKind::Tx).with(domain::EventKind::TokenTransfer),
            active: true,
            created_at: 1_794_700_800_123,
            after: None,
            secret: domain::SealedSecret::new(vec![1]),
            retired_secrets: Vec::new(),
            last_triggered_at: None,
            fail_count: 0,
            failing_since: None,
            proven: false,
        };
        let queue = store::QueueCounts { pending: 7, dropped: 2 };
        insta::assert_json_snapshot!(WebhookList::from(vec![ListedWebhook { webhook, queue }]), @r#"
        {
          "webhooks": [
            {
              "id": 3,
              "url": "https://receiver.example/hook",
              "watchAddress": "0x0202020202020202020202020202020202020202",
              "eventTypes": [
                "tx",
                "token_transfer"
              ],
              "active": true,
              "createdAt": "2026-11-15T00:00:00.123Z",
              "lastTriggeredAt": null,
              "failCount": 0,
              "pendingCount": 7,
              "droppedCount": 2
            }
          ]
        }
        "#);
    }
}
