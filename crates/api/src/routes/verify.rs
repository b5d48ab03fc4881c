use std::{sync::Arc, time::Duration};

use axum::{
    extract::State,
    http::{
        HeaderMap, HeaderName, HeaderValue, StatusCode,
        header::{LOCATION, RETRY_AFTER},
    },
    response::{IntoResponse, Response},
};
use client_address::Client;
use domain::{Address, JobId};
use utoipa_axum::{router::OpenApiRouter, routes};
use verification::VerifyError;

use crate::{
    dialect::verify_client,
    document::{
        BadBody, BadParameter, CompilersUnavailable, InProgress, NoCode, NoList, NoSuchJob, TooManyVerifications,
    },
    error::ApiError,
    json_response::{Freshness, JsonResponse},
    keys::Caller,
    params::{ValidBody, ValidPath},
    state::App,
    wire,
};

const PREFER: HeaderName = HeaderName::from_static("prefer");
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");
const RESPOND_ASYNC: &str = "respond-async";
/// `Retry-After` of a job that has not ended: many take less.
const POLL_SECONDS: HeaderValue = HeaderValue::from_static("2");

pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(verify_contract))
        .routes(routes!(get_verify_job))
        .routes(routes!(list_compilers))
}

/// Verifies a contract's source code
///
/// May take a minute. A client without a key may have one verification running and two queued, a client with a key two and four.
/// Equal requests share one verification, which goes on if the client disconnects. With `Prefer: respond-async`, the response is
/// 202 with a job to poll.
#[utoipa::path(
    post,
    path = "/verify",
    tag = "contracts",
    params(("Prefer" = Option<String>, Header, example = "respond-async")),
    request_body = wire::VerifyRequest,
    responses(
        (status = 200, description = "The verdict", body = wire::VerifyResponse),
        (
            status = 202,
            description = "The job, with `Prefer: respond-async`",
            body = wire::VerifyJob,
            headers(
                ("Location" = String, description = "To poll"),
                ("Preference-Applied" = String),
                ("Retry-After" = String, description = "Seconds to wait before the first poll"),
            )
        ),
        BadBody,
        NoCode,
        InProgress,
        TooManyVerifications,
        CompilersUnavailable
    )
)]
async fn verify_contract(
    State(app): State<App>,
    client: Client,
    caller: Caller,
    headers: HeaderMap,
    ValidBody(request): ValidBody<wire::VerifyRequest>,
) -> Result<Response, ApiError> {
    let address = request.address;
    let client = verify_client(client, caller.owner());
    let job = app.jobs.submit(client, request.into()).await.map_err(|error| failure(address, Arc::new(error)))?;
    if prefers_async(&headers) {
        let body = JsonResponse::new(wire::VerifyJob::from(job.status()), Freshness::Momentary);
        let mut response = (StatusCode::ACCEPTED, body).into_response();
        let headers = response.headers_mut();
        if let Ok(location) = HeaderValue::try_from(format!("/api/v1/verify/jobs/{}", job.id())) {
            headers.insert(LOCATION, location);
        }
        headers.insert(PREFERENCE_APPLIED, HeaderValue::from_static(RESPOND_ASYNC));
        headers.insert(RETRY_AFTER, POLL_SECONDS);
        return Ok(response);
    }
    let end = job.wait().await;
    if let Some(error) = &end.error {
        return Err(failure(address, Arc::clone(error)));
    }
    Ok(JsonResponse::new(wire::VerifyResponse::new(address, &end.result), Freshness::Momentary).into_response())
}

/// The problem of a verification without a verdict.
fn failure(address: Address, error: Arc<VerifyError>) -> ApiError {
    match *error {
        VerifyError::NoCode => ApiError::NoBytecode { address },
        _ => ApiError::Verify(error),
    }
}

/// Whether the client prefers a job to waiting (RFC 7240).
fn prefers_async(headers: &HeaderMap) -> bool {
    let preferences = headers.get_all(PREFER).iter().filter_map(|value| value.to_str().ok());
    preferences
        .flat_map(|value| value.split(','))
        .any(|preference| preference.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(RESPOND_ASYNC))
}

/// A verification job
///
/// Jobs are kept for a week. Not rate limited.
#[utoipa::path(
    get,
    path = "/verify/jobs/{id}",
    tag = "contracts",
    params((
        "id" = String,
        Path,
        pattern = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$",
        example = "9f4c2a77-52c1-4d0e-8a4e-0d3f8a0b6c11"
    )),
    responses(
        (status = 200, description = "The job", body = wire::VerifyJob),
        BadParameter,
        NoSuchJob
    )
)]
async fn get_verify_job(
    State(app): State<App>,
    ValidPath(id): ValidPath<JobId>,
) -> Result<JsonResponse<wire::VerifyJob>, ApiError> {
    let job = app.jobs.find(id, Duration::ZERO).await?.ok_or(ApiError::JobNotFound)?;
    Ok(JsonResponse::new(job.into(), Freshness::Momentary))
}

/// Compilers available for verification, newest first
#[utoipa::path(
    get,
    path = "/verify/compilers",
    tag = "contracts",
    responses(
        (status = 200, description = "The compilers", body = wire::CompilerList),
        NoList
    )
)]
async fn list_compilers(State(app): State<App>) -> Result<JsonResponse<wire::CompilerList>, ApiError> {
    let available = app.jobs.verifier().compilers().available().await.map_err(VerifyError::from)?;
    Ok(JsonResponse::new(available.into(), Freshness::Momentary))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_asynchronous_response_is_preferred_by_its_token() {
        let prefers =
            |value: &'static str| prefers_async(&HeaderMap::from_iter([(PREFER, HeaderValue::from_static(value))]));
        assert!(prefers("respond-async") && prefers("wait=10, Respond-Async; x=1"));
        assert!(!prefers("") && !prefers("wait=respond-async") && !prefers("respond-asynchronously"));
        assert!(!prefers_async(&HeaderMap::new()));
    }
}
