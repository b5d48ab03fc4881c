use axum::{
    extract::Request,
    middleware::Next,
    response::{IntoResponse, Response},
};

use crate::error::ApiError;

/// Path and query together, in bytes. No honest request comes near.
pub(super) const MAX_URL_BYTES: usize = 8 * 1024;

pub(super) async fn refuse_long_urls(request: Request, next: Next) -> Response {
    let length = request.uri().path_and_query().map_or(0, |url| url.as_str().len());
    if length > MAX_URL_BYTES {
        return ApiError::UriTooLong.into_response();
    }
    next.run(request).await
}
