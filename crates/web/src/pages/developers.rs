//! Pages for developers: API keys and webhooks. Their forms call the API with a script.

use askama::Template;
use axum::{extract::State, http::HeaderMap, response::Response};

use crate::{
    error::PageError,
    frame::{Frame, Section, page},
    state::App,
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
    let description =
        format!("API keys for {}: create one with a signature of your wallet, for more requests.", app.names.chain);
    let frame = app.frame("API keys", Section::Keys).await.described(description).at("/keys");
    page(&Keys { frame, origin: app.server_address(&headers) })
}

pub(super) async fn show_webhooks(State(app): State<App>) -> Result<Response, PageError> {
    let description = format!(
        "Webhooks for {}: your server is notified of transactions and token transfers of addresses.",
        app.names.chain
    );
    page(&Webhooks { frame: app.frame("Webhooks", Section::Webhooks).await.described(description).at("/webhooks") })
}
