//! Sourcify's API v2, under `/sourcify`.

mod contract;
mod error;
mod fields;
mod jobs;
mod lists;
mod paths;
mod submission;

use std::sync::Arc;

use admission::Area;
use api::dialect::{Dialect, DialectAdmission, DialectRules};
use axum::{
    Router,
    response::IntoResponse,
    routing::{MethodRouter, get, post},
};

use self::error::SourcifyError;
use crate::app::App;

pub(crate) const ROOT: &str = "/sourcify";
/// All routes below the root, with their patterns.
fn routes() -> [(&'static str, MethodRouter<Arc<App>>); 11] {
    [
        ("/v2/contract/{chain}/{address}", get(contract::get_contract)),
        ("/v2/contract/all-chains/{address}", get(lists::list_chains_of_contract)),
        ("/v2/contracts/{chain}", get(lists::list_contracts)),
        ("/v2/verify/{chain}", get(jobs::get_job)),
        ("/v2/verify/{chain}/{address}", post(submission::verify_standard_json)),
        ("/v2/verify/metadata/{chain}/{address}", post(submission::verify_metadata)),
        ("/v2/verify/similarity/{chain}/{address}", post(submission::verify_similarity)),
        ("/chains", get(lists::list_chains)),
        ("/health", get(async || "Alive and kicking!")),
        ("/verify-ui/jobs/{id}", get(jobs::show_job)),
        ("/repo-ui/{chain}/{address}", get(contract::show_contract)),
    ]
}

/// The patterns of all routes, for metrics.
pub(crate) fn list_routes() -> impl Iterator<Item = String> {
    routes().into_iter().map(|(pattern, _)| format!("{ROOT}{pattern}"))
}

pub(crate) fn dialect(app: Arc<App>) -> Dialect {
    let routes = routes().into_iter().fold(Router::new(), |router, (pattern, methods)| router.route(pattern, methods));
    Dialect {
        routes: Router::new().nest(ROOT, routes).with_state(app),
        rules: DialectRules {
            owns: |path| path.strip_prefix(ROOT).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
            admission: DialectAdmission::Header(Area::Sourcify),
            write_problem: |problem| SourcifyError::of_problem(problem).into_response(),
        },
    }
}
