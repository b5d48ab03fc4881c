//! JSON-RPC errors and conversions to them.

use alloy_primitives::Bytes;
use alloy_sol_types::decode_revert_reason;
use serde::Serialize;

use crate::{ArchiveError, CallError, ReorgError, StateUnavailable, SubmitError};

/// The error object of a JSON-RPC response.
#[derive(Debug, Clone, Serialize, thiserror::Error)]
#[error("{message} ({code})")]
pub(super) struct RpcError {
    code: i64,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Bytes>,
}

impl RpcError {
    pub(super) fn parse() -> Self {
        Self::new(-32_700, "parse error")
    }

    pub(super) fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(-32_600, message)
    }

    pub(super) fn method_not_found(method: &str) -> Self {
        let message = format!("the method {method} does not exist/is not available");
        Self::new(-32_601, message)
    }

    pub(super) fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(-32_602, message)
    }

    pub(super) fn server(message: impl Into<String>) -> Self {
        Self::new(-32_000, message)
    }

    fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// The format that wallets expect for reverts.
    fn reverted(output: Bytes) -> Self {
        let message = match decode_revert_reason(&output) {
            Some(reason) if !output.is_empty() => {
                let reason = reason.strip_prefix("revert: ").unwrap_or(&reason);
                format!("execution reverted: {reason}")
            }
            _ => "execution reverted".to_owned(),
        };
        Self { code: 3, message, data: Some(output) }
    }
}

impl From<StateUnavailable> for RpcError {
    fn from(error: StateUnavailable) -> Self {
        Self::server(error.to_string())
    }
}

impl From<ArchiveError> for RpcError {
    fn from(error: ArchiveError) -> Self {
        Self::server(error.to_string())
    }
}

impl From<SubmitError> for RpcError {
    fn from(error: SubmitError) -> Self {
        Self::server(error.to_string())
    }
}

impl From<ReorgError> for RpcError {
    fn from(error: ReorgError) -> Self {
        Self::invalid_params(error.to_string())
    }
}

impl From<CallError> for RpcError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Reverted(output) => Self::reverted(output),
            other => Self::server(other.to_string()),
        }
    }
}

impl From<serde_json::Error> for RpcError {
    fn from(error: serde_json::Error) -> Self {
        Self::new(-32_603, format!("cannot serialize the result: {error}"))
    }
}
