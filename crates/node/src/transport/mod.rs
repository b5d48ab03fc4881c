//! How a request gets to the node and its answer back, whatever it says.

mod bodies;
mod exchange;
mod http;
mod ipc;
mod link;
mod socket;
mod ws;

use std::{sync::Arc, time::Duration};

use alloy_primitives::bytes::Bytes;
use domain::BlockRef;
use tokio::sync::watch;

use crate::{Endpoint, NodeConfig, NodeError, error::BoxError};
pub use exchange::Exchange;
use http::Http;
use socket::Socket;

#[derive(Debug)]
pub(crate) enum Transport {
    Http(Http),
    /// WebSocket and IPC: one connection that carries all requests at once, and announcements.
    Socket(Socket),
    /// No connection at all: a simulated node.
    InProcess(Arc<dyn Exchange>),
}

/// Why no answer came.
#[derive(Debug)]
pub enum TransportError {
    /// No connection could be made.
    Unreachable(BoxError),
    /// The connection ended before the answer did.
    Dropped(BoxError),
    /// An answer longer than allowed.
    TooLong,
    /// An HTTP status other than success.
    Status { status: u16, retry_after: Option<Duration>, body: Bytes },
}

impl Transport {
    pub(crate) fn new(endpoint: &Endpoint, config: &NodeConfig) -> Result<Self, NodeError> {
        match endpoint {
            Endpoint::Http(url) => Http::new(url.clone(), endpoint, config).map(Self::Http),
            Endpoint::WebSocket(_) | Endpoint::Ipc(_) => Ok(Self::Socket(Socket::new(endpoint.clone(), config))),
        }
    }

    /// Sends one request, or one batch where [`Self::takes_batches`].
    pub(crate) async fn send(&self, id: u64, request: String) -> Result<Bytes, TransportError> {
        self.send_within(id, request, usize::MAX).await
    }

    /// The same, for an answer of so many bytes at most. A socket, which carries the answers to others too, is read to the
    /// length that every answer may have.
    pub(crate) async fn send_within(
        &self,
        id: u64,
        request: String,
        most_bytes: usize,
    ) -> Result<Bytes, TransportError> {
        match self {
            Self::Http(http) => http.send(request, most_bytes).await,
            Self::InProcess(node) => within(node.exchange(request).await?, most_bytes),
            Self::Socket(socket) => within(socket.send(id, request).await?, most_bytes),
        }
    }

    /// Gives up a connection that has fallen silent; the next request opens another. Over HTTP each hung request has a
    /// connection of its own, which ends with it.
    pub(crate) async fn reset(&self) {
        if let Self::Socket(socket) = self {
            socket.reset().await;
        }
    }

    /// A batch saves round trips over HTTP. On a socket many requests share a round trip anyway.
    pub(crate) fn takes_batches(&self) -> bool {
        matches!(self, Self::Http(_) | Self::InProcess(_))
    }

    /// New heads as the node announces them, until the connection ends. None over HTTP.
    pub(crate) async fn announced_heads(
        &self,
        id: u64,
    ) -> Option<Result<watch::Receiver<Option<BlockRef>>, TransportError>> {
        match self {
            Self::Http(_) | Self::InProcess(_) => None,
            Self::Socket(socket) => Some(socket.announced_heads(id).await),
        }
    }
}

fn within(answer: Bytes, most_bytes: usize) -> Result<Bytes, TransportError> {
    if answer.len() > most_bytes { Err(TransportError::TooLong) } else { Ok(answer) }
}
