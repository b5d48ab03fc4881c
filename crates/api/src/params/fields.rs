use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, Visitor},
};
use serde_json::{Map, Value, value::RawValue};

use crate::error::ApiError;

/// Objects and lists within one another. Nothing that the API takes comes near.
const MAX_DEPTH: usize = 32;
/// Of a name that a client made up, so much is said back to it.
const SHOWN_NAME: usize = 64;
/// The largest whole number that every JSON reader keeps exactly.
const MAX_WHOLE_NUMBER: u64 = (1 << 53) - 1;

/// The fields of a JSON object, to be taken out one by one.
#[derive(Debug)]
pub(crate) struct Fields {
    fields: Vec<(String, Box<RawValue>)>,
    /// Names that were asked for.
    known: Vec<&'static str>,
}

impl Fields {
    /// Reads an object with the fields that the reader asks for, each once, and no others.
    pub(crate) fn read<T>(json: &[u8], reader: impl FnOnce(&mut Self) -> Result<T, ApiError>) -> Result<T, ApiError> {
        let mut fields = Self::parse(json)?;
        let value = reader(&mut fields)?;
        fields.finish()?;
        Ok(value)
    }

    fn parse(json: &[u8]) -> Result<Self, ApiError> {
        if is_too_deep(json) {
            let what = format!("the body is nested deeper than {MAX_DEPTH} levels");
            return Err(ApiError::MalformedBody { what });
        }
        let UniqueFields { fields, repeated } = serde_json::from_slice(json)
            .map_err(|error| ApiError::MalformedBody { what: format!("the body must be a JSON object: {error}") })?;
        match repeated {
            Some(field) => Err(ApiError::RepeatedField { field: shown(&field) }),
            None => Ok(Self { fields, known: Vec::new() }),
        }
    }

    /// The value of a field as it was written, so that numbers keep all their digits; null counts as none.
    pub(crate) fn find_raw(&mut self, field: &'static str) -> Option<Box<RawValue>> {
        self.known.push(field);
        let position = self.fields.iter().position(|(name, _)| name == field)?;
        let (_, value) = self.fields.swap_remove(position);
        (value.get() != "null").then_some(value)
    }

    fn find(&mut self, field: &'static str) -> Result<Option<Value>, ApiError> {
        let read = |value: Box<RawValue>| serde_json::from_str(value.get());
        let read = self.find_raw(field).map(read).transpose();
        read.map_err(|error| ApiError::InvalidParameter { field, rule: unreadable(&error) })
    }

    pub(crate) fn find_bool(&mut self, field: &'static str) -> Result<Option<bool>, ApiError> {
        match self.find(field)? {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(value)),
            Some(_) => Err(ApiError::InvalidParameter { field, rule: "must be true or false" }),
        }
    }

    pub(crate) fn find_object(&mut self, field: &'static str) -> Result<Option<Map<String, Value>>, ApiError> {
        match self.find(field)? {
            None => Ok(None),
            Some(Value::Object(value)) => Ok(Some(value)),
            Some(_) => Err(ApiError::InvalidParameter { field, rule: "must be an object" }),
        }
    }

    pub(crate) fn find_text(&mut self, field: &'static str) -> Result<Option<String>, ApiError> {
        match self.find(field)? {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(ApiError::InvalidParameter { field, rule: "must be a string" }),
        }
    }

    pub(crate) fn text(&mut self, field: &'static str) -> Result<String, ApiError> {
        self.find_text(field)?.ok_or(ApiError::MissingField { field })
    }

    pub(crate) fn find_texts(&mut self, field: &'static str) -> Result<Option<Vec<String>>, ApiError> {
        let refused = || ApiError::InvalidParameter { field, rule: "must be a list of strings" };
        let Some(value) = self.find(field)? else { return Ok(None) };
        let Value::Array(items) = value else { return Err(refused()) };
        let texts = items.into_iter().map(|item| match item {
            Value::String(text) => Ok(text),
            _ => Err(refused()),
        });
        texts.collect::<Result<_, _>>().map(Some)
    }

    /// A whole number from 0 on, as large as every JSON reader keeps exactly.
    pub(crate) fn whole_number(&mut self, field: &'static str) -> Result<u64, ApiError> {
        self.find_whole_number(field)?.ok_or(ApiError::MissingField { field })
    }

    pub(crate) fn find_whole_number(&mut self, field: &'static str) -> Result<Option<u64>, ApiError> {
        let rule = "must be a whole number from 0 to 9007199254740991";
        let read = |value: Box<RawValue>| whole_number(value.get()).ok_or(ApiError::InvalidParameter { field, rule });
        self.find_raw(field).map(read).transpose()
    }

    /// Refuses what nobody asked for: most likely a name that is misspelt.
    fn finish(self) -> Result<(), ApiError> {
        match self.fields.into_iter().next() {
            Some((field, _)) => Err(ApiError::UnknownField { field: shown(&field), known: self.known }),
            None => Ok(()),
        }
    }
}

/// Why a value that is valid JSON cannot be read. The parser has no kinds of errors, only texts.
fn unreadable(error: &serde_json::Error) -> &'static str {
    if error.to_string().starts_with("number out of range") {
        "holds a number that is too large"
    } else {
        "holds an escape sequence that is no Unicode character (a lone surrogate, \\ud800 to \\udfff)"
    }
}

