use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Instant,
};

use admission::LimitDecision;
use axum::{
    Router,
    body::Body,
    extract::Request,
    http::{Extensions, HeaderMap, HeaderValue, StatusCode, Version, header},
    response::{IntoResponse, Response},
};
use tower::{Layer, Service, ServiceExt};
use tower_http::{
    CompressionLevel,
    catch_panic::{CatchPanic, CatchPanicLayer},
    compression::{
        Compression, CompressionLayer, DefaultPredicate,
        predicate::{And, Predicate},
    },
};
use tracing::Instrument;

use super::{
    admission::{Admission, Checked},
    conditional, deadline,
    dialect_rules::DialectRules,
    indexed_block::IndexedBlock,
    panic::PanicResponse,
    request_id::RequestId,
    url_length,
};
use crate::{
    error::ApiError,
    response_cache::{CachedRequest, MinBlock, ResponseCache},
};

const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");

type MayBeCompressed = fn(StatusCode, Version, &HeaderMap, &Extensions) -> bool;
type Inner = Compression<CatchPanic<Router, PanicResponse>, And<DefaultPredicate, MayBeCompressed>>;

/// The whole path of a request: admission, response cache, router. One service instead of several layers, since axum boxes
/// and clones each layer for every request, which costs more than most of these steps.
#[derive(Clone)]
pub(super) struct Front(Arc<Parts>);

struct Parts {
    admission: Arc<Admission>,
    cache: ResponseCache,
    dialects: Vec<DialectRules>,
    indexed_block: IndexedBlock,
    inner: Inner,
}

impl Front {
    pub(super) fn new(
        router: Router,
        admission: Arc<Admission>,
        cache: ResponseCache,
        dialects: Vec<DialectRules>,
        indexed_block: IndexedBlock,
    ) -> Self {
        // Innermost, so that the response to a panic gets the same headers and log line as any other.
        let catch_panic = CatchPanicLayer::custom(PanicResponse);
        // Bodies are small and most are sent once: higher levels take longer and save little more (decision 115).
        let may_be_compressed: MayBeCompressed = static_document::may_be_compressed;
        let compression = CompressionLayer::new()
            .quality(CompressionLevel::Precise(2))
            .compress_when(DefaultPredicate::new().and(may_be_compressed));
        let inner = compression.layer(catch_panic.layer(router));
        Self(Arc::new(Parts { admission, cache, dialects, indexed_block, inner }))
    }
}

impl Parts {
    async fn respond(&self, mut request: Request, id: RequestId) -> Response {
        let started = Instant::now();
        let dialect = self.dialects.iter().find(|dialect| (dialect.owns)(request.uri().path()));
        let conditions = conditional::IfNoneMatch::of(&request);
        let Checked { rejection, limits } = self.admission.check(&mut request, dialect).await;
        let (mut response, surcharge) = match rejection {
            Some(error) => (error.into_response(), None),
            None => self.answer(request, dialect.is_some()).await,
        };
        let limits = limits.map(|limits| surcharge.map_or(limits, |surcharge| surcharge.after(limits.cost)));
        if let Some(dialect) = dialect {
            response = dialect.translate(response);
        }
        conditions.apply(&mut response);
        // Errors get these headers too.
        let headers = response.headers_mut();
        if let Some(limits) = limits {
            limits.write_headers(headers, unix_time::now());
        }
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF);
        id.write_header(headers);
        tracing::debug!(status = response.status().as_u16(), elapsed = ?started.elapsed(), "response sent");
        response
    }

    /// The response, and what its handler charged beyond the price of its route.
    async fn answer(&self, request: Request, is_dialect: bool) -> (Response, Option<LimitDecision>) {
        let is_of_index = is_dialect || self.indexed_block.is_read_at(request.uri().path());
        let min_block = match is_of_index {
            true => self.indexed_block.wait_for_requested(request.headers()).await,
            false => Ok(MinBlock::ANY),
        };
        let mut surcharge = None;
        let render = async |CachedRequest(request)| {
            let mut response = self.render(request).await;
            surcharge = response.extensions_mut().remove::<LimitDecision>();
            if is_of_index {
                self.indexed_block.write_header(response.headers_mut()).await;
            }
            response
        };
        let response = match min_block {
            Ok(min_block) => self.cache.get_or_render(CachedRequest(request), min_block, render).await,
            Err(error) => error.into_response(),
        };
        (response, surcharge)
    }

    async fn render(&self, request: Request) -> Response {
        if url_length::is_too_long(&request) {
            return ApiError::UriTooLong.into_response();
        }
        let deadline = deadline::of(&request);
        match tokio::time::timeout(deadline, self.inner.clone().oneshot(request)).await {
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
        Box::pin(async move { Ok(parts.respond(request, id).await) }.instrument(span))
    }
}
