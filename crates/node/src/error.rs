use std::time::Duration;

use alloy_primitives::Bytes;
use domain::{B256, BlockNumber, ChainIdentity};

use crate::{
    decode::ErrorObject,
    rpc_error::{RpcErrorKind, kind_of},
    rpc_method::RpcMethod,
    verify::BlockCheck,
};

pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why a request failed. No variant contains an endpoint's secrets.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    #[error("no node endpoint is configured")]
    NoEndpoint,
    #[error("cannot set up the client for {endpoint}")]
    Setup { endpoint: String, source: BoxError },
    #[error("cannot reach {endpoint}: {source}")]
    Unreachable { endpoint: String, source: BoxError },
    #[error("{endpoint} closed the connection before it answered {method}: {source}")]
    Dropped { endpoint: String, method: &'static str, source: BoxError },
    #[error("{endpoint} has not answered any request for {waited:?}, last {method}")]
    Silent { endpoint: String, method: &'static str, waited: Duration },
    #[error("{endpoint} did not answer {method} within {timeout:?}")]
    TimedOut { endpoint: String, method: &'static str, timeout: Duration },
    #[error("{endpoint} answered {method} with HTTP status {status}")]
    HttpStatus { endpoint: String, method: &'static str, status: u16 },
    #[error("{endpoint} rate-limited {method}: {message}")]
    Limited { endpoint: String, method: &'static str, message: String, retry_after: Option<Duration> },
    #[error("the node returned an error for {method}: {message} (code {code})")]
    Rpc {
        method: &'static str,
        code: i64,
        message: String,
        /// Revert data of a contract.
        data: Option<Bytes>,
    },
    #[error("the node returned an invalid response to {method}: {what}")]
    InvalidResponse { method: &'static str, what: String },
    #[error("block {number} of {host} is invalid: {check}: {what} (--verify-blocks off indexes it unchecked)")]
    InvalidBlock {
        /// Without path and credentials.
        host: String,
        number: BlockNumber,
        check: BlockCheck,
        what: String,
    },
    #[error(
        "the genesis file is of another chain, or not complete: its accounts do not have the state root {root} of block 0"
    )]
    OtherGenesis { root: B256 },
    #[error("{endpoint} serves another chain: expected {expected}, found {found}")]
    WrongChain { endpoint: String, expected: ChainIdentity, found: ChainIdentity },
    #[error("{endpoint} serves another chain with the same genesis: expected block {number} {expected}, found {found}")]
    WrongBlock { endpoint: String, number: BlockNumber, expected: B256, found: B256 },
}

/// How to react to an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recovery {
    /// Retry, on the same endpoint after a backoff.
    Retry,
    /// Try another endpoint; this one would return the same.
    TryElsewhere,
    /// Retrying would not help.
    GiveUp,
}

impl NodeError {
    /// Whether the node does not have the block or its state (any more).
    #[must_use]
    pub fn lacks_state(&self) -> bool {
        self.rpc_kind() == Some(RpcErrorKind::StateGone)
    }

    /// Whether the same call may succeed later without intervention: the node is down, slow or busy, or its response was
    /// invalid.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.recovery() == Recovery::Retry
    }

    /// What happened, without the name of an endpoint or a text of the node: anyone may read it.
    #[must_use]
    pub fn in_public(&self) -> String {
        match self {
            Self::NoEndpoint | Self::Setup { .. } => "no node endpoint can be used".to_owned(),
            Self::Unreachable { .. } | Self::Silent { .. } => "the node does not respond".to_owned(),
            Self::Dropped { method, .. } => format!("the node closed the connection before it answered {method}"),
            Self::TimedOut { method, .. } => format!("the node did not answer {method} in time"),
            Self::HttpStatus { method, status, .. } => format!("the node answered {method} with HTTP status {status}"),
            Self::Limited { method, .. } => format!("the node limits the rate of {method}"),
            Self::Rpc { method, code, .. } => format!("the node returned an error for {method} (code {code})"),
            Self::InvalidResponse { method, .. } => format!("the node returned an invalid response to {method}"),
            Self::InvalidBlock { number, check, .. } => format!("block {number} of the node is invalid: {check}"),
            Self::OtherGenesis { .. } => "the genesis file of the operator is of another chain".to_owned(),
            Self::WrongChain { .. } | Self::WrongBlock { .. } => "the node serves another chain".to_owned(),
        }
    }

    pub(crate) fn recovery(&self) -> Recovery {
        match self {
            Self::Unreachable { .. }
            | Self::Dropped { .. }
            | Self::Silent { .. }
            | Self::TimedOut { .. }
            | Self::Limited { .. }
            | Self::InvalidResponse { .. }
            | Self::InvalidBlock { .. } => Recovery::Retry,
            Self::HttpStatus { status, .. } if *status >= 500 || *status == 408 => Recovery::Retry,
            Self::HttpStatus { .. } | Self::WrongChain { .. } | Self::WrongBlock { .. } => Recovery::TryElsewhere,
            Self::Rpc { .. } => match self.rpc_kind() {
                Some(RpcErrorKind::Transient | RpcErrorKind::Limited | RpcErrorKind::BatchRefused) => Recovery::Retry,
                Some(RpcErrorKind::MethodMissing | RpcErrorKind::StateGone) => Recovery::TryElsewhere,
                Some(RpcErrorKind::Execution | RpcErrorKind::InvalidParams | RpcErrorKind::Fatal) | None => {
                    Recovery::GiveUp
                }
            },
            Self::NoEndpoint | Self::Setup { .. } | Self::OtherGenesis { .. } => Recovery::GiveUp,
        }
    }

    /// None if this is not a JSON-RPC error.
    pub(crate) fn rpc_kind(&self) -> Option<RpcErrorKind> {
        match self {
            Self::Rpc { code, message, .. } => {
                Some(kind_of(&ErrorObject { code: *code, message: message.clone(), data: None }))
            }
            _ => None,
        }
    }

    /// Whether the endpoint does not offer the method to this client. Gateways report that by HTTP status.
    #[must_use]
    pub fn lacks_method(&self) -> bool {
        match self {
            Self::HttpStatus { status, .. } => matches!(status, 403 | 404 | 405 | 501),
            error => matches!(error.rpc_kind(), Some(RpcErrorKind::MethodMissing | RpcErrorKind::InvalidParams)),
        }
    }

    pub(crate) fn invalid_response(method: RpcMethod, what: impl ToString) -> Self {
        Self::InvalidResponse { method: method.name(), what: what.to_string() }
    }
}
