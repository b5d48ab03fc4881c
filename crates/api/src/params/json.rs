use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{body_error::BodyError, whole_number::parse_whole_number};

/// Unknown names are cut to this many characters in error messages.
const MAX_SHOWN_CHARACTERS: usize = 64;

/// The fields of a JSON object. Values stay text until they are used: so numbers of any size are parsed exactly, and deep
/// nesting costs nothing.
#[derive(Debug)]
pub(crate) struct JsonObject<'a> {
    /// Prepended to the names of fields in errors, such as `filter.`.
    path: &'static str,
    fields: Vec<(String, JsonValue<'a>)>,
}

/// The JSON text of a value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JsonValue<'a>(&'a str);

impl<'a> JsonObject<'a> {
    pub(crate) fn parse(json: &'a [u8]) -> Result<Self, BodyError> {
        let not_json = |error: serde_json::Error| BodyError::NotJson { reason: error.to_string() };
        let text = std::str::from_utf8(json).map_err(|_| BodyError::NotUtf8)?;
        let body: &RawValue = serde_json::from_str(text).map_err(not_json)?;
        if !body.get().starts_with('{') {
            return Err(BodyError::NotAnObject);
        }
        Self::read(body.get(), "").map_err(not_json)?.without_repetition()
    }

    /// The object in a field; `path` is the prefix of its own fields in errors.
    pub(crate) fn find_object(&self, field: &'static str, path: &'static str) -> Result<Option<Self>, BodyError> {
        let Some(JsonValue(text)) = self.find(field) else { return Ok(None) };
        let error = || BodyError::invalid(field, "must be an object");
        if !text.starts_with('{') {
            return Err(error());
        }
        Self::read(text, path).map_err(|_| error())?.without_repetition().map(Some)
    }

    fn read(text: &'a str, path: &'static str) -> Result<Self, serde_json::Error> {
        let RawFields(fields) = serde_json::from_str(text)?;
        Ok(Self { path, fields })
    }

    /// Rejects a field that is given twice: other parsers might use the other value.
    fn without_repetition(self) -> Result<Self, BodyError> {
        let mut names: Vec<&str> = self.fields.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        match names.iter().zip(names.iter().skip(1)).find(|(name, next)| name == next) {
            Some((name, _)) => Err(BodyError::Repeated { field: self.path_of(name) }),
            None => Ok(self),
        }
    }

    /// Rejects unknown fields, which are most likely misspelt.
    pub(crate) fn check_names(&self, allowed: &[&str]) -> Result<(), BodyError> {
        match self.fields.iter().find(|(name, _)| !allowed.contains(&name.as_str())) {
            Some((name, _)) => Err(BodyError::Unknown { field: self.path_of(name), allowed: allowed.join(", ") }),
            None => Ok(()),
        }
    }

    /// The value of a field. Null means the same as a missing field.
    pub(crate) fn find(&self, field: &str) -> Option<JsonValue<'a>> {
        let (_, value) = self.fields.iter().find(|(name, _)| name == field)?;
        Some(*value).filter(|JsonValue(text)| *text != "null")
    }

    /// Whether there is such a field, even if it is null.
    pub(crate) fn contains(&self, field: &str) -> bool {
        self.fields.iter().any(|(name, _)| name == field)
    }

    /// The name of a field in an error.
    pub(crate) fn path_of(&self, name: &str) -> String {
        format!("{}{}", self.path, shorten(name))
    }
}

/// A name that a client made up, short enough for an error.
pub(super) fn shorten(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(MAX_SHOWN_CHARACTERS) {
        Some((end, _)) => Cow::Owned(format!("{}...", &name[..end])),
        None => Cow::Borrowed(name),
    }
}

impl<'a> JsonValue<'a> {
    /// The JSON text itself.
    pub(crate) fn raw(self) -> &'a str {
        self.0
    }

    pub(crate) fn text(self) -> Option<String> {
        self.0.starts_with('"').then(|| serde_json::from_str(self.0).ok())?
    }

    /// A whole number in any notation: 100, 100.0 and 1e2 are equal. A number too large for 64 bits becomes the largest one.
    ///
    /// Parsed from the text, since the parser of serde_json may get the last bit of a float wrong.
    pub(crate) fn whole_number(self) -> Option<u64> {
        if let Some(number) = parse_whole_number(self.0) {
            return Some(number);
        }
        // Excludes values such as `"inf"`, which `f64` would parse.
        if !self.0.ends_with(|last: char| last.is_ascii_digit()) {
            return None;
        }
        match self.0.parse::<f64>().ok()? {
            number if number < 0.0 => None,
            number if number.is_infinite() => Some(u64::MAX),
            // Includes -0, which is not less than 0.
            number if number.fract() == 0.0 => parse_whole_number(&format!("{:.0}", number.abs())),
            _ => None,
        }
    }
}

struct RawFields<'a>(Vec<(String, JsonValue<'a>)>);

impl<'de> Deserialize<'de> for RawFields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = RawFields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
                    fields.push((name, JsonValue(value.get())));
                }
                Ok(RawFields(fields))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}
