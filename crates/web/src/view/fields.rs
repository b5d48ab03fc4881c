//! Decoded arguments of calls and logs.

use contracts::{
    abi::AbiJson,
    decode::{Decoded, Field, FieldLocation},
};
use domain::Address;

use super::{AddressLink, PageNames, sanitize_name, sanitize_text};

/// Maximum length of a shown value; the raw data has the rest.
const MAX_CHARACTERS: usize = 2_000;
const PREVIEWED_FIELDS: usize = 3;

/// A decoded call or log.
pub(crate) struct DecodedView {
    pub(crate) name: String,
    pub(crate) signature: String,
    pub(crate) fields: Vec<FieldRow>,
    /// Decoded with the interface of a standard, since the contract is not verified.
    pub(crate) is_guess: bool,
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
    pub(crate) fn new(decoded: &Decoded, is_guess: bool, names: &PageNames) -> Self {
        Self {
            is_guess,
            name: sanitize_name(&decoded.name),
            signature: cut(&decoded.signature),
            fields: decoded.fields.iter().map(|field| FieldRow::new(field, names)).collect(),
        }
    }

    /// The first arguments in one line.
    pub(crate) fn preview(&self) -> String {
        let shown = self.fields.iter().take(PREVIEWED_FIELDS).map(|field| {
            let value = match &field.value {
                FieldValue::Address(link) => link.text().to_owned(),
                FieldValue::Text(text) => sanitize_name(text),
            };
            if field.name.is_empty() { value } else { format!("{} {value}", field.name) }
        });
        shown.collect::<Vec<_>>().join(", ")
    }
}

impl FieldRow {
    pub(crate) fn new(field: &Field, names: &PageNames) -> Self {
        let address = field.value.as_text().filter(|_| field.kind == "address");
        Self {
            name: sanitize_name(&field.name),
            kind: cut(&field.kind),
            note: match field.location {
                FieldLocation::Data => "",
                FieldLocation::Topic => "indexed",
                FieldLocation::HashInTopic => "indexed, hash only",
            },
            value: match address.and_then(|text| text.parse::<Address>().ok()) {
                Some(address) => FieldValue::Address(names.address(address)),
                None => FieldValue::Text(shown(&field.value)),
            },
        }
    }
}

/// Simple values as text, others as JSON.
fn shown(value: &AbiJson) -> String {
    match value.as_text() {
        Some(text) => cut(text),
        None => cut(&serde_json::to_string_pretty(value).unwrap_or_default()),
    }
}

/// Untrusted text: removes characters that change the direction of text, and limits the length.
fn cut(text: &str) -> String {
    sanitize_text(text, MAX_CHARACTERS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> AbiJson {
        AbiJson::Text(text.to_owned())
    }

    #[test]
    fn simple_values_are_text_and_others_are_json() {
        assert_eq!(shown(&text("5")), "5");
        assert_eq!(shown(&AbiJson::Bool(true)), "true");
        assert_eq!(shown(&AbiJson::List(vec![text("1"), text("2")])), "[\n  \"1\",\n  \"2\"\n]");
        let members = vec![("z".to_owned(), text("1")), ("a".to_owned(), text("2"))];
        assert_eq!(shown(&AbiJson::Object(members)), "{\n  \"z\": \"1\",\n  \"a\": \"2\"\n}");
    }

    #[test]
    fn untrusted_text_is_sanitized_and_limited() {
        assert_eq!(shown(&text("a\u{202e}b\0c\nd")), "abc\nd");
        assert_eq!(shown(&text(&"x".repeat(100_000))).chars().count(), MAX_CHARACTERS + 1);
    }
}
