use std::fmt;

use domain::{EventKinds, Page};
use serde::{Serialize, Serializer};
use utoipa::ToSchema;
use webhooks::{ListedWebhook, Registered, Registration, Secret};

use super::{Address, AnyCaseAddress, Hash, Timestamp};
use crate::{
    error::ApiError,
    params::{Fields, FromBody, Paging, parse_address},
};

/// What a webhook can be told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventType {
    /// The watched address sent or received a transaction.
    Tx,
    /// The watched address gave or received a token, or is the token.
    TokenTransfer,
    /// A block that was told of has left the chain.
    Removed,
    /// A trial message; comes when asked for.
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

/// A webhook as its owner sees it later: never its secret.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Webhook {
    #[schema(example = 3)]
    pub id: u64,
    #[schema(example = "https://receiver.example/hook")]
    pub url: String,
    pub watch_address: Address,
    pub event_types: Vec<EventType>,
    /// Whether anything is sent.
    pub active: bool,
    pub created_at: Timestamp,
    /// When the last attempt ended, or null.
    #[schema(required = true)]
    pub last_triggered_at: Option<Timestamp>,
    /// Failed attempts since the last success.
    #[schema(example = 0)]
    pub fail_count: u32,
    /// Messages that wait to be sent, for the first time or again.
    #[schema(example = 0)]
    pub pending_count: u64,
    /// Messages dropped because too many were pending, since the webhook was made.
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

/// A new webhook, with its secret for the only time.
#[derive(Debug, Serialize, ToSchema)]
pub struct CreatedWebhook {
    #[schema(example = 3)]
    pub id: u64,
    pub secret: RevealedSecret,
    #[schema(example = "Keep this secret: it is not shown again.")]
    pub message: &'static str,
}

impl From<Registered> for CreatedWebhook {
    fn from(registered: Registered) -> Self {
        Self {
            id: registered.webhook.id,
            secret: RevealedSecret(registered.secret),
            message: "Keep this secret: it is not shown again. Verify X-Explorer-Signature or webhook-signature with it.",
        }
    }
}

/// A new secret in the place of the old one.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RotatedSecret {
    #[schema(example = 3)]
    pub id: u64,
    pub secret: RevealedSecret,
    /// Until then `webhook-signature` carries a signature by the old secret too.
    pub previous_secret_until: Timestamp,
    #[schema(example = "Keep this secret: it is not shown again.")]
    pub message: &'static str,
}

impl RotatedSecret {
    #[must_use]
    pub fn new(registered: Registered, until: domain::UnixMillis) -> Self {
        Self {
            id: registered.webhook.id,
            secret: RevealedSecret(registered.secret),
            previous_secret_until: Timestamp::from_unix_millis(until),
            message: "Keep this secret: it is not shown again. The old one signs beside it for 24 hours.",
        }
    }
}

/// What deliveries are verified with.
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

/// A webhook that is gone.
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
        Self { success: true, id, message: "The webhook is deleted, with all that was queued for it." }
    }
}

/// A message that is on its way.
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
            message: "The message is queued. The webhook's deliveries tell what becomes of it.",
        }
    }
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryStatus {
    /// To be sent, for the first time or again.
    Pending,
    Delivered,
    /// Every attempt failed.
    Failed,
    /// Its block left the chain before it was delivered.
    Cancelled,
}

/// A message and its attempts.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Delivery {
    #[schema(example = "evt_5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a")]
    pub id: String,
    pub event: EventType,
    pub status: DeliveryStatus,
    pub created_at: Timestamp,
    /// When it is sent again, or null.
    #[schema(required = true)]
    pub next_attempt_at: Option<Timestamp>,
    /// The block it tells of, or null.
    #[schema(required = true, example = 21_000_000)]
    pub block_number: Option<u64>,
    /// The transaction it tells of, or null.
    #[schema(required = true)]
    pub tx_hash: Option<Hash>,
    /// How many attempts were made.
    #[schema(example = 1)]
    pub attempt_count: u32,
    /// The newest attempts, the last one first.
    pub attempts: Vec<DeliveryAttempt>,
}

/// One try to hand a message over.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryAttempt {
    pub at: Timestamp,
    /// How long it took.
    #[schema(example = 84)]
    pub milliseconds: u32,
    /// The status that the receiver answered, or null.
    #[schema(required = true, example = 200)]
    pub status_code: Option<u16>,
    /// The first KiB of its answer, or null.
    #[schema(required = true, example = "ok")]
    pub answer: Option<String>,
    /// Why there was no answer, or null.
    #[schema(required = true, example = json!(null))]
    pub error: Option<String>,
}

