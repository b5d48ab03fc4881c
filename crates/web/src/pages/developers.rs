//! Pages for developers: API keys and webhooks. Their forms call the API with a script.

use askama::Template;
use axum::{extract::State, http::HeaderMap, response::Response};

use super::App;
use crate::{
    error::PageError,
    frame::{Frame, Section, page},
};

#[derive(Template)]
#[template(path = "keys.html")]
struct Keys {
    frame: Frame,
    origin: String,
}

#[derive(Template)]
#[template(path = "webhooks.html")]
struct Webhooks {
    frame: Frame,
}

pub(super) async fn show_keys(State(app): State<App>, headers: HeaderMap) -> Result<Response, PageError> {
    page(&Keys { frame: app.frame("API keys", Section::Keys).await, origin: app.server_address(&headers) })
}

pub(super) async fn show_webhooks(State(app): State<App>) -> Result<Response, PageError> {
    page(&Webhooks { frame: app.frame("Webhooks", Section::Webhooks).await })
}
