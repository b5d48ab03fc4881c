//! Many calls in few requests.

use futures::future::{BoxFuture, join_all, try_join_all};
use serde::de::DeserializeOwned;

use crate::{
    decode::{Decoded, Decoder, ResponseError, split_batch},
    endpoint::{
        call::{Answered, Call, Request},
        retry::{RequestError, retry_request},
        upstream::{Upstream, typed},
    },
    error::NodeError,
    rpc_error::{RpcErrorKind, kind_of},
};

type DecodedResult = Result<Option<Decoded>, NodeError>;

#[derive(Debug, thiserror::Error)]
enum BatchError {
    #[error("the node rejects batches of this size")]
    TooLarge,
    /// One error for the whole batch, which may be too large or not: nodes have no common error for that.
    #[error("the node rejected a batch: {0}")]
    Rejected(NodeError),
    #[error(transparent)]
    Failed(NodeError),
}

impl RequestError for BatchError {
    fn is_request_failure(&self) -> bool {
        match self {
            Self::TooLarge => false,
            Self::Rejected(error) | Self::Failed(error) => error.is_request_failure(),
        }
    }

    fn is_invalid_response(&self) -> bool {
        match self {
            Self::TooLarge => false,
            Self::Rejected(error) | Self::Failed(error) => error.is_invalid_response(),
        }
    }
}

impl Upstream {
    /// Many calls in as few round trips as the node allows, each with its own result.
    pub(crate) async fn call_many<T>(&self, calls: &[Call]) -> Result<Vec<Result<Option<T>, NodeError>>, NodeError>
    where
        T: DeserializeOwned + Send + 'static,
    {
        let decoded = self.call_many_decoded(calls, Decoder::of::<T>()).await?;
        Ok(calls.iter().zip(decoded).map(|(call, result)| typed(call, result?)).collect())
    }

    /// The part of many calls that does not depend on the type of their results, compiled once.
    fn call_many_decoded<'a>(
        &'a self,
        calls: &'a [Call],
        decoder: Decoder,
    ) -> BoxFuture<'a, Result<Vec<DecodedResult>, NodeError>> {
        Box::pin(self.in_batches(calls, decoder))
    }

    async fn in_batches(&self, calls: &[Call], decoder: Decoder) -> Result<Vec<DecodedResult>, NodeError> {
        loop {
            let size = self.capabilities.batch.get();
            if size <= 1 || calls.len() <= 1 || !self.transports.main.takes_batches() {
                if calls.len() > 1 {
                    self.capabilities.batch.accepted(1);
                }
                let single =
                    async |call: &Call| retry_request(self, self.lane(), |_| self.call_decoded(call, decoder)).await;
                return Ok(join_all(calls.iter().map(single)).await);
            }
            let batch = async |chunk| retry_request(self, self.lane(), |_| self.call_batch(chunk, decoder)).await;
            match try_join_all(calls.chunks(size).map(batch)).await {
                Ok(chunks) => {
                    self.capabilities.batch.accepted(size.min(calls.len()));
                    return Ok(chunks.into_iter().flatten().collect());
                }
                Err(BatchError::Failed(error)) => return Err(error),
                Err(BatchError::TooLarge | BatchError::Rejected(_)) => {
                    let smaller = self.capabilities.batch.rejected(size.min(calls.len()));
                    tracing::info!(endpoint = %self.name, calls = smaller, "the node rejected a batch, using smaller ones");
                }
            }
        }
    }

    async fn call_batch(&self, calls: &[Call], decoder: Decoder) -> Result<Vec<DecodedResult>, BatchError> {
        let Some(first) = calls.first() else { return Ok(Vec::new()) };
        let answered = self.send_batch(first, calls, decoder).await;
        match &answered {
            Ok(outcomes) => {
                calls.iter().zip(outcomes).for_each(|(call, outcome)| self.metrics.ended(call.method, outcome));
            }
            Err(BatchError::Rejected(error) | BatchError::Failed(error)) => {
                self.metrics.failed(first.method, error, calls.len());
            }
            // Sent again in smaller ones.
            Err(BatchError::TooLarge) => {}
        }
        answered
    }

    async fn send_batch(
        &self,
        first: &Call,
        calls: &[Call],
        decoder: Decoder,
    ) -> Result<Vec<DecodedResult>, BatchError> {
        let method = first.method;
        let text = |first_id: u64| {
            let requests: Vec<String> = (first_id..).zip(calls).map(|(id, call)| call.request(id)).collect();
            format!("[{}]", requests.join(","))
        };
        let request = Request { call: first, calls: calls.len(), lane: self.lane(), text: &text };
        let Answered { response, first_id, sent } = match self.send(request).await {
            Ok(answered) => answered,
            Err(error) if refuses_batch(&error) => return Err(BatchError::Rejected(error)),
            Err(error) => return Err(BatchError::Failed(error)),
        };
        let items = match split_batch(&response, first_id, calls.len()) {
            Ok(items) => items,
            Err(ResponseError::Rpc(error)) if kind_of(&error) == RpcErrorKind::Limited => {
                return Err(BatchError::Failed(self.response_error(method, ResponseError::Rpc(error), sent)));
            }
            Err(error @ ResponseError::Rpc(_)) => {
                return Err(BatchError::Rejected(self.response_error(method, error, sent)));
            }
            Err(error) => return Err(BatchError::Failed(self.response_error(method, error, sent))),
        };
        if items.iter().any(|item| item.as_ref().is_err_and(|e| kind_of(e) == RpcErrorKind::BatchRefused)) {
            return Err(BatchError::TooLarge);
        }
        self.rate.answered();
        let outcomes = calls.iter().zip(items).map(|(call, item)| {
            let result = item.map_err(ResponseError::Rpc).and_then(|result| decoder.read_result(&result));
            result.map_err(|error| self.response_error(call.method, error, sent))
        });
        Ok(outcomes.collect())
    }
}

/// Whether a node or gateway rejected a batch by its status. Missing permissions are unrelated to batches.
fn refuses_batch(error: &NodeError) -> bool {
    match error {
        NodeError::HttpStatus { status, .. } => (400..500).contains(status) && !matches!(status, 401 | 403 | 404 | 408),
        NodeError::Rpc { .. } => true,
        _ => false,
    }
}