impl From<domain::Attempt> for DeliveryAttempt {
    fn from(attempt: domain::Attempt) -> Self {
        let (status_code, answer, error) = match attempt.outcome {
            domain::AttemptOutcome::Answered { status, body } => (Some(status), Some(body), None),
            domain::AttemptOutcome::Unanswered { reason } => (None, None, Some(reason)),
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
            block_number: delivery.place.map(|place| place.block.number),
            tx_hash: delivery.place.map(|place| place.tx_hash.into()),
            attempt_count: delivery.attempt_count,
            attempts: delivery.attempts.into_iter().rev().map(DeliveryAttempt::from).collect(),
        }
    }
}

/// A page of a webhook's messages of the last 7 days, newest first.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct DeliveryList {
    pub deliveries: Vec<Delivery>,
    /// How many there are.
    #[schema(example = 120)]
    pub total: u64,
    /// The page that was served.
    #[schema(example = 1)]
    pub page: u64,
    /// The page size that was used.
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

/// What an owner wants to be told of, and where.
#[derive(Debug, ToSchema)]
#[schema(as = NewWebhook)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewWebhookRequest {
    /// Whose webhook it will be; any letter case.
    #[schema(value_type = AnyCaseAddress)]
    pub(crate) owner_address: domain::Address,
    #[schema(value_type = ReceiverUrl)]
    pub(crate) url: String,
    /// The address to watch; the owner's where it is left out.
    #[schema(value_type = Option<AnyCaseAddress>)]
    pub(crate) watch_address: Option<domain::Address>,
    /// What to tell of; `["tx"]` where it is left out.
    #[schema(value_type = Option<Vec<WantedEvent>>, min_items = 1, example = json!(["tx", "token_transfer"]))]
    pub(crate) event_types: Option<EventKinds>,
}

/// Where messages are sent: https, without credentials, at a public address. Whether a host is one is found out when it is
/// looked up, which no pattern can do.
#[derive(Debug, ToSchema)]
#[schema(
    value_type = String,
    max_length = 2_048,
    pattern = r"^[Hh][Tt][Tt][Pp][Ss]?://[^\x00-\x20\x7f-\xa0\s\\/?#@]+([/?#][^\x00-\x20\x7f-\xa0\s\\]*)?$",
    example = "https://receiver.example/hook"
)]
pub struct ReceiverUrl(pub String);

/// What can be asked for.
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

/// What is to be different about a webhook. What is left out stays as it is.
#[derive(Debug, ToSchema)]
#[schema(as = WebhookChange)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WebhookChangeRequest {
    /// Switched on again, a webhook gets what is queued for it.
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

fn event_types(fields: &mut Fields) -> Result<Option<EventKinds>, ApiError> {
    const FIELD: &str = "eventTypes";
    let refused = ApiError::InvalidParameter {
        field: FIELD,
        rule: "must be a list of tx, token_transfer and removed, one at least",
    };
    let Some(names) = fields.find_texts(FIELD)? else { return Ok(None) };
    let kinds: Option<EventKinds> = names
        .iter()
        .map(|name| domain::EventKind::from_name(name).filter(|kind| *kind != domain::EventKind::Ping))
        .collect();
    kinds.filter(|kinds| !kinds.is_empty()).ok_or(refused).map(Some)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn new_webhook(body: &serde_json::Value) -> Result<Registration, ApiError> {
        NewWebhookRequest::from_json(body.to_string().as_bytes()).map(NewWebhookRequest::registration)
    }

    #[test]
    fn what_is_left_out_is_the_owner_s_address_and_transactions() {
        let owner = format!("0x{}", "Aa".repeat(20));
        let wanted = new_webhook(&json!({ "ownerAddress": owner, "url": "https://a.example/" })).unwrap();
        assert_eq!(wanted.watched, wanted.owner);
        assert_eq!(wanted.events.iter().collect::<Vec<_>>(), [domain::EventKind::Tx]);
    }

    #[test]
    fn event_types_are_those_there_are_and_one_at_least() {
        let body = |types: serde_json::Value| json!({ "ownerAddress": format!("0x{}", "aa".repeat(20)), "url": "https://a.example/", "eventTypes": types });
        let wanted = new_webhook(&body(json!(["removed", "token_transfer", "removed"]))).unwrap();
        let kinds: Vec<_> = wanted.events.iter().collect();
        assert_eq!(kinds, [domain::EventKind::TokenTransfer, domain::EventKind::Removed]);
        for types in [json!([]), json!(["ping"]), json!(["TX"]), json!("tx"), json!([1]), json!({}), json!([["tx"]])] {
            let problem = new_webhook(&body(types.clone())).unwrap_err().problem();
            assert_eq!((problem.status, problem.field.as_deref()), (400, Some("eventTypes")), "{types}");
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
