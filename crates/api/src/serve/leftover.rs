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

/// So much of a body that nobody wants is taken in. A client that writes on gets to read the answer all the same;
/// closed upon, it would find its connection reset, often before it had read a word.
const MAX_LEFTOVER: usize = 4 * 1024 * 1024;
const PATIENCE: Duration = Duration::from_secs(10);

/// The body of a request. What is left of it when it is dropped is read and thrown away, up to a bound.
pub(super) struct ReadToTheEnd {
    body: Option<Incoming>,
    /// The client waits to be told to send its body, which to read it would be: it is not told, and sends none.
    awaited: bool,
}

impl ReadToTheEnd {
    pub(super) fn new(body: Incoming, headers: &HeaderMap) -> Self {
        Self { body: Some(body), awaited: headers.contains_key(EXPECT) }
    }
}

impl Body for ReadToTheEnd {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let this = self.get_mut();
        this.awaited = false;
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

impl Drop for ReadToTheEnd {
    fn drop(&mut self) {
        let left = self.body.take().filter(|body| !body.is_end_stream() && !self.awaited);
        // Outside of a runtime there is no connection either.
        if let (Some(body), Ok(runtime)) = (left, tokio::runtime::Handle::try_current()) {
            runtime.spawn(timeout(PATIENCE, discard(body)));
        }
    }
}

async fn discard(mut body: Incoming) {
    let mut discarded = 0;
    while let Some(Ok(frame)) = body.frame().await {
        discarded += frame.data_ref().map_or(0, Bytes::len);
        if discarded > MAX_LEFTOVER {
            return;
        }
    }
}
