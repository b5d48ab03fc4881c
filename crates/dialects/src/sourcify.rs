//! Sourcify's API v2, under `/sourcify`.

mod contract;
mod error;
mod fields;
mod jobs;
mod lists;
mod paths;
mod submission;

use std::sync::Arc;

use api::dialect::{Dialect, DialectAdmission, DialectRules};
use axum::{
    Router,
    http::Method,
    response::IntoResponse,
    routing::{get, post},
};

use self::error::SourcifyError;
use crate::app::App;

pub(crate) const ROOT: &str = "/sourcify";
/// The patterns of all routes below the root, for metrics.
pub(crate) const ROUTES: [&str; 11] = [
    "/v2/contract/{chain}/{address}",
    "/v2/contract/all-chains/{address}",
    "/v2/contracts/{chain}",
    "/v2/verify/{chain}",
    "/v2/verify/{chain}/{address}",
    "/v2/verify/metadata/{chain}/{address}",
    "/v2/verify/similarity/{chain}/{address}",
    "/chains",
    "/health",
    "/verify-ui/jobs/{id}",
    "/repo-ui/{chain}/{address}",
];

pub(crate) fn dialect(app: Arc<App>) -> Dialect {
    let routes = Router::new()
        .route("/v2/contract/{chain}/{address}", get(contract::get_contract))
        .route("/v2/contract/all-chains/{address}", get(lists::list_chains_of_contract))
        .route("/v2/contracts/{chain}", get(lists::list_contracts))
        .route("/v2/verify/{chain}", get(jobs::get_job))
        .route("/v2/verify/{chain}/{address}", post(submission::verify_standard_json))
        .route("/v2/verify/metadata/{chain}/{address}", post(submission::verify_metadata))
        .route("/v2/verify/similarity/{chain}/{address}", post(submission::verify_similarity))
        .route("/chains", get(lists::list_chains))
        .route("/health", get(async || "Alive and kicking!"))
        .route("/verify-ui/jobs/{id}", get(jobs::show_job))
        .route("/repo-ui/{chain}/{address}", get(contract::show_contract));
    Dialect {
        routes: Router::new().nest(ROOT, routes).with_state(app),
        rules: DialectRules {
            owns: |path| path.strip_prefix(ROOT).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
            admission: DialectAdmission::Header { is_unlimited },
            write_problem: |problem| SourcifyError::of_problem(problem).into_response(),
        },
    }
}

/// Polls are not counted: tools send one every few seconds.
fn is_unlimited(method: &Method, path: &str) -> bool {
    let path = path.strip_prefix(ROOT).unwrap_or_default();
    *method == Method::GET && (path.starts_with("/v2/verify/") || path.starts_with("/verify-ui/") || path == "/health")
}