/// Reads the text of a value, since a parser of JSON that is fast gets the last bit of a fraction wrong now and then:
/// then a number that is written with `.0` is not whole any more.
fn whole_number(text: &str) -> Option<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole, and between 0 and 2^53")]
    let from_float = |float: f64| (float.fract() == 0.0 && (0.0..=9.1e15).contains(&float)).then_some(float as u64);
    let number = text.parse().ok().or_else(|| text.parse().ok().and_then(from_float));
    number.filter(|number| *number <= MAX_WHOLE_NUMBER)
}

pub(super) fn shown(name: &str) -> String {
    name.chars().take(SHOWN_NAME).collect()
}

/// Looked for before anything is built from the text, however deep it goes.
fn is_too_deep(json: &[u8]) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return true;
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// An object whose names are told apart by the caller: of two alike, one reader would take the first, another the last.
struct UniqueFields {
    fields: Vec<(String, Box<RawValue>)>,
    repeated: Option<String>,
}

impl<'de> Deserialize<'de> for UniqueFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = UniqueFields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<UniqueFields, A::Error> {
                /// Far more than any route knows, and few enough to be compared with one another.
                const MOST: usize = 64;
                let mut object = UniqueFields { fields: Vec::new(), repeated: None };
                while let Some((name, value)) = map.next_entry::<String, Box<RawValue>>()? {
                    if object.fields.len() == MOST {
                        return Err(A::Error::custom("it has too many fields"));
                    }
                    if object.fields.iter().any(|(known, _)| *known == name) {
                        object.repeated.get_or_insert(name);
                    } else {
                        object.fields.push((name, value));
                    }
                }
                Ok(object)
            }
        }
        deserializer.deserialize_map(Object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(json: &str) -> Fields {
        Fields::parse(json.as_bytes()).unwrap()
    }

    fn fault(json: &str) -> (u16, Option<String>) {
        let problem = Fields::parse(json.as_bytes()).unwrap_err().problem();
        (problem.status, problem.field.map(|field| field.into_owned()))
    }

    #[test]
    fn texts_and_numbers_are_taken_and_null_is_none() {
        let mut fields =
            fields(r#"{"a":"x","b":5,"c":null,"d":1e3,"f":9007199254740991,"g":-0.0,"h":1822057916080417.0}"#);
        assert_eq!(fields.text("a").unwrap(), "x");
        assert_eq!(fields.whole_number("b").unwrap(), 5);
        assert_eq!(fields.find_text("c").unwrap(), None);
        assert_eq!(fields.whole_number("d").unwrap(), 1_000);
        assert_eq!(fields.whole_number("f").unwrap(), MAX_WHOLE_NUMBER);
        assert_eq!(fields.whole_number("g").unwrap(), 0);
        assert_eq!(fields.whole_number("h").unwrap(), 1_822_057_916_080_417);
        assert_eq!(fields.find_text("e").unwrap(), None);
        fields.finish().unwrap();
    }

    #[test]
    fn a_wrong_type_is_refused_by_name() {
        for json in [
            r#"{"n":"5"}"#,
            r#"{"n":-1}"#,
            r#"{"n":1.5}"#,
            r#"{"n":true}"#,
            r#"{"n":[]}"#,
            r#"{"n":9007199254740992}"#,
            r#"{"n":1e300}"#,
        ] {
            let problem = fields(json).whole_number("n").unwrap_err().problem();
            assert_eq!((problem.status, problem.field.as_deref()), (400, Some("n")), "{json}");
        }
        let problem = fields(r#"{"t":5}"#).text("t").unwrap_err().problem();
        assert_eq!(problem.field.as_deref(), Some("t"));
        let problem = fields("{}").text("t").unwrap_err().problem();
        assert_eq!((problem.status, problem.field.as_deref()), (400, Some("t")));
    }

    #[test]
    fn a_lone_surrogate_is_not_called_a_number() {
        let detail = |json: &str| fields(json).find_text("t").unwrap_err().problem().detail.to_string();
        let said = detail(r#"{"t":"\ud800"}"#);
        assert!(said.contains("lone surrogate") && !said.contains("number"), "{said}");
        assert!(detail(r#"{"t":1e999}"#).contains("number that is too large"));
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for json in ["", "null", "[]", "5", "\"x\"", "{", "{}x", "{\"a\":}", "\u{feff}{}"] {
            assert_eq!(fault(json), (400, None), "{json}");
        }
    }

    #[test]
    fn a_field_given_twice_is_refused_by_name() {
        assert_eq!(fault(r#"{"a":1,"b":2,"a":1}"#), (400, Some("a".to_owned())));
    }

    #[test]
    fn depth_is_bounded_and_brackets_in_strings_do_not_count() {
        let nested = |levels: usize| format!("{{\"a\":{}{}}}", "[".repeat(levels - 1), "]".repeat(levels - 1));
        assert!(Fields::parse(nested(MAX_DEPTH).as_bytes()).is_ok());
        assert_eq!(fault(&nested(MAX_DEPTH + 1)).0, 400);
        assert_eq!(fault(&"[".repeat(60_000)).0, 400);
        let harmless = format!(r#"{{"a":"{}\"{}"}}"#, "[".repeat(100), "{".repeat(100));
        assert!(Fields::parse(harmless.as_bytes()).is_ok());
    }

    #[test]
    fn a_name_that_is_said_back_is_cut() {
        let problem = fields(&format!(r#"{{"{}":1}}"#, "x".repeat(500))).finish().unwrap_err().problem();
        assert_eq!(problem.field.unwrap().len(), SHOWN_NAME);
    }
}
