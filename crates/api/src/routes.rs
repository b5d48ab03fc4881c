//! The routes, one file per resource, each with its `router()`.

mod accounts;
mod addresses;
mod approvals;
mod artifacts;
mod balance_history;
mod blocks;
mod contracts;
mod credits;
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
mod user_operations;
mod verify;
mod webhooks;

pub(crate) use openapi::OpenApiDocument;
use utoipa_axum::router::OpenApiRouter;

use crate::{document, layers::IndexResources, state::App};

/// What is read from the index: a response stands for a block.
fn index_router() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .merge(stats::router())
        .merge(blocks::router())
        .merge(credits::router())
        .merge(transactions::router())
        .merge(user_operations::router())
        .merge(internal_transactions::router())
        .merge(logs::router())
        .merge(tokens::router())
        .merge(nfts::router())
        .merge(approvals::router())
        .merge(addresses::router())
        .merge(balance_history::router())
        .merge(query::router())
        .merge(contracts::router())
        .merge(artifacts::router())
}

pub(crate) fn index_resources() -> IndexResources {
    IndexResources::of(index_router().into_openapi().paths.paths.keys().map(String::as_str))
}

/// All routes with their OpenAPI descriptions.
pub(crate) fn router() -> OpenApiRouter<App> {
    let v1 = index_router()
        .merge(stream::router())
        .merge(accounts::router())
        .merge(verify::router())
        .merge(keys::router())
        .merge(webhooks::router())
        .merge(openapi::router());
    OpenApiRouter::with_openapi(document::introduction()).nest("/api/v1", v1).merge(health::router())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_of_the_index_are_recognized() {
        let resources = index_resources();
        for path in
            ["/api/v1/blocks", "/api/v1/blocks/7", "/api/v1/query", "/api/v1/addresses/0x0/tokens", "/api/v1/logs"]
        {
            assert!(resources.contain(path), "{path}");
        }
        for path in
            ["/api/v1/keys", "/api/v1/accounts", "/api/v1/blocksx", "/api/v1/openapi.json", "/blocks", "/api/v1"]
        {
            assert!(!resources.contain(path), "{path}");
        }
    }
}
