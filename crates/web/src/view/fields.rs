//! Decoded arguments of calls and members of logs.

use contracts::decode::{Decoded, Field, Place};
use domain::Address;
use serde_json::Value;

use super::{AddressLink, tame, visible};
use crate::names::Names;

/// Characters of a value that a page shows; the raw data has the rest.
const SHOWN: usize = 2_000;

/// A call or a log in words.
pub(crate) struct DecodedView {
    pub(crate) name: String,
    pub(crate) signature: String,
    pub(crate) fields: Vec<FieldRow>,
}

pub(crate) struct FieldRow {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) note: &'static str,
    pub(crate) value: FieldValue,
}

pub(crate) enum FieldValue {
    Address(AddressLink),
    Text(String),
}

impl DecodedView {
    pub(crate) fn new(decoded: &Decoded, names: &Names) -> Self {
        Self {
            name: tame(&decoded.name),
            signature: cut(&decoded.signature),
            fields: decoded.fields.iter().map(|field| FieldRow::new(field, names)).collect(),
        }
    }
}

impl FieldRow {
    pub(crate) fn new(field: &Field, names: &Names) -> Self {
        let address = field.value.as_str().filter(|_| field.kind == "address");
        Self {
            name: tame(&field.name),
            kind: cut(&field.kind),
            note: match field.place {
                Place::Data => "",
                Place::Topic => "indexed",
                Place::HashInTopic => "indexed, hash only",
            },
            value: match address.and_then(|text| text.parse::<Address>().ok()) {
                Some(address) => FieldValue::Address(names.address(address)),
                None => FieldValue::Text(shown(&field.value)),
            },
        }
    }
}

/// Plain values as they are, others as JSON.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => cut(text),
        Value::Array(_) | Value::Object(_) => cut(&serde_json::to_string_pretty(value).unwrap_or_default()),
        other => other.to_string(),
    }
}

/// Strangers chose it: nothing in it may turn the direction of writing, and it must have an end.
fn cut(text: &str) -> String {
    visible(text, SHOWN)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn plain_values_stand_for_themselves_and_others_are_json() {
        assert_eq!(shown(&json!("5")), "5");
        assert_eq!(shown(&json!(true)), "true");
        assert_eq!(shown(&json!(["1", "2"])), "[\n  \"1\",\n  \"2\"\n]");
    }

    #[test]
    fn a_text_on_the_chain_cannot_turn_or_flood_the_page() {
        assert_eq!(shown(&json!("a\u{202e}b\0c\nd")), "abc\nd");
        assert_eq!(shown(&json!("x".repeat(100_000))).chars().count(), SHOWN + 1);
    }
}
