mod delivery;
mod event_type;
mod requests;

use std::fmt;

use serde::{Serialize, Serializer};
use utoipa::ToSchema;
use webhooks::{ListedWebhook, Registered, Secret};

pub use self::{
    delivery::{Delivery, DeliveryAttempt, DeliveryList, DeliveryStatus, QueuedDelivery},
    event_type::{EventType, WantedEvent},
    requests::{NewWebhookRequest, ReceiverUrl, WebhookChangeRequest},
};
use super::{Address, Timestamp};

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Webhook {
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
    pub fail_count: u32,
    /// Messages waiting to be sent or retried.
    pub pending_count: u64,
    /// Messages dropped because too many were pending.
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

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct WebhookList {
    pub webhooks: Vec<Webhook>,
}

impl From<Vec<ListedWebhook>> for WebhookList {
    fn from(webhooks: Vec<ListedWebhook>) -> Self {
        Self { webhooks: webhooks.into_iter().map(Webhook::from).collect() }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct CreatedWebhook {
    pub id: u64,
    pub secret: RevealedSecret,
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

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RotatedSecret {
    pub id: u64,
    pub secret: RevealedSecret,
    /// Until then, `webhook-signature` also has a signature with the old secret.
    pub previous_secret_until: Timestamp,
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

#[derive(Debug, Serialize, ToSchema)]
pub struct DeletedWebhook {
    pub success: bool,
    pub id: u64,
    pub message: &'static str,
}

impl DeletedWebhook {
    #[must_use]
    pub fn new(id: u64) -> Self {
        Self { success: true, id, message: "The webhook and its queue are deleted." }
    }
}

#[cfg(test)]
mod tests {
    use domain::EventKinds;
    use serde_json::json;

    use super::{requests::wanted_event, *};

    #[test]
    fn events_have_the_same_names_in_responses_and_messages() {
        for kind in domain::EventKind::ALL {
            assert_eq!(json!(EventType::from(kind)), kind.name());
            let wanted = (kind != domain::EventKind::Ping).then_some(kind);
            assert_eq!(wanted_event(kind.name()), wanted);
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
