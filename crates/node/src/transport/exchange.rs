use std::fmt;

use alloy_primitives::bytes::Bytes;
use futures::future::BoxFuture;

use super::TransportError;

/// A node that is reached without a connection. A simulation scripts one, so that its runs need neither sockets nor real
/// time.
pub trait Exchange: fmt::Debug + Send + Sync {
    /// Answers one request, or one batch of them, as the body of an HTTP request would be answered.
    fn exchange(&self, request: String) -> BoxFuture<'_, Result<Bytes, TransportError>>;
}
