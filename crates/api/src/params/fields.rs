use serde_json::{Map, Value};

use super::{
    body_error::BodyError,
    json::{JsonObject, JsonValue},
    whole_number::parse_whole_number,
};
use crate::error::ApiError;

/// Maximum nesting of objects and lists, far more than any request of the API needs.
const MAX_DEPTH: usize = 32;
/// The largest whole number that every JSON parser represents exactly.
const MAX_WHOLE_NUMBER: u64 = (1 << 53) - 1;

/// Typed access to the fields of a JSON body.
#[derive(Debug)]
pub(crate) struct Fields<'a> {
    object: JsonObject<'a>,
    /// The names that were looked up.
    known: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// Parses an object with the fields that `read` looks up, and no others.
    pub(crate) fn read<T>(json: &'a [u8], read: impl FnOnce(&mut Self) -> Result<T, ApiError>) -> Result<T, ApiError> {
        let mut fields = Self::parse(json)?;
        let value = read(&mut fields)?;
        fields.check_names()?;
        Ok(value)
    }

    fn parse(json: &'a [u8]) -> Result<Self, ApiError> {
        if is_too_deep(json) {
            return Err(BodyError::TooDeep { max: MAX_DEPTH }.into());
        }
        Ok(Self { object: JsonObject::parse(json)?, known: Vec::new() })
    }

    /// The JSON of a field.
    pub(crate) fn find_raw(&mut self, field: &'static str) -> Option<&'a str> {
        self.find_json(field).map(JsonValue::raw)
    }

    fn find_json(&mut self, field: &'static str) -> Option<JsonValue<'a>> {
        self.known.push(field);
        self.object.find(field)
    }

    fn find(&mut self, field: &'static str) -> Result<Option<Value>, ApiError> {
        let value = self.find_raw(field).map(serde_json::from_str).transpose();
        value.map_err(|error| ApiError::InvalidParameter { field, rule: unsupported_value(&error) })
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
        let error = || ApiError::InvalidParameter { field, rule: "must be a list of strings" };
        let Some(value) = self.find(field)? else { return Ok(None) };
        let Value::Array(items) = value else { return Err(error()) };
        let texts = items.into_iter().map(|item| match item {
            Value::String(text) => Ok(text),
            _ => Err(error()),
        });
        texts.collect::<Result<_, _>>().map(Some)
    }

    /// A whole number that every JSON parser represents exactly.
    pub(crate) fn find_whole_number(&mut self, field: &'static str) -> Result<Option<u64>, ApiError> {
        let rule = "must be a whole number from 0 to 9007199254740991";
        let parse = |value: JsonValue<'_>| {
            let number = value.whole_number().filter(|number| *number <= MAX_WHOLE_NUMBER);
            number.ok_or(ApiError::InvalidParameter { field, rule })
        };
        self.find_json(field).map(parse).transpose()
    }

    /// A whole number, or a string of its digits, which clients send that keep all numbers as text. An empty string is no number.
    pub(crate) fn find_digits(&mut self, field: &'static str) -> Result<Option<u64>, ApiError> {
        let rule = "must be a whole number from 0 to 9007199254740991, or a string of its digits";
        let Some(value) = self.find_json(field) else { return Ok(None) };
        let number = match value.text() {
            Some(text) if text.is_empty() => return Ok(None),
            Some(text) => parse_whole_number(&text),
            None => value.whole_number(),
        };
        let number = number.filter(|number| *number <= MAX_WHOLE_NUMBER);
        number.map(Some).ok_or(ApiError::InvalidParameter { field, rule })
    }

    /// A boolean in any form that clients send; an empty string counts as missing.
    pub(crate) fn find_flag(&mut self, field: &'static str) -> Result<Option<bool>, ApiError> {
        let Some(value) = self.find_json(field) else { return Ok(None) };
        match value.text().as_deref().unwrap_or(value.raw()) {
            "" => Ok(None),
            "1" | "true" => Ok(Some(true)),
            "0" | "false" => Ok(Some(false)),
            _ => Err(ApiError::InvalidParameter { field, rule: "must be 0 or 1" }),
        }
    }

    fn check_names(&self) -> Result<(), ApiError> {
        Ok(self.object.check_names(&self.known)?)
    }
}

/// Why valid JSON cannot be represented. serde_json has no error kinds for this, only texts.
fn unsupported_value(error: &serde_json::Error) -> &'static str {
    if error.to_string().starts_with("number out of range") {
        "contains a number that is too large"
    } else {
        "contains an escape sequence that is not a Unicode character (a lone surrogate, \\ud800 to \\udfff)"
    }
}

