use axum::extract::State;
use contracts::Verdict;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::App;
use crate::{
    answer::{Answer, Freshness},
    clock::unix_millis_now,
    document::{BadSource, CompilersUnavailable, NoCode, UnderWay},
    error::ApiError,
    params::ValidBody,
    wire,
};

pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(verify_contract))
}

/// Verifies a contract's source code
///
/// The settings are found from the code on the chain; a source that does not give that code is answered with what
/// differs. May take a minute.
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
        CompilersUnavailable
    )
)]
async fn verify_contract(
    State(app): State<App>,
    ValidBody(request): ValidBody<wire::VerifyRequest>,
) -> Result<Answer<wire::VerifyAnswer>, ApiError> {
    let address = request.address;
    let verdict = app.verifier.verify(request.into(), unix_millis_now()).await?;
    if let Verdict::Verified { contract, kept, .. } = &verdict {
        tracing::info!(%address, name = contract.code.name, ?kept, "contract verified");
    }
    Ok(Answer::new(wire::VerifyAnswer::new(address, &verdict), Freshness::Momentary))
}
