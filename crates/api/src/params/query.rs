use axum::{extract::FromRequestParts, http::request::Parts};
use domain::BlockNumber;

use super::{json::shorten, whole_number::parse_whole_number};
use crate::error::ApiError;

/// A decoded query string. Unknown parameters are ignored.
#[derive(Debug)]
pub(crate) struct Query {
    pairs: Vec<(String, String)>,
}

impl Query {
    pub(crate) fn parse(raw: &str) -> Result<Self, ApiError> {
        let pairs = raw.split('&').filter(|pair| !pair.is_empty()).map(parse_pair).collect::<Result<_, _>>()?;
        Ok(Self { pairs })
    }

    /// The value of a parameter. A repeated parameter is an error: a proxy might use the other value.
    pub(crate) fn find(&self, field: &'static str) -> Result<Option<&str>, ApiError> {
        let mut values = self.pairs.iter().filter(|(name, _)| name == field).map(|(_, value)| value.as_str());
        match (values.next(), values.next()) {
            (_, Some(_)) => Err(ApiError::RepeatedParameter { field }),
            (value, None) => Ok(value),
        }
    }

    /// False if missing.
    pub(crate) fn flag(&self, field: &'static str) -> Result<bool, ApiError> {
        match self.find(field)? {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(ApiError::InvalidParameter { field, rule: "must be true or false" }),
        }
    }

    pub(crate) fn find_whole_number(&self, field: &'static str) -> Result<Option<u64>, ApiError> {
        let rule = "must be a whole number of at least 0";
        let read = |text| parse_whole_number(text).ok_or(ApiError::InvalidParameter { field, rule });
        self.find(field)?.map(read).transpose()
    }

    /// A whole number that clients in every language can hold.
    pub(crate) fn find_block_number(&self, field: &'static str) -> Result<Option<BlockNumber>, ApiError> {
        let rule = "must be a whole number from 0 to 9223372036854775807";
        let read = |text| {
            let number = parse_whole_number(text).filter(|number| i64::try_from(*number).is_ok());
            number.ok_or(ApiError::InvalidParameter { field, rule })
        };
        self.find(field)?.map(read).transpose()
    }
}

fn parse_pair(pair: &str) -> Result<(String, String), ApiError> {
    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
    let name = decode(name).ok_or(ApiError::MalformedUrl { field: None })?;
    match decode(value) {
        Some(value) => Ok((name, value)),
        None => Err(ApiError::MalformedUrl { field: Some(shorten(&name).into_owned()) }),
    }
}

/// Decodes form encoding; None if a percent sign is not followed by two hex digits, or if the result is not UTF-8.
fn decode(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'+' => b' ',
            b'%' => hex_digit(bytes.next()?)? << 4 | hex_digit(bytes.next()?)?,
            other => other,
        });
    }
    String::from_utf8(decoded).ok()
}

fn hex_digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

/// A type that can be parsed from a query string.
pub(crate) trait FromQuery: Sized {
    fn from_query(query: &Query) -> Result<Self, ApiError>;
}

/// Extractor of query parameters.
#[derive(Debug)]
pub(crate) struct ValidQuery<T>(pub(crate) T);

impl<S: Sync, T: FromQuery> FromRequestParts<S> for ValidQuery<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let query = Query::parse(parts.uri.query().unwrap_or_default())?;
        T::from_query(&query).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_are_decoded() {
        let query = Query::parse("&a=1%202&%70age=+%c3%A9&flag&").unwrap();
        assert_eq!(query.find("a").unwrap(), Some("1 2"));
        assert_eq!(query.find("page").unwrap(), Some(" \u{e9}"));
        assert_eq!(query.find("flag").unwrap(), Some(""));
        assert_eq!(query.find("other").unwrap(), None);
    }

    #[test]
    fn an_invalid_encoding_is_rejected_by_name() {
        for raw in ["page=%", "page=%4", "page=%zz", "page=1%+2", "page=%ff", "page=%c3%28"] {
            let problem = Query::parse(raw).unwrap_err().problem();
            assert_eq!((problem.status, problem.field.as_deref()), (400, Some("page")), "{raw}");
        }
        assert_eq!(Query::parse("%=1").unwrap_err().problem().status, 400);
        let long = Query::parse(&format!("{}=%", "a".repeat(5_000))).unwrap_err().problem();
        assert_eq!(long.field.map(|field| field.len()), Some("a".repeat(64).len() + "...".len()));
    }

    #[test]
    fn only_parameters_that_are_used_must_not_repeat() {
        let query = Query::parse("utm=1&utm=2&page=1&p%61ge=2").unwrap();
        assert!(query.find("page").is_err());
        assert_eq!(query.find("limit").unwrap(), None);
    }
}