/// Checked before the body is parsed.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(json: &str) -> Fields<'_> {
        Fields::parse(json.as_bytes()).unwrap()
    }

    fn error(json: &str) -> (u16, Option<String>) {
        let problem = Fields::parse(json.as_bytes()).unwrap_err().problem();
        (problem.status, problem.field.map(|field| field.into_owned()))
    }

    #[test]
    fn texts_and_numbers_are_read_and_null_is_none() {
        let mut fields =
            fields(r#"{"a":"x","b":5,"c":null,"d":1e3,"f":9007199254740991,"g":-0.0,"h":1822057916080417.0}"#);
        assert_eq!(fields.text("a").unwrap(), "x");
        assert_eq!(fields.find_whole_number("b").unwrap(), Some(5));
        assert_eq!(fields.find_text("c").unwrap(), None);
        assert_eq!(fields.find_whole_number("d").unwrap(), Some(1_000));
        assert_eq!(fields.find_whole_number("f").unwrap(), Some(MAX_WHOLE_NUMBER));
        assert_eq!(fields.find_whole_number("g").unwrap(), Some(0));
        assert_eq!(fields.find_whole_number("h").unwrap(), Some(1_822_057_916_080_417));
        assert_eq!(fields.find_text("e").unwrap(), None);
        fields.check_names().unwrap();
    }

    #[test]
    fn a_value_of_the_wrong_type_is_rejected_by_name() {
        for json in [
            r#"{"n":"5"}"#,
            r#"{"n":-1}"#,
            r#"{"n":1.5}"#,
            r#"{"n":true}"#,
            r#"{"n":[]}"#,
            r#"{"n":9007199254740992}"#,
            r#"{"n":1e300}"#,
        ] {
            let problem = fields(json).find_whole_number("n").unwrap_err().problem();
            assert_eq!((problem.status, problem.field.as_deref()), (400, Some("n")), "{json}");
        }
        let problem = fields(r#"{"t":5}"#).text("t").unwrap_err().problem();
        assert_eq!(problem.field.as_deref(), Some("t"));
        let problem = fields("{}").text("t").unwrap_err().problem();
        assert_eq!((problem.status, problem.field.as_deref()), (400, Some("t")));
    }

    #[test]
    fn digits_and_flags_may_be_text() {
        let number = |value: &str| fields(&format!(r#"{{"n":{value}}}"#)).find_digits("n");
        for (value, expected) in
            [("5", Some(5)), (r#""5""#, Some(5)), ("1e3", Some(1_000)), (r#""""#, None), ("null", None)]
        {
            assert_eq!(number(value).unwrap(), expected, "{value}");
        }
        for value in
            [r#""1e3""#, r#""-1""#, r#"" 5""#, r#""0x5""#, r#""9007199254740992""#, "1.5", "true", "[]", r#""\ud800""#]
        {
            assert_eq!(number(value).unwrap_err().problem().field.as_deref(), Some("n"), "{value}");
        }
        let flag = |value: &str| fields(&format!(r#"{{"f":{value}}}"#)).find_flag("f");
        for (value, expected) in [("1", Some(true)), (r#""false""#, Some(false)), ("true", Some(true)), (r#""""#, None)]
        {
            assert_eq!(flag(value).unwrap(), expected, "{value}");
        }
        for value in ["2", r#""yes""#, "[]", "1.0", r#""\ud800""#] {
            assert_eq!(flag(value).unwrap_err().problem().field.as_deref(), Some("f"), "{value}");
        }
    }

    #[test]
    fn a_lone_surrogate_and_a_large_number_have_different_errors() {
        let detail = |json: &str| fields(json).find_text("t").unwrap_err().problem().detail.to_string();
        let surrogate = detail(r#"{"t":"\ud800"}"#);
        assert!(surrogate.contains("lone surrogate") && !surrogate.contains("number"), "{surrogate}");
        assert!(detail(r#"{"t":1e999}"#).contains("number that is too large"));
    }

    #[test]
    fn a_body_that_is_not_an_object_is_rejected() {
        for json in ["", "null", "[]", "5", "\"x\"", "{", "{}x", "{\"a\":}", "\u{feff}{}"] {
            assert_eq!(error(json), (400, None), "{json}");
        }
    }

    #[test]
    fn a_repeated_field_is_rejected_by_name() {
        assert_eq!(error(r#"{"a":1,"b":2,"a":1}"#), (400, Some("a".to_owned())));
    }

    #[test]
    fn nesting_is_limited_and_brackets_in_strings_do_not_count() {
        let nested = |levels: usize| format!("{{\"a\":{}{}}}", "[".repeat(levels - 1), "]".repeat(levels - 1));
        assert!(Fields::parse(nested(MAX_DEPTH).as_bytes()).is_ok());
        assert_eq!(error(&nested(MAX_DEPTH + 1)).0, 400);
        assert_eq!(error(&"[".repeat(60_000)).0, 400);
        let harmless = format!(r#"{{"a":"{}\"{}"}}"#, "[".repeat(100), "{".repeat(100));
        assert!(Fields::parse(harmless.as_bytes()).is_ok());
    }

    #[test]
    fn long_unknown_names_are_cut_in_errors() {
        let json = format!(r#"{{"{}":1}}"#, "x".repeat(500));
        let problem = fields(&json).check_names().unwrap_err().problem();
        assert_eq!(problem.field.unwrap(), format!("{}...", "x".repeat(64)));
    }
}
