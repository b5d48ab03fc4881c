use askama::Template;
use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};

use crate::{
    error::PageError,
    frame::{Frame, Section, page},
    state::{App, WebState},
};

#[derive(Template)]
#[template(path = "not_found.html")]
struct NotFound {
    frame: Frame,
    what: String,
    advice: String,
}

impl WebState {
    /// A 404 page with advice.
    pub(super) async fn not_found(&self, what: &str, advice: impl Into<String>) -> Result<Response, PageError> {
        let frame = self.frame(what, Section::None).await;
        let body = page(&NotFound { frame, what: what.to_owned(), advice: advice.into() })?;
        Ok((StatusCode::NOT_FOUND, body).into_response())
    }

    pub(super) async fn not_an_address(&self) -> Result<Response, PageError> {
        self.not_found("Not an address", "An address is 0x and 40 hexadecimal digits.").await
    }

    pub(super) async fn not_a_transaction_hash(&self) -> Result<Response, PageError> {
        let advice = "A transaction hash is 0x and 64 hexadecimal digits. Check that it was copied completely.";
        self.not_found("Not a transaction hash", advice).await
    }
}

pub(crate) async fn show_not_found(State(app): State<App>) -> Result<Response, PageError> {
    app.not_found("No such page", "There is no page at this URL.").await
}
