use admission::Permit;
use axum::{extract::FromRequestParts, http::request::Parts};
use client_address::Client;

use crate::{error::ApiError, state::App};

/// Permission to call the node for the client of a request: pages and dialects have theirs of the same few. An argument of a handler,
/// which holds it as long as it runs; none of those that read a body, since a client may send that slowly.
pub(crate) struct NodeCall {
    _permit: Permit<Client>,
}

impl NodeCall {
    pub(crate) async fn by(app: &App, client: Client) -> Result<Self, ApiError> {
        let permit = app.admission.page_budget.node_call_of(client).await;
        permit.map(|permit| Self { _permit: permit }).map_err(|_| ApiError::RateLimited {
            retry_after: 1,
            reason: "too many requests from this address wait for the node".to_owned(),
            advice: "",
        })
    }
}

impl FromRequestParts<App> for NodeCall {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let Ok(client) = Client::from_request_parts(parts, app).await;
        Self::by(app, client).await
    }
}
