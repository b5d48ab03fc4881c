//! Etherscan's API: `GET` and `POST` on `/api` and `/v2/api`, with `module` and `action` as parameters.
//!
//! Every response has the HTTP status 200 and an envelope, since clients fail on anything else.

mod account;
mod answer;
mod block;
mod contract;
pub(crate) mod fuzzing;
mod gas_tracker;
mod internal;
mod logs;
mod multipart;
mod params;
mod proxy;
mod rows;
mod sender;
mod stats;
mod token;
mod transaction;
mod transactions;
mod transfers;
mod withdrawals;

use std::sync::Arc;

use api::{
    dialect::{Dialect, DialectAdmission, DialectRules},
    wire::{Problem, ProblemCode},
};
use axum::{
    Router,
    extract::{FromRequestParts, Request, State},
    response::{IntoResponse, Response},
    routing::get,
};
use client_address::Client;

use self::{
    answer::{Answer, Failure},
    params::Params,
    sender::Sender,
};
use crate::app::App;

pub(crate) const PATHS: [&str; 4] = ["/api", "/api/", "/v2/api", "/v2/api/"];
const KEY_PREFIX: &str = "expl_";

pub(crate) fn dialect(app: Arc<App>) -> Dialect {
    let mut routes = Router::new();
    for path in PATHS {
        routes = routes.route(path, get(respond).post(respond));
    }
    Dialect {
        routes: routes.with_state(app),
        rules: DialectRules {
            owns: |path| PATHS.contains(&path),
            admission: DialectAdmission::Handler,
            write_problem: |problem| Failure::from(problem.clone()).into_response(),
        },
    }
}

async fn respond(State(app): State<Arc<App>>, request: Request) -> Response {
    let (mut head, body) = request.into_parts();
    let Ok(client) = Client::from_request_parts(&mut head, &()).await;
    let gate = &app.gate;
    let params = Params::read(gate, client, &head, body).await;
    let entry = match &params {
        Ok(params) if is_poll(params) => gate.check_uncounted(client).await,
        // Whatever is not a key of this service is a placeholder that a tool insists on.
        Ok(params) => gate.check(client, params.api_key().filter(|key| key.starts_with(KEY_PREFIX))).await,
        Err(_) => gate.check(client, None).await,
    };
    let mut response = match (&entry.owner, params) {
        (Err(problem), _) => Failure::from(problem.clone()).into_response(),
        (_, Err(failure)) => failure.into_response(),
        (Ok(owner), Ok(params)) => match dispatch(&app, Sender { client, owner: *owner }, &params).await {
            Ok(answer) => answer.into_response(),
            Err(failure) => failure.into_response(),
        },
    };
    entry.write_headers(response.headers_mut());
    response
}

/// Polls are not counted: tools send one every few seconds.
fn is_poll(params: &Params) -> bool {
    params.find("module") == Some("contract")
        && params.find("action").is_some_and(|action| {
            ["checkverifystatus", "checkproxyverification"].iter().any(|poll| action.eq_ignore_ascii_case(poll))
        })
}

async fn dispatch(app: &Arc<App>, sender: Sender, params: &Params) -> Result<Answer, Failure> {
    if let Some(given) = params.find("chainid") {
        let chain_id = app.chain_id().await?;
        if given.parse() != Ok(chain_id) {
            return Err(Failure::text(format!("Error! chainid {given} is not served here: this is chain {chain_id}")));
        }
    }
    let module = params.find("module").unwrap_or_default().to_ascii_lowercase();
    let action = params.find("action").unwrap_or_default().to_ascii_lowercase();
    match module.as_str() {
        "contract" => contract::dispatch(app, sender, &action, params).await,
        "account" => account::dispatch(app, &action, params).await,
        "logs" => logs::dispatch(app, &action, params).await,
        "block" => block::dispatch(app, &action, params).await,
        "transaction" => transaction::dispatch(app, &action, params).await,
        "stats" => stats::dispatch(app, &action, params).await,
        "token" => token::dispatch(app, &action, params).await,
        "gastracker" => gas_tracker::dispatch(app, &action, params).await,
        "proxy" => proxy::dispatch(app, &action, params).await,
        _ => Err(Failure::text("Error! Missing Or invalid Module name")),
    }
}

impl From<Problem> for Failure {
    /// With the words that clients look for.
    fn from(problem: Problem) -> Self {
        let detail = problem.detail;
        Self::text(match problem.code {
            ProblemCode::RateLimited => format!("Max rate limit reached, please respect the rate limit: {detail}"),
            ProblemCode::InvalidKey | ProblemCode::RevokedKey => format!("Invalid API Key: {detail}"),
            _ => format!("Error! {detail}"),
        })
    }
}
