//! The pages, one file each.

mod accounts;
mod address;
mod approvals;
mod balance_tab;
mod block;
mod blocks;
mod call_tree;
mod calls;
mod charts;
mod contract_tab;
mod contracts;
mod developers;
mod gas;
mod holder_shares;
mod home;
mod job;
mod nft;
mod nft_metadata;
mod pending;
mod search;
mod sitemap;
mod state_changes;
mod token;
mod tokens;
mod trades;
mod transaction;
mod transactions;
mod transfers;
mod verify;

use std::sync::Arc;

use askama::Template;
use axum::{
    Router,
    extract::{DefaultBodyLimit, Path, RawQuery, State},
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
    routing::{get, post},
};

use crate::{
    error::PageError,
    frame::{Frame, Section, page},
    state::WebState,
};

pub(crate) use charts::RecentDays;
pub(crate) use search::verified::VerifiedNames;

pub(crate) type App = Arc<WebState>;

/// The patterns of all pages, assets and redirects, for metrics.
pub const ROUTES: [&str; 40] = [
    "/",
    "/blocks",
    "/block/{id}",
    "/transactions",
    "/tx/{hash}",
    "/tx/{hash}/input",
    "/tx/{hash}/calls",
    "/tx/{hash}/state",
    "/transfers",
    "/address/{address}",
    "/accounts",
    "/tokens",
    "/token/{address}",
    "/token/{address}/{id}",
    "/token/{address}/{id}/image",
    "/trades",
    "/charts",
    "/gas",
    "/contracts",
    "/address/{address}/call",
    "/address/{address}/encode",
    "/verify",
    "/verify/compilers",
    "/keys",
    "/webhooks",
    "/search",
    "/search/suggest",
    "/verify-ui/jobs/{id}",
    "/repo-ui/{chain}/{address}",
    "/robots.txt",
    "/sitemap.xml",
    "/sitemap/{name}",
    "/txs",
    "/blocks/{id}",
    "/transactions/{hash}",
    "/addresses/{address}",
    "/tokens/{address}",
    "/assets/{name}",
    "/favicon.ico",
    "/favicon.svg",
];

pub(crate) fn router() -> Router<App> {
    Router::new()
        .route("/", get(home::show))
        .route("/blocks", get(blocks::show))
        .route("/block/{id}", get(block::show))
        .route("/transactions", get(transactions::show))
        .route("/tx/{hash}", get(transaction::show))
        .route("/tx/{hash}/input", get(transaction::show_input))
        .route("/tx/{hash}/calls", get(call_tree::show))
        .route("/tx/{hash}/state", get(state_changes::show))
        .route("/transfers", get(transfers::show))
        .route("/address/{address}", get(address::show))
        .route("/accounts", get(accounts::show))
        .route("/tokens", get(tokens::show))
        .route("/token/{address}", get(token::show))
        .route("/token/{address}/{id}", get(nft::show))
        .route("/token/{address}/{id}/image", get(nft_metadata::show_image))
        .route("/trades", get(trades::show))
        .route("/charts", get(charts::show))
        .route("/gas", get(gas::show))
        .route("/contracts", get(contracts::show))
        .route("/address/{address}/call", post(calls::call).layer(DefaultBodyLimit::max(calls::MAX_BYTES)))
        .route("/address/{address}/encode", post(calls::encode).layer(DefaultBodyLimit::max(calls::MAX_BYTES)))
        .route("/verify", get(verify::show_form).post(verify::submit).layer(DefaultBodyLimit::max(verify::MAX_BYTES)))
        .route("/verify/compilers", get(verify::list_compilers))
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
        .route("/robots.txt", get(sitemap::show_robots))
        .route("/sitemap.xml", get(sitemap::show_index))
        .route("/sitemap/{name}", get(sitemap::show_file))
        .route("/txs", get(async |RawQuery(query)| moved("/transactions", query)))
        .route(
            "/blocks/{id}",
            get(async |Path(id): Path<String>, RawQuery(query)| moved(&format!("/block/{}", alphanumeric(&id)), query)),
        )
        .route(
            "/transactions/{hash}",
            get(async |Path(hash): Path<String>| Redirect::permanent(&format!("/tx/{}", alphanumeric(&hash)))),
        )
        .route(
            "/addresses/{address}",
            get(async |Path(address): Path<String>, RawQuery(query)| {
                moved(&format!("/address/{}", alphanumeric(&address)), query)
            }),
        )
        .route(
            "/tokens/{address}",
            get(async |Path(address): Path<String>, RawQuery(query)| {
                moved(&format!("/token/{}", alphanumeric(&address)), query)
            }),
        )
}

/// Redirects to the new path of a page, with the same query.
fn moved(path: &str, query: Option<String>) -> Redirect {
    match query.filter(|query| query.bytes().all(|byte| byte.is_ascii_graphic())) {
        Some(query) => Redirect::permanent(&format!("{path}?{query}")),
        None => Redirect::permanent(path),
    }
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
    async fn not_found(&self, what: &str, advice: impl Into<String>) -> Result<Response, PageError> {
        let frame = self.frame(what, Section::None).await;
        let body = page(&NotFound { frame, what: what.to_owned(), advice: advice.into() })?;
        Ok((StatusCode::NOT_FOUND, body).into_response())
    }
}

pub(crate) async fn show_not_found(State(app): State<App>) -> Result<Response, PageError> {
    app.not_found("No such page", "There is no page at this URL.").await
}
