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

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let error: &dyn std::error::Error = &self;
        tracing::error!(error, "cannot show a page");
        internal_error()
    }
}

/// A page that needs neither the store nor the node.
#[derive(Template)]
#[template(path = "error_page.html")]
struct ErrorPage {
    style: &'static str,
    title: &'static str,
    /// For a client above its limit; None for an internal error.
    wait_seconds: Option<u64>,
}

impl ErrorPage {
    fn html(title: &'static str, wait_seconds: Option<u64>) -> Html<String> {
        Html(Self { style: &STYLE.path, title, wait_seconds }.render().unwrap_or_else(|_| title.to_owned()))
    }
}

pub(crate) fn internal_error() -> Response {
    (StatusCode::INTERNAL_SERVER_ERROR, ErrorPage::html("Something went wrong", None)).into_response()
}

/// The response to a client above the limit of pages.
pub(crate) fn too_many_pages(wait: Duration) -> Response {
    let seconds = wait.as_secs() + 1;
    let page = ErrorPage::html("Too many requests from your address", Some(seconds));
    (StatusCode::TOO_MANY_REQUESTS, [(RETRY_AFTER, seconds.to_string())], page).into_response()
}
