use std::fmt;

use alloy_primitives::bytes::Bytes;
use futures::future::BoxFuture;

use super::error::TransportError;

/// An in-process node without a connection, for simulations that use neither sockets nor real time.
pub trait Exchange: fmt::Debug + Send + Sync {
    /// Handles one request or batch, like the body of an HTTP request.
    fn exchange(&self, request: String) -> BoxFuture<'_, Result<Bytes, TransportError>>;
}
