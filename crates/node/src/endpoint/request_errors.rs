//! Errors of requests: what they mean for the limits of the endpoint, and how they are reported.

use std::{sync::atomic::Ordering, time::Duration};

use tokio::time::Instant;

use crate::{
    decode::{ErrorObject, Quantity, ResponseError, decode},
    endpoint::upstream::Upstream,
    error::NodeError,
    rpc_error::{RpcErrorKind, kind_of},
    rpc_method::RpcMethod,
    transport::TransportError,
};

impl Upstream {
    pub(super) fn silent(&self, method: RpcMethod, since: Instant) -> NodeError {
        self.counters.reachable.store(false, Ordering::Relaxed);
        NodeError::Silent { endpoint: self.name.clone(), method: method.name(), waited: since.elapsed() }
    }

    pub(super) fn timed_out(&self, method: RpcMethod, timeout: Duration) -> NodeError {
        NodeError::TimedOut { endpoint: self.name.clone(), method: method.name(), timeout }
    }

    pub(super) fn transport_error(&self, method: RpcMethod, error: TransportError, sent: Instant) -> NodeError {
        let endpoint = self.name.clone();
        if !matches!(error, TransportError::Status { .. }) {
            self.rate.failed();
        }
        match error {
            TransportError::Unreachable(source) => NodeError::Unreachable { endpoint, source },
            TransportError::Dropped(source) => NodeError::Dropped { endpoint, method: method.name(), source },
            TransportError::TooLong => NodeError::invalid_response(method, "the response is longer than allowed"),
            TransportError::Status { status: 429, retry_after, .. } => {
                self.counters.record_response();
                self.rate.refused(sent, retry_after);
                NodeError::Limited {
                    endpoint,
                    method: method.name(),
                    message: "HTTP status 429".to_owned(),
                    retry_after,
                }
            }
            // Some nodes and providers send a JSON-RPC error with an HTTP error status.
            TransportError::Status { status, retry_after, body } => match decode::<Quantity>(&body) {
                Err(ResponseError::Rpc(error)) => self.rpc_error(method, error, retry_after, sent),
                _ => {
                    self.rate.failed();
                    NodeError::HttpStatus { endpoint, method: method.name(), status }
                }
            },
        }
    }

    pub(super) fn response_error(&self, method: RpcMethod, error: ResponseError, sent: Instant) -> NodeError {
        match error {
            ResponseError::Unreadable(what) => NodeError::InvalidResponse { method: method.name(), what },
            ResponseError::Rpc(error) => self.rpc_error(method, error, None, sent),
        }
    }

    fn rpc_error(
        &self,
        method: RpcMethod,
        error: ErrorObject,
        retry_after: Option<Duration>,
        sent: Instant,
    ) -> NodeError {
        match kind_of(&error) {
            RpcErrorKind::Limited => {
                self.rate.refused(sent, retry_after);
                NodeError::Limited {
                    endpoint: self.name.clone(),
                    method: method.name(),
                    message: error.message,
                    retry_after,
                }
            }
            _ => NodeError::Rpc { method: method.name(), code: error.code, message: error.message, data: error.data },
        }
    }
}
