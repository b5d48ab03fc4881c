//! Positional parameters of a request.

use serde::de::DeserializeOwned;
use serde_json::{Value, value::RawValue};

use super::error::RpcError;

#[derive(Debug, Default)]
pub(super) struct Params(Vec<Value>);

impl Params {
    pub(super) fn parse(raw: Option<&RawValue>) -> Result<Self, RpcError> {
        let Some(raw) = raw else {
            return Ok(Self::default());
        };
        match serde_json::from_str(raw.get()) {
            Ok(Value::Array(values)) => Ok(Self(values)),
            Ok(Value::Null) => Ok(Self::default()),
            _ => Err(RpcError::invalid_params("params must be an array")),
        }
    }

    pub(super) fn required<T: DeserializeOwned>(&mut self, index: usize, name: &str) -> Result<T, RpcError> {
        self.optional(index, name)?
            .ok_or_else(|| RpcError::invalid_params(format!("missing value for required argument {index}: {name}")))
    }

    /// `None` if the parameter is missing or null.
    pub(super) fn optional<T: DeserializeOwned>(&mut self, index: usize, name: &str) -> Result<Option<T>, RpcError> {
        match self.0.get_mut(index).map(Value::take) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => serde_json::from_value(value)
                .map(Some)
                .map_err(|error| RpcError::invalid_params(format!("invalid argument {index}, {name}: {error}"))),
        }
    }
}
