use axum::extract::State;
use contracts::{Verdict, VerifyClient, VerifyError};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::App;
use crate::{
    clock::unix_millis_now,
    document::{BadSource, CompilersUnavailable, NoCode, NoList, TooManyVerifications, UnderWay},
    error::ApiError,
    json_response::{Freshness, JsonResponse},
    keys::Caller,
    limits::Client,
    params::ValidBody,
    wire,
};

pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(verify_contract)).routes(routes!(list_compilers))
}

/// Verifies a contract's source code
///
/// The settings are found from the code on the chain; a source that does not give that code is answered with what
/// differs. May take a minute. Turns go round over clients: one without a key has one verification running and two
/// waiting at most, one with a key two and four.
#[utoipa::path(
    post,
    path = "/verify",
    tag = "contracts",
    request_body = wire::VerifyRequest,
    responses(
        (status = 200, description = "Whether the source gives the code", body = wire::VerifyAnswer),
        BadSource,
        NoCode,
        UnderWay,
        TooManyVerifications,
        CompilersUnavailable
    )
)]
async fn verify_contract(
    State(app): State<App>,
    client: Client,
    caller: Caller,
    ValidBody(request): ValidBody<wire::VerifyRequest>,
) -> Result<JsonResponse<wire::VerifyAnswer>, ApiError> {
    let address = request.address;
    let client = VerifyClient { site: client.address(), owner: caller.owner() };
    let verdict = app.verifier.verify(client, request.into(), unix_millis_now()).await?;
    if let Verdict::Verified { contract, kept, .. } = &verdict {
        tracing::info!(%address, name = contract.code.name, ?kept, "contract verified");
    }
    Ok(JsonResponse::new(wire::VerifyAnswer::new(address, &verdict), Freshness::Momentary))
}

/// Lists the compilers that sources can be verified with, newest first
#[utoipa::path(
    get,
    path = "/verify/compilers",
    tag = "contracts",
    responses(
        (status = 200, description = "Compilers that are at hand, and those that are fetched when they are first needed", body = wire::CompilerList),
        NoList
    )
)]
async fn list_compilers(State(app): State<App>) -> Result<JsonResponse<wire::CompilerList>, ApiError> {
    let available = app.verifier.compilers().available().await.map_err(VerifyError::from)?;
    Ok(JsonResponse::new(available.into(), Freshness::Momentary))
}
