use std::sync::LazyLock;

use domain::{EventKind, EventKinds};
use utoipa::ToSchema;
use webhooks::Registration;

use super::event_type::WantedEvent;
use crate::{
    error::ApiError,
    params::{Fields, FromBody, parse_address},
    wire::AnyCaseAddress,
};

#[derive(Debug, ToSchema)]
#[schema(as = NewWebhook)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewWebhookRequest {
    #[schema(value_type = AnyCaseAddress)]
    pub(crate) owner_address: domain::Address,
    #[schema(value_type = ReceiverUrl)]
    pub(crate) url: String,
    /// The owner's by default.
    #[schema(value_type = Option<AnyCaseAddress>)]
    pub(crate) watch_address: Option<domain::Address>,
    /// `["tx"]` by default.
    #[schema(value_type = Option<Vec<WantedEvent>>, min_items = 1, example = json!(["tx", "token_transfer"]))]
    pub(crate) event_types: Option<EventKinds>,
}

/// The URL that messages are sent to: https, without credentials, at a public address. A host name is resolved before each
/// message, not at registration.
#[derive(Debug, ToSchema)]
#[schema(
    value_type = String,
    max_length = 2_048,
    pattern = r"^[Hh][Tt][Tt][Pp][Ss]?://[^\x00-\x20\x7f-\xa0\s\\/?#@]+([/?#][^\x00-\x20\x7f-\xa0\s\\]*)?$",
    example = "https://receiver.example/hook"
)]
pub struct ReceiverUrl(pub String);

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
            events: self.event_types.unwrap_or_else(|| EventKinds::default().with(EventKind::Tx)),
        }
    }
}

/// Missing fields are not changed.
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

static EVENT_TYPES_RULE: LazyLock<String> = LazyLock::new(|| {
    let names: Vec<&str> = EventKind::subscribable().map(EventKind::name).collect();
    let (last, others) = names.split_last().map_or(("", &[][..]), |(last, others)| (*last, others));
    format!("must be a list of at least one of {} and {last}", others.join(", "))
});

fn event_types(fields: &mut Fields<'_>) -> Result<Option<EventKinds>, ApiError> {
    const FIELD: &str = "eventTypes";
    let error = ApiError::InvalidParameter { field: FIELD, rule: &EVENT_TYPES_RULE };
    let Some(names) = fields.find_texts(FIELD)? else { return Ok(None) };
    let kinds: Option<EventKinds> = names.iter().map(|name| wanted_event(name)).collect();
    kinds.filter(|kinds| !kinds.is_empty()).ok_or(error).map(Some)
}

/// The event kind that a webhook can subscribe to by this name.
pub(super) fn wanted_event(name: &str) -> Option<EventKind> {
    EventKind::subscribable().find(|kind| kind.name() == name)
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
        assert_eq!(registration.events.iter().collect::<Vec<_>>(), [EventKind::Tx]);
    }

    #[test]
    fn event_types_must_be_known_and_not_empty() {
        let body = |types: serde_json::Value| json!({ "ownerAddress": format!("0x{}", "aa".repeat(20)), "url": "https://a.example/", "eventTypes": types });
        let registration = new_webhook(&body(json!(["removed", "token_transfer", "removed"]))).unwrap();
        let kinds: Vec<_> = registration.events.iter().collect();
        assert_eq!(kinds, [EventKind::TokenTransfer, EventKind::Removed]);
        for types in [json!([]), json!(["ping"]), json!(["TX"]), json!("tx"), json!([1]), json!({}), json!([["tx"]])] {
            let problem = new_webhook(&body(types.clone())).unwrap_err().problem();
            assert_eq!((problem.status, problem.field.as_deref()), (400, Some("eventTypes")), "{types}");
        }
    }
}
