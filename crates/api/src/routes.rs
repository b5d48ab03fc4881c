//! The routes, one file per resource, each with its `router()`.

mod accounts;
mod addresses;
mod approvals;
mod artifacts;
mod balance_history;
mod blocks;
mod contracts;
mod docs;
mod health;
mod internal_transactions;
mod keys;
mod logs;
mod nfts;
mod openapi;
mod query;
mod stats;
mod stream;
mod tokens;
mod transactions;
mod verify;
mod webhooks;

pub(crate) use docs::{list_routes as list_docs_routes, router as docs_router};
pub(crate) use openapi::OpenApiDocument;
use utoipa_axum::router::OpenApiRouter;

use crate::{document, state::App};

/// All routes with their OpenAPI descriptions.
pub(crate) fn router() -> OpenApiRouter<App> {
    let v1 = OpenApiRouter::new()
        .merge(stats::router())
        .merge(stream::router())
        .merge(blocks::router())
        .merge(transactions::router())
        .merge(internal_transactions::router())
        .merge(logs::router())
        .merge(tokens::router())
        .merge(nfts::router())
        .merge(approvals::router())
        .merge(addresses::router())
        .merge(balance_history::router())
        .merge(accounts::router())
        .merge(query::router())
        .merge(verify::router())
        .merge(contracts::router())
        .merge(artifacts::router())
        .merge(keys::router())
        .merge(webhooks::router())
        .merge(openapi::router());
    OpenApiRouter::with_openapi(document::introduction()).nest("/api/v1", v1).merge(health::router())
}
