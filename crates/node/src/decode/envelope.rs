use std::any::Any;

use alloy_primitives::Bytes;
use memchr::memchr2;
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use sonic_rs::{JsonValueTrait, LazyValue};

/// Longer revert data, in hexadecimal digits, is ignored.
const MAX_REVERT_DATA: usize = 128 << 10;

/// Maximum JSON nesting. The EVM nests 1,024 calls, and a trace uses two levels for each. The parser skips values by
/// unbounded recursion: deeper responses would overflow the stack.
const MAX_DEPTH: usize = 2 * 1_024 + 32;

/// One JSON-RPC response.
#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "T: Deserialize<'de>"))]
struct Envelope<T> {
    #[serde(default = "Option::default")]
    error: Option<ErrorObject>,
    /// None: the field is missing. Some(None): null, which for a block means that the node does not have it.
    #[serde(default = "Option::default", deserialize_with = "null_as_some")]
    result: Option<Option<T>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct ErrorObject {
    #[serde(default)]
    pub(crate) code: i64,
    #[serde(default)]
    pub(crate) message: String,
    /// Revert data of a contract; other kinds of data are ignored.
    #[serde(default, deserialize_with = "revert_data")]
    pub(crate) data: Option<Bytes>,
}

/// Why a response has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ResponseError {
    /// The node returned an error.
    Rpc(ErrorObject),
    /// The response cannot be decoded.
    Unreadable(String),
}

fn null_as_some<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

impl<T> Envelope<T> {
    fn into_result(self) -> Result<Option<T>, ResponseError> {
        match (self.error, self.result) {
            (Some(error), _) => Err(ResponseError::Rpc(error)),
            (None, Some(result)) => Ok(result),
            (None, None) => Err(ResponseError::Unreadable("neither a result nor an error".to_owned())),
        }
    }
}

/// Nodes send it as hex, as text with a prefix, or inside an object.
fn revert_data<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Bytes>, D::Error> {
    let value = sonic_rs::Value::deserialize(deserializer)?;
    let text = value.as_str().or_else(|| value.get("data").and_then(|inner| inner.as_str()));
    let hex = text.map(|text| text.strip_prefix("Reverted ").unwrap_or(text)).filter(|text| text.starts_with("0x"));
    Ok(hex.filter(|hex| hex.len() <= MAX_REVERT_DATA).and_then(|hex| hex.parse().ok()))
}

/// A result whose type only the caller knows.
pub(crate) type Decoded = Box<dyn Any + Send>;

type DecodedOrNull = Result<Option<Decoded>, ResponseError>;

/// How a result becomes a value: functions, so that what sends calls is compiled once and not for each type of result.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Decoder {
    result: fn(&str) -> DecodedOrNull,
    /// Reads the response and its result in one pass; None: the result is found first.
    response: Option<fn(&[u8]) -> DecodedOrNull>,
}

impl Decoder {
    pub(crate) fn of<T: DeserializeOwned + Send + 'static>() -> Self {
        let result = |result: &str| sonic_rs::from_str::<Option<T>>(result).map(boxed).map_err(unreadable);
        Self { result, response: None }
    }

    /// For long responses of which many come: the parser is compiled for whole responses, too.
    pub(crate) fn in_one_pass<T: DeserializeOwned + Send + 'static>() -> Self {
        Self { response: Some(|response| decode::<T>(response).map(boxed)), ..Self::of::<T>() }
    }

    /// None if the result is null.
    pub(crate) fn read(self, response: &[u8]) -> DecodedOrNull {
        if let Some(decode_response) = self.response {
            return decode_response(response);
        }
        decode::<LazyValue<'_>>(response)?.map_or(Ok(None), |result| self.read_result(result.as_raw_str()))
    }

    pub(crate) fn read_result(self, result: &str) -> DecodedOrNull {
        (self.result)(result)
    }
}

fn boxed<T: Send + 'static>(value: Option<T>) -> Option<Decoded> {
    value.map(|value| Box::new(value) as Decoded)
}

/// Decodes a response; None if the result is null.
pub(crate) fn decode<'a, T: Deserialize<'a>>(response: &'a [u8]) -> Result<Option<T>, ResponseError> {
    if !is_object(response) {
        return Err(ResponseError::Unreadable("not an object".to_owned()));
    }
    let envelope: Envelope<T> = sonic_rs::from_str(readable(response)?).map_err(unreadable)?;
    envelope.into_result()
}

/// Checked before a struct is decoded: serde would also accept an array, field by field.
fn is_object(json: &[u8]) -> bool {
    json.trim_ascii_start().first() == Some(&b'{')
}

