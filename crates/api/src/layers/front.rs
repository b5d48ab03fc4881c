use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Instant,
};

use axum::{
    Router,
    body::Body,
    extract::Request,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use tower::{Layer, Service, ServiceExt};
use tower_http::{
    CompressionLevel,
    catch_panic::{CatchPanic, CatchPanicLayer},
    compression::{Compression, CompressionLayer},
};
use tracing::Instrument;

use super::{
    Admission, admission::Admitted, conditional, deadline, panic::AnswerPanic, request_id::RequestId, url_length,
};
use crate::{
    clock::unix_now,
    error::ApiError,
    kept_answers::{Asked, KeptAnswers},
};

const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");

type Inside = Compression<CatchPanic<Router, AnswerPanic>>;

/// The way of every request, in one piece: who asks, whether it is kept, and else the router. In one piece since each
/// layer of a router is boxed and cloned for every request, which costs more than most of what these do.
#[derive(Clone)]
pub(super) struct Front(Arc<Parts>);

struct Parts {
    admission: Arc<Admission>,
    answers: KeptAnswers,
    inside: Inside,
}

impl Front {
    pub(super) fn new(router: Router, admission: Arc<Admission>, answers: KeptAnswers) -> Self {
        // A panic is caught inside of all else, so that a page and a log can make sense of its answer too.
        let catching = CatchPanicLayer::custom(AnswerPanic);
        // Bodies are small, and most are made for one request: the quickest level saves most of the bytes at little cost.
        let packing = CompressionLayer::new().quality(CompressionLevel::Fastest);
        Self(Arc::new(Parts { admission, answers, inside: packing.layer(catching.layer(router)) }))
    }
}

impl Parts {
    async fn answer(&self, mut request: Request, id: RequestId) -> Response {
        let started = Instant::now();
        let known = conditional::Known::of(&request);
        let Admitted { refusal, standing } = self.admission.admit(&mut request).await;
        let mut response = match refusal {
            Some(error) => error.into_response(),
            None => self.answers.tell_or_make(Asked(request), async |Asked(request)| self.make(request).await).await,
        };
        known.spare_body(&mut response);
        // Said of a failure and of a refusal too: how the caller stands, and under which name it is in the log.
        let headers = response.headers_mut();
        if let Some(standing) = standing {
            standing.write_headers(headers, unix_now());
        }
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF);
        id.write_header(headers);
        tracing::debug!(status = response.status().as_u16(), elapsed = ?started.elapsed(), "answered");
        response
    }

    async fn make(&self, request: Request) -> Response {
        if url_length::is_too_long(&request) {
            return ApiError::UriTooLong.into_response();
        }
        let deadline = deadline::of(&request);
        match tokio::time::timeout(deadline, self.inside.clone().oneshot(request)).await {
            Ok(Ok(response)) => response.map(Body::new),
            Ok(Err(never)) => match never {},
            Err(_) => ApiError::DeadlineExceeded.into_response(),
        }
    }
}

impl Service<Request> for Front {
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let parts = Arc::clone(&self.0);
        let id = RequestId::of(request.headers());
        let span = id.span(&request);
        Box::pin(async move { Ok(parts.answer(request, id).await) }.instrument(span))
    }
}
