use std::{sync::Arc, time::Duration};

use alloy_primitives::bytes::Bytes;
use domain::BlockRef;
use tokio::{
    sync::{Mutex, watch},
    time::Instant,
};

use super::{error::TransportError, ipc, link::Link, ws};
use crate::{address::Endpoint, config::NodeConfig, error::BoxError};

const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// Shorter than the callers' retry pauses: a call outlasts several attempts.
const MAX_PAUSE: Duration = Duration::from_millis(500);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A connection that is opened on first use and reopened after it was closed.
#[derive(Debug)]
pub(crate) struct Socket {
    endpoint: Endpoint,
    max_response_bytes: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    link: Option<Arc<Link>>,
    failure: Option<Failure>,
}

/// The last attempt if it failed.
#[derive(Debug)]
struct Failure {
    reason: String,
    retry_at: Instant,
    pause: Duration,
}

#[derive(Debug, thiserror::Error)]
#[error("no connection within {CONNECT_TIMEOUT:?}")]
struct ConnectTimeout;

impl Socket {
    pub(super) fn new(endpoint: Endpoint, config: &NodeConfig) -> Self {
        Self { endpoint, max_response_bytes: config.max_response_bytes, state: Mutex::default() }
    }

    pub(super) async fn send(&self, id: u64, request: String) -> Result<Bytes, TransportError> {
        self.link().await?.send(id, request).await
    }

    pub(super) async fn subscribe_to_heads(
        &self,
        id: u64,
    ) -> Result<watch::Receiver<Option<BlockRef>>, TransportError> {
        self.link().await?.subscribe_to_heads(id).await
    }

    pub(super) async fn reset(&self) {
        self.state.lock().await.link = None;
    }

    /// The open connection. Fails without an attempt right after a failed one, since callers have their own backoff.
    async fn link(&self) -> Result<Arc<Link>, TransportError> {
        let mut state = self.state.lock().await;
        if let Some(link) = state.link.as_ref().filter(|link| link.is_open()) {
            return Ok(Arc::clone(link));
        }
        state.link = None;
        if let Some(failure) = state.failure.as_ref().filter(|failure| Instant::now() < failure.retry_at) {
            return Err(TransportError::Unreachable(failure.reason.clone().into()));
        }
        match self.open().await {
            Ok(link) => {
                let link = Arc::new(link);
                *state = State { link: Some(Arc::clone(&link)), failure: None };
                Ok(link)
            }
            Err(error) => {
                let pause = state.failure.as_ref().map_or(FIRST_PAUSE, |last| (last.pause * 2).min(MAX_PAUSE));
                let reason = error.to_string();
                state.failure = Some(Failure { reason, retry_at: Instant::now() + pause, pause });
                Err(TransportError::Unreachable(error))
            }
        }
    }

    async fn open(&self) -> Result<Link, BoxError> {
        let open = async {
            match &self.endpoint {
                Endpoint::Http(url) | Endpoint::WebSocket(url) => ws::open(url, self.max_response_bytes).await,
                Endpoint::Ipc(path) => ipc::open(path, self.max_response_bytes).await,
            }
        };
        tokio::time::timeout(CONNECT_TIMEOUT, open).await.map_err(|_| ConnectTimeout)?
    }
}
