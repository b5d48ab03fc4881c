use axum::extract::State;
use clients::Client;
use contracts::{Verdict, VerifyClient, VerifyError};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::App;
use crate::{
    clock::unix_millis_now,
    document::{BadSource, CompilersUnavailable, InProgress, NoCode, NoList, TooManyVerifications},
    error::ApiError,
    json_response::{Freshness, JsonResponse},
    keys::Caller,
    params::ValidBody,
    wire,
};

pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(verify_contract)).routes(routes!(list_compilers))
}

/// Verifies a contract's source code
///
/// The compiler settings are inferred from the code on the chain. If the source does not compile to that code, the response
/// says what differs. May take a minute. Verifications are scheduled fairly between clients: a client without a key may have
/// one running and two queued, a client with a key two and four.
#[utoipa::path(
    post,
    path = "/verify",
    tag = "contracts",
    request_body = wire::VerifyRequest,
    responses(
        (status = 200, description = "Whether the source compiles to the code", body = wire::VerifyResponse),
        BadSource,
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
    ValidBody(request): ValidBody<wire::VerifyRequest>,
) -> Result<JsonResponse<wire::VerifyResponse>, ApiError> {
    let address = request.address;
    let client = VerifyClient { site: client.address(), owner: caller.owner() };
    let verdict = app.verifier.verify(client, request.into(), unix_millis_now()).await?;
    if let Verdict::Verified { contract, kept, .. } = &verdict {
        tracing::info!(%address, name = contract.code.name, ?kept, "contract verified");
    }
    Ok(JsonResponse::new(wire::VerifyResponse::new(address, &verdict), Freshness::Momentary))
}

/// Compilers available for verification, newest first
#[utoipa::path(
    get,
    path = "/verify/compilers",
    tag = "contracts",
    responses(
        (status = 200, description = "Installed compilers, and those that are downloaded when first needed", body = wire::CompilerList),
        NoList
    )
)]
async fn list_compilers(State(app): State<App>) -> Result<JsonResponse<wire::CompilerList>, ApiError> {
    let available = app.verifier.compilers().available().await.map_err(VerifyError::from)?;
    Ok(JsonResponse::new(available.into(), Freshness::Momentary))
}
