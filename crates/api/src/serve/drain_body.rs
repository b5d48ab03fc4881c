use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::Bytes,
    http::{HeaderMap, header::EXPECT},
};
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::timeout;

/// At most this much of an unread body is read and discarded: twice the longest body that is accepted. If the connection were
/// closed while the client still writes, the client would see a reset instead of the response.
const MAX_DISCARDED: usize = 16 * 1024 * 1024;
const TIMEOUT: Duration = Duration::from_secs(10);

/// The body of a request. The unread rest is discarded when it is dropped.
pub(super) struct DrainedBody {
    body: Option<Incoming>,
    /// The client waits for `100 Continue`, which reading the body would send. Without it the client sends no body.
    expects_continue: bool,
}

impl DrainedBody {
    pub(super) fn new(body: Incoming, headers: &HeaderMap) -> Self {
        Self { body: Some(body), expects_continue: headers.contains_key(EXPECT) }
    }
}

impl Body for DrainedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let this = self.get_mut();
        this.expects_continue = false;
        match &mut this.body {
            Some(body) => Pin::new(body).poll_frame(context),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map(Body::size_hint).unwrap_or_default()
    }
}

impl Drop for DrainedBody {
    fn drop(&mut self) {
        let unread = self.body.take().filter(|body| !body.is_end_stream() && !self.expects_continue);
        // Without a runtime there is no connection to drain.
        if let (Some(body), Ok(runtime)) = (unread, tokio::runtime::Handle::try_current()) {
            runtime.spawn(timeout(TIMEOUT, discard(body)));
        }
    }
}

async fn discard(mut body: Incoming) {
    let mut discarded = 0;
    while let Some(Ok(frame)) = body.frame().await {
        discarded += frame.data_ref().map_or(0, Bytes::len);
        if discarded > MAX_DISCARDED {
            return;
        }
    }
}
