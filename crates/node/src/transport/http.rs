use std::{sync::Arc, time::Duration};

use alloy_primitives::bytes::Bytes;
use reqwest::{
    Client,
    header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER},
};
use url::Url;

use super::{bodies::Bodies, error::TransportError};
use crate::{address::Endpoint, config::NodeConfig, error::NodeError};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// `Content-Length` is preallocated up to this size; beyond, memory grows with the bytes received.
const BELIEVED_LENGTH: usize = 8 << 20;

#[derive(Debug)]
pub(crate) struct Http {
    client: Client,
    url: Url,
    max_response_bytes: usize,
    bodies: Arc<Bodies>,
}

impl Http {
    pub(super) fn new(url: Url, endpoint: &Endpoint, config: &NodeConfig) -> Result<Self, NodeError> {
        let mut builder = Client::builder()
            .http1_only()
            .tcp_nodelay(true)
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_max_idle_per_host(config.max_concurrency)
            .redirect(reqwest::redirect::Policy::none());
        if endpoint.is_local() {
            // Locally, compression costs more than it saves, and a proxy makes no sense.
            builder = builder.no_proxy().gzip(false);
        }
        let client = builder
            .build()
            .map_err(|error| NodeError::Setup { endpoint: endpoint.to_string(), source: error.without_url().into() })?;
        Ok(Self { client, url, max_response_bytes: config.max_response_bytes, bodies: Arc::default() })
    }

    pub(super) async fn send(&self, request: String, max_bytes: usize) -> Result<Bytes, TransportError> {
        let response = self
            .client
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .body(request)
            .send()
            .await
            .map_err(connection_error)?;
        let status = response.status();
        let retry_after = retry_after(response.headers());
        let body = self.read(response, max_bytes.min(self.max_response_bytes)).await?;
        if status.is_success() {
            Ok(body)
        } else {
            Err(TransportError::Status { status: status.as_u16(), retry_after, body })
        }
    }

    async fn read(&self, mut response: reqwest::Response, max_bytes: usize) -> Result<Bytes, TransportError> {
        let declared = response.content_length().and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
        if declared > max_bytes {
            return Err(TransportError::TooLong);
        }
        let mut body = self.bodies.take(declared.min(BELIEVED_LENGTH));
        while let Some(chunk) = response.chunk().await.map_err(connection_error)? {
            if body.len() + chunk.len() > max_bytes {
                return Err(TransportError::TooLong);
            }
            body.extend(&chunk);
        }
        Ok(Bytes::from(body))
    }
}

/// The cause at the bottom says what happened ("connection refused"); the URL, which may contain a key, is omitted.
fn connection_error(error: reqwest::Error) -> TransportError {
    if error.is_connect() {
        TransportError::Unreachable(error.without_url().into())
    } else {
        TransportError::Dropped(error.without_url().into())
    }
}

/// Only seconds: nodes do not send dates.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds: f64 = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}
