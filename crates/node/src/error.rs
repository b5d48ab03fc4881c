use std::time::Duration;

use alloy_primitives::Bytes;
use domain::{BlockNumber, ChainIdentity};

use crate::{
    BlockCheck,
    decode::ErrorObject,
    rpc_error::{RpcErrorKind, kind_of},
};

pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why the node did not tell what was asked. No variant carries an endpoint's secrets.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NodeError {
    #[error("no endpoint of a node is configured")]
    NoEndpoint,
    #[error("the client for {endpoint} cannot be set up")]
    Setup { endpoint: String, source: BoxError },
    #[error("{endpoint} cannot be reached: {source}")]
    Unreachable { endpoint: String, source: BoxError },
    #[error("{endpoint} closed the connection in place of an answer to {method}: {source}")]
    Dropped { endpoint: String, method: &'static str, source: BoxError },
    #[error("{endpoint} has been silent for {waited:?}: it answered neither {method} nor anything else")]
    Silent { endpoint: String, method: &'static str, waited: Duration },
    #[error("{endpoint} did not answer {method} within {timeout:?}")]
    TimedOut { endpoint: String, method: &'static str, timeout: Duration },
    #[error("{endpoint} answered {method} with HTTP status {status}")]
    HttpStatus { endpoint: String, method: &'static str, status: u16 },
    #[error("{endpoint} wants fewer requests, it said to {method}: {message}")]
    Limited { endpoint: String, method: &'static str, message: String, retry_after: Option<Duration> },
    #[error("the node refused {method}: {message} (code {code})")]
    Rpc {
        method: &'static str,
        code: i64,
        message: String,
        /// What a contract gave as it reverted.
        data: Option<Bytes>,
    },
    #[error("the node's answer to {method} is not to be believed: {what}")]
    BadAnswer { method: &'static str, what: String },
    #[error("block {number} of {host} is invalid: {check}: {what} (--verify-blocks off indexes it unchecked)")]
    InvalidBlock {
        /// Without path and credentials.
        host: String,
        number: BlockNumber,
        check: BlockCheck,
        what: String,
    },
    #[error("{endpoint} serves another chain: expected {expected:?}, found {found:?}")]
    WrongChain { endpoint: String, expected: ChainIdentity, found: ChainIdentity },
}

/// What to do about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// Ask again, after a pause if it must be the same endpoint.
    AskAgain,
    /// Ask another endpoint; this one will not say anything else.
    AskElsewhere,
    /// Asking again would not help.
    GiveUp,
}

impl NodeError {
    /// Whether the same call may succeed later without anything being mended: the node is down, slow or busy, or its
    /// answer did not stand the checks.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.remedy() == Remedy::AskAgain
    }

    pub(crate) fn remedy(&self) -> Remedy {
        match self {
            Self::Unreachable { .. }
            | Self::Dropped { .. }
            | Self::Silent { .. }
            | Self::TimedOut { .. }
            | Self::Limited { .. }
            | Self::BadAnswer { .. }
            | Self::InvalidBlock { .. } => Remedy::AskAgain,
            Self::HttpStatus { status, .. } if *status >= 500 || *status == 408 => Remedy::AskAgain,
            Self::HttpStatus { .. } | Self::WrongChain { .. } => Remedy::AskElsewhere,
            Self::Rpc { .. } => match self.rpc_kind() {
                Some(RpcErrorKind::Passing | RpcErrorKind::Limited | RpcErrorKind::BatchRefused) => Remedy::AskAgain,
                Some(RpcErrorKind::MethodMissing | RpcErrorKind::StateGone) => Remedy::AskElsewhere,
                _ => Remedy::GiveUp,
            },
            Self::NoEndpoint | Self::Setup { .. } => Remedy::GiveUp,
        }
    }

    /// None where the node did not say anything that is an error of JSON-RPC.
    pub(crate) fn rpc_kind(&self) -> Option<RpcErrorKind> {
        match self {
            Self::Rpc { code, message, .. } => {
                Some(kind_of(&ErrorObject { code: *code, message: message.clone(), data: None }))
            }
            _ => None,
        }
    }

    /// Whether the endpoint does not offer the method, or not to us. Gateways say so by a status.
    pub(crate) fn lacks_method(&self) -> bool {
        match self {
            Self::HttpStatus { status, .. } => matches!(status, 403 | 404 | 405 | 501),
            error => matches!(error.rpc_kind(), Some(RpcErrorKind::MethodMissing | RpcErrorKind::InvalidParams)),
        }
    }

    pub(crate) fn bad_answer(method: &'static str, what: impl ToString) -> Self {
        Self::BadAnswer { method, what: what.to_string() }
    }
}
