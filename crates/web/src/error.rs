use askama::Template;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use store::StoreError;

use crate::assets::STYLE;

/// Why a page cannot be shown. The reader is told what to do; the cause goes to the log.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PageError {
    #[error("the index cannot be read")]
    Store(#[from] StoreError),
    #[error("the page cannot be rendered")]
    Render(#[from] askama::Error),
}

#[derive(Template)]
#[template(path = "trouble.html")]
struct Trouble {
    style: &'static str,
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let error: &dyn std::error::Error = &self;
        tracing::error!(error, "page not shown");
        trouble()
    }
}

/// A page that needs neither the store nor the node.
pub(crate) fn trouble() -> Response {
    let body = Trouble { style: &STYLE.path }.render().unwrap_or_else(|_| "The page cannot be shown now.".to_owned());
    (StatusCode::INTERNAL_SERVER_ERROR, Html(body)).into_response()
}
