//! Pages for developers: the API reference, API keys and webhooks. They call the API with a script.

use askama::Template;
use axum::{extract::State, response::Response};
use domain::EventKind;

use crate::{
    assets::{Asset, DOCS_SCRIPT, DOCS_STYLE},
    error::PageError,
    frame::{Frame, Section, page},
    server_address::ServerAddress,
    state::App,
};

#[derive(Template)]
#[template(path = "keys.html")]
struct Keys {
    frame: Frame,
    limits: String,
    server: ServerAddress,
}

#[derive(Template)]
#[template(path = "docs.html")]
struct Docs {
    frame: Frame,
    limits: String,
    style: &'static Asset,
    script: &'static Asset,
}

#[derive(Template)]
#[template(path = "webhooks.html")]
struct Webhooks {
    frame: Frame,
    event_kinds: Vec<EventKind>,
}

/// The requests come from the OpenAPI document, which a script reads.
pub(super) async fn show_docs(State(app): State<App>) -> Result<Response, PageError> {
    let description = format!("The API of {}: every request with its fields, to read and to try.", app.names.chain);
    let frame = app.frame("API reference", Section::Docs).await.described(description).at("/docs");
    page(&Docs { frame, limits: app.api_limits.to_string(), style: &DOCS_STYLE, script: &DOCS_SCRIPT })
}

pub(super) async fn show_keys(State(app): State<App>) -> Result<Response, PageError> {
    let description =
        format!("API keys for {}: create one with a signature of your wallet, for more requests.", app.names.chain);
    let frame = app.frame("API keys", Section::Keys).await.described(description).at("/keys");
    page(&Keys {
        frame,
        limits: app.api_limits.to_string(),
        server: ServerAddress::new(app.site_url.as_deref(), app.listens),
    })
}

pub(super) async fn show_webhooks(State(app): State<App>) -> Result<Response, PageError> {
    let description = format!(
        "Webhooks for {}: your server is notified of transactions and token transfers of addresses.",
        app.names.chain
    );
    let frame = app.frame("Webhooks", Section::Webhooks).await.described(description).at("/webhooks");
    page(&Webhooks { frame, event_kinds: EventKind::subscribable().collect() })
}