/// Validates UTF-8 and nesting before parsing: the parser does not check the values that it skips.
pub(crate) fn readable(message: &[u8]) -> Result<&str, ResponseError> {
    let text = std::str::from_utf8(message).map_err(|_| ResponseError::Unreadable("not UTF-8".to_owned()))?;
    match is_too_deep(message) {
        true => Err(ResponseError::Unreadable(format!("nested deeper than {MAX_DEPTH} levels"))),
        false => Ok(text),
    }
}

/// Most responses have too few brackets for it; for the others, strings are skipped.
fn is_too_deep(json: &[u8]) -> bool {
    if opening_brackets(json) <= MAX_DEPTH {
        return false;
    }
    let (mut rest, mut depth) = (json, 0_usize);
    while let Some((byte, behind)) = rest.split_first() {
        rest = behind;
        match byte {
            b'"' => rest = after_string(rest),
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

/// How many there are, also in strings. In a form that is compiled to a few instructions for many bytes, which a sum that is checked
/// for overflows, as in the rest of this crate, is not: it took 6% of the CPU of a backfill.
fn opening_brackets(json: &[u8]) -> usize {
    // The two differ in one bit, and no other byte has that bit apart from it.
    let is_opening = |byte: &u8| u8::from(byte | 0x20 == b'{');
    let in_part = |part: &[u8]| part.iter().map(is_opening).fold(0, u8::wrapping_add);
    json.chunks(usize::from(u8::MAX)).map(|part| usize::from(in_part(part))).sum()
}

/// The rest after the closing quote of a string.
fn after_string(mut rest: &[u8]) -> &[u8] {
    while let Some(at) = memchr2(b'"', b'\\', rest) {
        if rest.get(at) == Some(&b'"') {
            return rest.get(at + 1..).unwrap_or_default();
        }
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    &[]
}

/// The result of one call of a batch.
pub(crate) type BatchItem = Result<String, ErrorObject>;

#[derive(Deserialize)]
struct BatchResponse<'a> {
    id: Option<u64>,
    #[serde(borrow)]
    result: Option<LazyValue<'a>>,
    error: Option<ErrorObject>,
}

/// Sorts the responses of a batch into the order of its calls, whose ids start at `first_id`. Results stay JSON text.
pub(crate) fn split_batch(response: &[u8], first_id: u64, calls: usize) -> Result<Vec<BatchItem>, ResponseError> {
    if is_object(response) {
        let single = decode::<LazyValue<'_>>(response);
        return Err(single
            .err()
            .unwrap_or_else(|| ResponseError::Unreadable("a single response to a batch".to_owned())));
    }
    let responses: Vec<BatchResponse<'_>> = sonic_rs::from_str(readable(response)?).map_err(unreadable)?;
    let mut items: Vec<Option<BatchItem>> = vec![None; calls];
    for response in responses {
        let item = match response.error {
            Some(error) => Err(error),
            None => Ok(response.result.map_or_else(|| "null".to_owned(), |result| result.as_raw_str().to_owned())),
        };
        let place = response.id.and_then(|id| id.checked_sub(first_id)).and_then(|place| usize::try_from(place).ok());
        match (place.and_then(|place| items.get_mut(place)), &item) {
            (Some(slot), _) => *slot = Some(item),
            // Some nodes reject a batch with a single error without an id.
            (None, Err(error)) => return Err(ResponseError::Rpc(error.clone())),
            (None, Ok(_)) => return Err(ResponseError::Unreadable("unexpected response id".to_owned())),
        }
    }
    let items: Option<Vec<BatchItem>> = items.into_iter().collect();
    items.ok_or_else(|| ResponseError::Unreadable("a response is missing from the batch".to_owned()))
}

/// Keeps the first line: the parser's message quotes the response at length.
fn unreadable(error: sonic_rs::Error) -> ResponseError {
    ResponseError::Unreadable(error.to_string().lines().next().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Quantity;

    fn error(code: i64, message: &str) -> ErrorObject {
        ErrorObject { code, message: message.to_owned(), data: None }
    }

    #[test]
    fn a_null_result_is_valid_and_a_missing_one_is_not() {
        assert_eq!(decode::<Quantity>(br#"{"jsonrpc":"2.0","id":1,"result":null}"#), Ok(None));
        assert_eq!(decode(br#"{"id":1,"result":"0x2a"}"#), Ok(Some(Quantity(42))));
        assert!(matches!(decode::<Quantity>(br#"{"id":1}"#), Err(ResponseError::Unreadable(_))));
        assert!(matches!(decode::<Quantity>(b"<html>"), Err(ResponseError::Unreadable(_))));
        assert!(matches!(decode::<Quantity>(br#"[null,"0x1"]"#), Err(ResponseError::Unreadable(_))));
    }

    #[test]
    fn a_response_that_is_nested_too_deep_is_unreadable() {
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        for response in [
            format!(r#"{{"id":1,"result":{}}}"#, deep(200_000)),
            format!(r#"{{"id":1,"result":"0x1","other":{}}}"#, deep(200_000)),
            format!(r#"{{"id":1,"error":{{"code":3,"message":"no","data":{}}}}}"#, deep(200_000)),
            format!(r#"{{"id":1,"result":{}"#, r#"{"a":"#.repeat(200_000)),
        ] {
            assert!(matches!(decode::<Quantity>(response.as_bytes()), Err(ResponseError::Unreadable(_))));
            let batch = format!("[{response}]");
            assert!(matches!(split_batch(batch.as_bytes(), 1, 1), Err(ResponseError::Unreadable(_))));
        }
        let most = format!(r#"{{"id":1,"result":"0x1","other":{}}}"#, deep(MAX_DEPTH - 1));
        assert_eq!(decode(most.as_bytes()), Ok(Some(Quantity(1))));
        let brackets = format!(r#"{{"id":1,"other":"{}\"{}","result":"0x1"}}"#, "[".repeat(9_000), "{".repeat(9_000));
        assert_eq!(decode(brackets.as_bytes()), Ok(Some(Quantity(1))));
    }

    #[test]
    fn only_opening_brackets_count() {
        let every: Vec<u8> = (0..=u8::MAX).collect();
        assert_eq!(opening_brackets(&every), 2);
        assert_eq!(opening_brackets("[{".repeat(9_000).as_bytes()), 18_000);
    }

    #[test]
    fn invalid_utf8_is_unreadable_even_in_parts_that_are_decoded_later() {
        for response in [
            &b"{\"id\":1,\"result\":[{\"error\":\"\xff\"},{\"result\":null}]}"[..],
            b"{\"id\":1,\"other\":\"\xff\",\"result\":[]}",
        ] {
            let refused = ResponseError::Unreadable("not UTF-8".to_owned());
            assert_eq!(decode::<crate::decode::RawBlockCalls>(response), Err(refused.clone()));
            assert_eq!(split_batch(&[b"[", response, b"]"].concat(), 1, 1), Err(refused));
        }
    }

    #[test]
    fn an_error_takes_precedence_over_a_null_result() {
        let response = br#"{"id":1,"result":null,"error":{"code":-32000,"message":"no","data":{"x":1}}}"#;
        assert_eq!(decode::<Quantity>(response), Err(ResponseError::Rpc(error(-32000, "no"))));
        assert_eq!(decode(br#"{"id":1,"error":null,"result":"0x1"}"#), Ok(Some(Quantity(1))));
    }

    #[test]
    fn revert_data_is_found_in_every_known_format() {
        for data in [r#""0x08c379a0""#, r#""Reverted 0x08c379a0""#, r#"{"message":"no","data":"0x08c379a0"}"#] {
            let response = format!(r#"{{"id":1,"error":{{"code":3,"message":"execution reverted","data":{data}}}}}"#);
            let Err(ResponseError::Rpc(error)) = decode::<Quantity>(response.as_bytes()) else { panic!("{response}") };
            assert_eq!(error.data, Some(Bytes::from_static(&[0x08, 0xc3, 0x79, 0xa0])), "{response}");
        }
        for data in [r#""words""#, "5", "null", r#"{"data":[1]}"#, r#""0xzz""#] {
            let response = format!(r#"{{"id":1,"error":{{"code":3,"message":"no","data":{data}}}}}"#);
            assert_eq!(decode::<Quantity>(response.as_bytes()), Err(ResponseError::Rpc(error(3, "no"))), "{response}");
        }
    }

    #[test]
    fn a_batch_is_sorted_by_id() {
        let response =
            br#"[{"id":8,"error":{"code":1,"message":"no"}},{"id":7,"result":{"a":[1]}},{"id":9,"result":null}]"#;
        let items = split_batch(response, 7, 3).unwrap();
        assert_eq!(items, [Ok(r#"{"a":[1]}"#.to_owned()), Err(error(1, "no")), Ok("null".to_owned())]);
    }

    #[test]
    fn a_batch_with_a_missing_or_unexpected_id_is_unreadable() {
        for response in
            [r#"[{"id":7,"result":1}]"#, r#"[{"id":7,"result":1},{"id":3,"result":1}]"#, "7", r#"{"id":7,"result":1}"#]
        {
            assert!(matches!(split_batch(response.as_bytes(), 7, 2), Err(ResponseError::Unreadable(_))), "{response}");
        }
    }

    #[test]
    fn an_error_for_the_whole_batch_is_recognised() {
        for response in [
            r#"{"id":null,"error":{"code":-32600,"message":"no"}}"#,
            r#"[{"id":null,"error":{"code":-32600,"message":"no"}}]"#,
        ] {
            assert_eq!(
                split_batch(response.as_bytes(), 7, 2),
                Err(ResponseError::Rpc(error(-32600, "no"))),
                "{response}"
            );
        }
    }
}
