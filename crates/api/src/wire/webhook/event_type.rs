use std::borrow::Cow;

use domain::EventKind;
use serde::{Serialize, Serializer};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, Type},
};

/// The type of an event, by its name in messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventType(EventKind);

impl From<EventKind> for EventType {
    fn from(kind: EventKind) -> Self {
        Self(kind)
    }
}

impl Serialize for EventType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.name())
    }
}

impl ToSchema for EventType {
    fn name() -> Cow<'static, str> {
        "EventType".into()
    }
}

impl PartialSchema for EventType {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(Type::String).enum_values(Some(EventKind::ALL.map(EventKind::name))).into()
    }
}

/// The type of an event that a webhook can subscribe to.
#[derive(Debug)]
pub struct WantedEvent;

impl ToSchema for WantedEvent {
    fn name() -> Cow<'static, str> {
        "WantedEvent".into()
    }
}

impl PartialSchema for WantedEvent {
    fn schema() -> RefOr<Schema> {
        let names = EventKind::subscribable().map(EventKind::name);
        ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names)).into()
    }
}
