use std::time::Duration;

use askama::Template;
use axum::{
    http::{StatusCode, header::RETRY_AFTER},
    response::{Html, IntoResponse, Response},
};
use store::StoreError;

use crate::assets::STYLE;

/// Why a page cannot be shown. The cause is logged, not shown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PageError {
    #[error("the index cannot be read")]
    Store(#[from] StoreError),
    #[error("the page cannot be rendered")]
    Render(#[from] askama::Error),
}

#[derive(Template)]
#[template(path = "internal_error.html")]
struct InternalError {
    style: &'static str,
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let error: &dyn std::error::Error = &self;
        tracing::error!(error, "cannot show a page");
        internal_error()
    }
}

/// The error page, which needs neither the store nor the node.
pub(crate) fn internal_error() -> Response {
    let body =
        InternalError { style: &STYLE.path }.render().unwrap_or_else(|_| "The page cannot be shown now.".to_owned());
    (StatusCode::INTERNAL_SERVER_ERROR, Html(body)).into_response()
}

#[derive(Template)]
#[template(path = "too_many_pages.html")]
struct TooManyPages {
    style: &'static str,
    seconds: u64,
}

/// The response to a client above the limit of pages.
pub(crate) fn too_many_pages(wait: Duration) -> Response {
    let seconds = wait.as_secs() + 1;
    let body = TooManyPages { style: &STYLE.path, seconds }.render();
    let body = body.unwrap_or_else(|_| format!("Too many requests from your address: try again in {seconds} s."));
    (StatusCode::TOO_MANY_REQUESTS, [(RETRY_AFTER, seconds.to_string())], Html(body)).into_response()
}
