//! Calls, and the requests that carry them.

use std::time::Duration;

use alloy_primitives::bytes::Bytes;
use tokio::time::Instant;

use crate::{endpoint::lane::Lane, rpc_method::RpcMethod};

/// A method and its parameters as JSON text.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) method: RpcMethod,
    pub(crate) params: String,
    /// None: that of the upstream.
    pub(super) lane: Option<Lane>,
    /// Timeout once sent; None: the default.
    pub(super) timeout: Option<Duration>,
    /// The longest response of a call outside the concurrency limit.
    pub(super) unlimited: Option<usize>,
    pub(super) is_sent_once: bool,
}

impl Call {
    pub(crate) fn new(method: RpcMethod, params: impl Into<String>) -> Self {
        Self { method, params: params.into(), lane: None, timeout: None, unlimited: None, is_sent_once: false }
    }

    /// Sets a timeout. Missing it does not lower the concurrency limit while the node answers other calls.
    pub(crate) fn within(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    pub(crate) fn in_lane(self, lane: Lane) -> Self {
        Self { lane: Some(lane), ..self }
    }

    /// A slow call outside the concurrency limit, with a maximum response size; the caller bounds how many are in flight.
    pub(crate) fn unlimited(self, max_bytes: usize) -> Self {
        Self { unlimited: Some(max_bytes), ..self }
    }

    /// Not sent a second time, however long the response takes.
    pub(crate) fn once(self) -> Self {
        Self { is_sent_once: true, ..self }
    }

    pub(super) fn request(&self, id: u64) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{}","params":{}}}"#, self.method, self.params)
    }
}

/// A request with one or more calls.
#[derive(Clone, Copy)]
pub(super) struct Request<'a> {
    /// The first or only call.
    pub(super) call: &'a Call,
    pub(super) calls: usize,
    pub(super) lane: Lane,
    /// Its JSON text, with this id or ids from this one on.
    pub(super) text: &'a (dyn Fn(u64) -> String + Sync),
}

/// A response, and the request to which it belongs.
pub(super) struct Answered {
    pub(super) response: Bytes,
    pub(super) first_id: u64,
    pub(super) sent: Instant,
}
