//! The pages, one file each.

mod address;
mod block;
mod blocks;
mod contract_tab;
mod contracts;
mod developers;
mod home;
mod job;
mod search;
mod token;
mod tokens;
mod trades;
mod transaction;
mod transactions;
mod transfers;

use std::sync::Arc;

use askama::Template;
use axum::{
    Router,
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
    routing::get,
};

use crate::{
    error::PageError,
    frame::{Frame, Section, page},
    state::WebState,
};

type App = Arc<WebState>;

pub(crate) fn router() -> Router<App> {
    Router::new()
        .route("/", get(home::show))
        .route("/blocks", get(blocks::show))
        .route("/block/{id}", get(block::show))
        .route("/transactions", get(transactions::show))
        .route("/tx/{hash}", get(transaction::show))
        .route("/tx/{hash}/input", get(transaction::show_input))
        .route("/transfers", get(transfers::show))
        .route("/address/{address}", get(address::show))
        .route("/tokens", get(tokens::show))
        .route("/token/{address}", get(token::show))
        .route("/trades", get(trades::show))
        .route("/contracts", get(contracts::show))
        .route("/verify", get(contracts::show_form))
        .route("/keys", get(developers::show_keys))
        .route("/webhooks", get(developers::show_webhooks))
        .route("/search", get(search::show))
        .route("/search/suggest", get(search::suggest))
        .route("/verify-ui/jobs/{id}", get(job::show))
        // URLs of other explorers, and of the API without its prefix.
        .route(
            "/repo-ui/{chain}/{address}",
            get(async |Path((_, address)): Path<(String, String)>| {
                Redirect::temporary(&format!("/address/{}?tab=contract#code", alphanumeric(&address)))
            }),
        )
        .route("/txs", get(async || Redirect::permanent("/transactions")))
        .route(
            "/blocks/{id}",
            get(async |Path(id): Path<String>| Redirect::permanent(&format!("/block/{}", alphanumeric(&id)))),
        )
        .route(
            "/transactions/{hash}",
            get(async |Path(hash): Path<String>| Redirect::permanent(&format!("/tx/{}", alphanumeric(&hash)))),
        )
        .route(
            "/addresses/{address}",
            get(async |Path(address): Path<String>| {
                Redirect::permanent(&format!("/address/{}", alphanumeric(&address)))
            }),
        )
        .route(
            "/tokens/{address}",
            get(async |Path(address): Path<String>| Redirect::permanent(&format!("/token/{}", alphanumeric(&address)))),
        )
}

/// Keeps only characters of numbers, hashes and addresses, which are safe in a `Location` header.
fn alphanumeric(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).take(66).collect()
}

#[derive(Template)]
#[template(path = "not_found.html")]
struct NotFound {
    frame: Frame,
    what: String,
    advice: String,
}

impl WebState {
    /// A 404 page with advice.
    fn not_found(&self, what: &str, advice: impl Into<String>) -> Result<Response, PageError> {
        let frame = self.frame(what, Section::None);
        let body = page(&NotFound { frame, what: what.to_owned(), advice: advice.into() })?;
        Ok((StatusCode::NOT_FOUND, body).into_response())
    }
}

pub(crate) async fn show_not_found(State(app): State<App>) -> Result<Response, PageError> {
    app.not_found("No such page", "There is no page at this URL.")
}
