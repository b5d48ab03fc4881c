//! One open connection to a node that carries many requests at once.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use alloy_primitives::bytes::Bytes;
use domain::BlockRef;
use futures::{Sink, SinkExt, Stream, StreamExt};
use serde::Deserialize;
use tokio::sync::{OnceCell, mpsc, oneshot, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::error::TransportError;
use crate::{
    decode::{RawHeader, decode, readable},
    error::BoxError,
    rpc_method::RpcMethod,
};

const OUTGOING: usize = 256;

#[derive(Debug)]
pub(super) struct Link {
    outgoing: mpsc::Sender<String>,
    waiting: Arc<Waiting>,
    heads: watch::Receiver<Option<BlockRef>>,
    subscribed: OnceCell<()>,
    closed: CancellationToken,
    _close_on_drop: DropGuard,
}

/// Requests in flight by id.
#[derive(Debug, Default)]
struct Waiting(Mutex<HashMap<u64, oneshot::Sender<Bytes>>>);

#[derive(Debug, thiserror::Error)]
#[error("the connection was closed")]
struct Closed;

#[derive(Debug, thiserror::Error)]
#[error("the node does not support subscriptions to new heads")]
struct NoSubscription;

#[derive(Deserialize)]
struct HeadNotification {
    params: NotificationParams,
}

#[derive(Deserialize)]
struct NotificationParams {
    result: RawHeader,
}

impl Link {
    /// Takes over an open connection.
    pub(super) fn over<I, O>(mut incoming: I, mut outgoing: O) -> Self
    where
        I: Stream<Item = Result<Bytes, BoxError>> + Send + Unpin + 'static,
        O: Sink<String, Error = BoxError> + Send + Unpin + 'static,
    {
        let waiting = Arc::new(Waiting::default());
        let (requests, mut requested) = mpsc::channel::<String>(OUTGOING);
        let (notify, heads) = watch::channel(None);
        let closed = CancellationToken::new();

        let end = closed.clone();
        tokio::spawn(async move {
            let write = async {
                while let Some(request) = requested.recv().await {
                    if let Err(error) = outgoing.send(request).await {
                        tracing::debug!(%error, "writing to the node failed");
                        break;
                    }
                }
            };
            end.run_until_cancelled(write).await;
            end.cancel();
        });

        let end = closed.clone();
        let answered = Arc::clone(&waiting);
        tokio::spawn(async move {
            let read = async {
                while let Some(message) = incoming.next().await {
                    match message {
                        Ok(message) => answered.route(message, &notify),
                        Err(error) => {
                            tracing::debug!(%error, "reading from the node failed");
                            break;
                        }
                    }
                }
            };
            end.run_until_cancelled(read).await;
            end.cancel();
            answered.drop_pending();
        });

        let close_on_drop = closed.clone().drop_guard();
        Self { outgoing: requests, waiting, heads, subscribed: OnceCell::new(), closed, _close_on_drop: close_on_drop }
    }

    pub(super) fn is_open(&self) -> bool {
        !self.closed.is_cancelled()
    }

    pub(super) async fn send(&self, id: u64, request: String) -> Result<Bytes, TransportError> {
        let (response, answered) = oneshot::channel();
        self.waiting.lock().insert(id, response);
        // Also when this future is dropped, so that the entry does not leak.
        let _forget = Forget { waiting: &self.waiting, id };
        self.outgoing.send(request).await.map_err(|_| closed())?;
        tokio::select! {
            response = answered => response.map_err(|_| closed()),
            () = self.closed.cancelled() => Err(closed()),
        }
    }

    /// Subscribes to new heads, once per connection.
    pub(super) async fn subscribe_to_heads(
        &self,
        id: u64,
    ) -> Result<watch::Receiver<Option<BlockRef>>, TransportError> {
        self.subscribed
            .get_or_try_init(|| async {
                let request = format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"method":"{}","params":["newHeads"]}}"#,
                    RpcMethod::Subscribe
                );
                let response = self.send(id, request).await?;
                match decode::<serde::de::IgnoredAny>(&response) {
                    Ok(Some(_)) => Ok(()),
                    _ => Err(TransportError::Unreachable(NoSubscription.into())),
                }
            })
            .await?;
        Ok(self.heads.clone())
    }
}

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<Bytes>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn drop_pending(&self) {
        self.lock().clear();
    }

    fn route(&self, message: Bytes, notify: &watch::Sender<Option<BlockRef>>) {
        let Ok(text) = readable(&message) else {
            tracing::debug!(bytes = message.len(), "ignored an unreadable message from the node");
            return;
        };
        // Reads only up to the id, which nodes write before the result; the caller decodes the rest.
        let id = sonic_rs::get_from_str(text, ["id"]).ok().and_then(|id| id.as_raw_str().parse::<u64>().ok());
        let receiver = id.and_then(|id| self.lock().remove(&id));
        if let Some(receiver) = receiver {
            let _ = receiver.send(message);
        } else if let Ok(HeadNotification { params }) = sonic_rs::from_str(text) {
            notify.send_replace(Some(BlockRef { number: params.result.number.0, hash: params.result.hash.0 }));
        } else {
            tracing::debug!(bytes = message.len(), "ignored a response without a pending request");
        }
    }
}

struct Forget<'a> {
    waiting: &'a Waiting,
    id: u64,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.waiting.lock().remove(&self.id);
    }
}

fn closed() -> TransportError {
    TransportError::Dropped(Closed.into())
}
