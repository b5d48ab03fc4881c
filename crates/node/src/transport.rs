//! Transports: send a request and return the raw response.

mod bodies;
mod error;
mod exchange;
mod http;
mod ipc;
mod link;
mod socket;
mod ws;

use std::sync::Arc;

use alloy_primitives::bytes::Bytes;
use domain::BlockRef;
pub use error::TransportError;
pub use exchange::Exchange;
use futures::future::BoxFuture;
use http::Http;
use socket::Socket;
use tokio::sync::watch;

use crate::{address::Endpoint, config::NodeConfig, error::NodeError};

#[derive(Debug)]
pub(crate) enum Transport {
    Http(Http),
    /// WebSocket and IPC: one connection that carries all requests and subscriptions.
    Socket(Socket),
    /// A simulated node.
    InProcess(Arc<dyn Exchange>),
}

impl Transport {
    pub(crate) fn new(endpoint: &Endpoint, config: &NodeConfig) -> Result<Self, NodeError> {
        match endpoint {
            Endpoint::Http(url) => Http::new(url.clone(), endpoint, config).map(Self::Http),
            Endpoint::WebSocket(_) | Endpoint::Ipc(_) => Ok(Self::Socket(Socket::new(endpoint.clone(), config))),
        }
    }

    /// Sends one request, or one batch where [`Self::takes_batches`].
    pub(crate) fn send(&self, id: u64, request: String) -> BoxFuture<'_, Result<Bytes, TransportError>> {
        self.send_within(id, request, usize::MAX)
    }

    /// The same with a maximum response size. A socket, which also carries other responses, is read up to the general limit
    /// first.
    pub(crate) fn send_within(
        &self,
        id: u64,
        request: String,
        max_bytes: usize,
    ) -> BoxFuture<'_, Result<Bytes, TransportError>> {
        match self {
            Self::Http(http) => Box::pin(http.send(request, max_bytes)),
            Self::InProcess(node) => Box::pin(async move { within(node.exchange(request).await?, max_bytes) }),
            Self::Socket(socket) => Box::pin(async move { within(socket.send(id, request).await?, max_bytes) }),
        }
    }

    /// Closes a socket that stopped responding; the next request opens another. Over HTTP each request in flight has its
    /// own connection, which ends with it.
    pub(crate) async fn reset(&self) {
        if let Self::Socket(socket) = self {
            socket.reset().await;
        }
    }

    /// A batch saves round trips over HTTP. Socket requests are pipelined anyway.
    pub(crate) fn takes_batches(&self) -> bool {
        matches!(self, Self::Http(_) | Self::InProcess(_))
    }

    /// Subscribes to new heads until the connection ends. None over HTTP.
    pub(crate) async fn subscribe_to_heads(
        &self,
        id: u64,
    ) -> Option<Result<watch::Receiver<Option<BlockRef>>, TransportError>> {
        match self {
            Self::Http(_) | Self::InProcess(_) => None,
            Self::Socket(socket) => Some(socket.subscribe_to_heads(id).await),
        }
    }
}

fn within(response: Bytes, max_bytes: usize) -> Result<Bytes, TransportError> {
    if response.len() > max_bytes { Err(TransportError::TooLong) } else { Ok(response) }
}
