//! Etherscan's API: `GET` and `POST` on `/api` and `/v2/api`, with `module` and `action` as parameters.
//!
//! Every response has the HTTP status 200 and an envelope, since clients fail on anything else.

mod account;
mod answer;
mod block;
mod contract;
mod coverage;
pub(crate) mod fuzzing;
mod gas_tracker;
mod internal;
mod logs;
mod multipart;
mod params;
mod price;
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

use admission::long_bodies;
use api::{
    dialect::{Dialect, DialectAdmission, DialectRules, Entry},
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
    params::{Form, Params},
    sender::Sender,
};
use crate::{app::App, error::DialectError};

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
    let form = Form::receive(gate, client, &head, body).await;
    // A long form is paid for before it is parsed.
    let paid = match &form {
        Ok(form) if form.is_long() => {
            let key = form.find_key().filter(|key| key.starts_with(KEY_PREFIX));
            Some(gate.check(client, key.as_deref(), price::form_cost(form.len())).await)
        }
        Ok(_) | Err(_) => None,
    };
    if let Some(entry) = &paid
        && let Err(problem) = &entry.owner
    {
        return refuse(entry, problem);
    }
    let params = match form {
        Ok(form) => parse(client, form).await,
        Err(failure) => Err(failure),
    };
    let entry = match (paid, &params) {
        (Some(paid), _) => paid,
        (None, Ok(params)) if price::is_free(params) => gate.check_free(client).await,
        (None, Ok(params)) => {
            // Whatever is not a key of this service is a placeholder that a tool insists on.
            let key = params.api_key().filter(|key| key.starts_with(KEY_PREFIX));
            // A request that will be refused needs no price.
            let may_pass = gate.has_room(client, key).await;
            let cost = if may_pass { price::cost(&app, params).await } else { 1 };
            gate.check(client, key, cost).await
        }
        (None, Err(_)) => gate.check(client, None, 1).await,
    };
    let mut response = match (&entry.owner, params) {
        (Err(problem), _) => return refuse(&entry, problem),
        (_, Err(failure)) => failure.into_response(),
        (Ok(owner), Ok(params)) => match dispatch(&app, Sender { client, owner: *owner }, &params).await {
            Ok(answer) => answer.into_response(),
            Err(failure) => failure.into_response(),
        },
    };
    entry.write_headers(response.headers_mut());
    response
}

fn refuse(entry: &Entry, problem: &Problem) -> Response {
    let mut response = Failure::from(problem.clone()).into_response();
    entry.write_headers(response.headers_mut());
    response
}

/// Short forms are parsed at once, long ones on a thread of their own, and only a few at a time.
async fn parse(client: Client, form: Form) -> Result<Params, Failure> {
    if !form.is_long() {
        return form.parse();
    }
    let _permit = long_bodies::parsing(client).await.map_err(|_| DialectError::Busy)?;
    let params = tokio::task::spawn_blocking(move || form.parse()).await;
    let params = params.map_err(|_| Failure::text("Error! The form cannot be read"))??;
    let is_verification = params.find("action").is_some_and(|action| action.eq_ignore_ascii_case("verifysourcecode"));
    if is_verification { Ok(params) } else { Err(Failure::text("Error! The form is too long for this action")) }
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
        "account" => account::dispatch(app, sender.client, &action, params).await,
        "logs" => logs::dispatch(app, sender.client, &action, params).await,
        "block" => block::dispatch(app, &action, params).await,
        "transaction" => transaction::dispatch(app, &action, params).await,
        "stats" => stats::dispatch(app, &action, params).await,
        "token" => token::dispatch(app, &action, params).await,
        "gastracker" => gas_tracker::dispatch(app, &action, params).await,
        "proxy" => proxy::dispatch(app, sender.client, &action, params).await,
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
