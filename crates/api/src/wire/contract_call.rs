use contracts::abi::AbiJson;
use domain::Address;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};

use crate::{
    error::ApiError,
    params::{Fields, FromBody, FromQuery, Query, parse_address},
    wire::AnyCaseAddress,
};

#[derive(Debug, ToSchema, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct CallRequest {
    /// A read-only function: its name, or the full signature, such as `balanceOf(address)`, if the name is overloaded.
    #[schema(max_length = 4_096, example = "balanceOf")]
    #[param(example = "balanceOf")]
    pub(crate) function_name: String,
    /// Integers as decimal or 0x strings or numbers, bytes and addresses as 0x strings, structs as objects or lists. In a
    /// query string, the whole list as JSON.
    #[schema(value_type = Option<Vec<Value>>, example = json!(["0x95222290dd7278aa3ddd389cc1e1d165cc4bafe5"]))]
    #[param(value_type = Option<String>, example = "[\"0x95222290dd7278aa3ddd389cc1e1d165cc4bafe5\"]")]
    pub(crate) args: Vec<Box<RawValue>>,
    /// `msg.sender`; the zero address by default.
    #[schema(value_type = Option<AnyCaseAddress>)]
    #[param(value_type = Option<AnyCaseAddress>)]
    pub(crate) from: Option<Address>,
    /// The newest by default.
    #[schema(value_type = Option<u64>, maximum = 9_007_199_254_740_991_u64, example = 21_000_000)]
    #[param(value_type = Option<usize>, minimum = 0, example = 21_000_000)]
    pub(crate) block_number: Option<u64>,
}

const NAME: &str = "functionName";
const ARGUMENTS: &str = "args";
const FROM: &str = "from";
const BLOCK: &str = "blockNumber";
/// Longer than any real function signature.
const MAX_NAME: usize = 4_096;

impl FromBody for CallRequest {
    fn from_json(json: &[u8]) -> Result<Self, ApiError> {
        Fields::read(json, |fields| {
            Ok(Self {
                function_name: name(fields.text(NAME)?)?,
                args: fields.find_raw(ARGUMENTS).map(arguments).transpose()?.unwrap_or_default(),
                from: fields.find_text(FROM)?.map(|text| parse_address(FROM, &text)).transpose()?,
                block_number: fields.find_whole_number(BLOCK)?,
            })
        })
    }
}

impl FromQuery for CallRequest {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        let function = query.find(NAME)?.ok_or(ApiError::MissingField { field: NAME })?;
        Ok(Self {
            function_name: name(function.to_owned())?,
            args: query.find(ARGUMENTS)?.map(arguments).transpose()?.unwrap_or_default(),
            from: query.find(FROM)?.map(|text| parse_address(FROM, text)).transpose()?,
            block_number: query.find_whole_number(BLOCK)?,
        })
    }
}

fn name(text: String) -> Result<String, ApiError> {
    if text.chars().count() <= MAX_NAME {
        return Ok(text);
    }
    Err(ApiError::InvalidParameter { field: NAME, rule: "must not have more than 4096 characters" })
}

fn arguments(text: &str) -> Result<Vec<Box<RawValue>>, ApiError> {
    serde_json::from_str(text).map_err(|_| ApiError::InvalidParameter { field: ARGUMENTS, rule: "must be a JSON list" })
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct CallResponse {
    /// The value of a single output. Several outputs are an object in the order of their declaration, each by index and, if it has a
    /// name, by name; members of structs are by name, or without one by index. Integers are decimal strings.
    #[schema(required = true, value_type = Value, example = "1000000000000000000")]
    pub result: AbiJson,
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENDER: &str = "0x95222290DD7278Aa3Ddd389Cc1E1d165CC4BAfe5";

    #[test]
    fn body_and_query_string_are_parsed_alike() {
        let number = "115792089237316195423570985008687907853269984665640564039457584007913129639935";
        let body = format!(
            r#"{{"functionName":"f(uint256)","args":[{number},{{"a":[]}}],"blockNumber":7,"from":"{SENDER}"}}"#
        );
        let body = CallRequest::from_json(body.as_bytes()).unwrap();
        let query =
            format!("functionName=f(uint256)&args=%5B{number},%7B%22a%22:%5B%5D%7D%5D&blockNumber=7&from={SENDER}");
        let query = Query::parse(&query).unwrap();
        let query = CallRequest::from_query(&query).unwrap();
        for request in [body, query] {
            assert_eq!((request.function_name.as_str(), request.block_number), ("f(uint256)", Some(7)));
            assert_eq!(request.from, Some(SENDER.parse().unwrap()));
            assert_eq!(request.args[0].get().len(), 78, "no digit is lost");
            assert_eq!(request.args[1].get(), r#"{"a":[]}"#);
        }
        assert!(CallRequest::from_json(br#"{"functionName":"f"}"#).unwrap().args.is_empty());
    }

    #[test]
    fn every_error_has_its_field() {
        let field = |json: &str| CallRequest::from_json(json.as_bytes()).unwrap_err().problem().field;
        assert_eq!(field("{}").as_deref(), Some("functionName"));
        assert_eq!(field(r#"{"functionName":"f","args":{}}"#).as_deref(), Some("args"));
        assert_eq!(field(r#"{"functionName":"f","blockNumber":"x"}"#).as_deref(), Some("blockNumber"));
        assert_eq!(field(r#"{"functionName":"f","from":"0x12"}"#).as_deref(), Some("from"));
        assert_eq!(field(r#"{"functionName":"f","from":5}"#).as_deref(), Some("from"));
        let query = |raw: &str| CallRequest::from_query(&Query::parse(raw).unwrap()).unwrap_err().problem().field;
        assert_eq!(query("").as_deref(), Some("functionName"));
        assert_eq!(query("functionName=f&args=1").as_deref(), Some("args"));
        assert_eq!(query("functionName=f&from=me").as_deref(), Some("from"));
        assert_eq!(query("functionName=f&blockNumber=-1").as_deref(), Some("blockNumber"));
    }
}
