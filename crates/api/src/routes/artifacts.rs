//! What a compiler gives beside the code of a contract.

use axum::extract::State;
use domain::{Address, Artifacts, VerifiedCode};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{App, contracts::code_hash};
use crate::{
    ApiState,
    document::{BadParameter, NoArtifact, NodeOrIndexUnavailable, NotModified, NotVerified},
    error::ApiError,
    json_response::{Freshness, JsonResponse},
    params::{AddressInPath, ValidPath},
    wire,
};

pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(get_contract_metadata))
        .routes(routes!(get_contract_storage_layout))
        .routes(routes!(get_contract_userdoc))
        .routes(routes!(get_contract_devdoc))
        .routes(routes!(get_contract_standard_json))
}

/// The compiler's metadata of a verified contract
///
/// To the byte: where the match is exact, its hash stands in the code.
#[utoipa::path(
    get,
    path = "/contracts/{address}/metadata",
    tag = "contracts",
    params(AddressInPath),
    responses(
        (status = 200, description = "The metadata", body = wire::CompilerJson),
        NotModified,
        BadParameter,
        NoArtifact,
        NodeOrIndexUnavailable
    )
)]
async fn get_contract_metadata(
    State(app): State<App>,
    ValidPath(address): ValidPath<Address>,
) -> Result<JsonResponse<wire::CompilerJson>, ApiError> {
    artifact(&app, address, "metadata", "the compiler gave none", |artifacts| Some(artifacts.metadata)).await
}

/// Where a verified contract keeps what in its storage
#[utoipa::path(
    get,
    path = "/contracts/{address}/storage-layout",
    tag = "contracts",
    params(AddressInPath),
    responses(
        (status = 200, description = "The storage layout", body = wire::CompilerJson),
        NotModified,
        BadParameter,
        NoArtifact,
        NodeOrIndexUnavailable
    )
)]
async fn get_contract_storage_layout(
    State(app): State<App>,
    ValidPath(address): ValidPath<Address>,
) -> Result<JsonResponse<wire::CompilerJson>, ApiError> {
    let reason = "compilers give it from 0.5.13 on";
    artifact(&app, address, "storage layout", reason, |artifacts| artifacts.storage_layout).await
}

/// What a verified contract says to those who use it
#[utoipa::path(
    get,
    path = "/contracts/{address}/userdoc",
    tag = "contracts",
    params(AddressInPath),
    responses(
        (status = 200, description = "The documentation for users", body = wire::CompilerJson),
        NotModified,
        BadParameter,
        NoArtifact,
        NodeOrIndexUnavailable
    )
)]
async fn get_contract_userdoc(
    State(app): State<App>,
    ValidPath(address): ValidPath<Address>,
) -> Result<JsonResponse<wire::CompilerJson>, ApiError> {
    artifact(&app, address, "documentation for users", "the compiler gave none", |artifacts| artifacts.userdoc).await
}

/// What a verified contract says to developers
#[utoipa::path(
    get,
    path = "/contracts/{address}/devdoc",
    tag = "contracts",
    params(AddressInPath),
    responses(
        (status = 200, description = "The documentation for developers", body = wire::CompilerJson),
        NotModified,
        BadParameter,
        NoArtifact,
        NodeOrIndexUnavailable
    )
)]
async fn get_contract_devdoc(
    State(app): State<App>,
    ValidPath(address): ValidPath<Address>,
) -> Result<JsonResponse<wire::CompilerJson>, ApiError> {
    artifact(&app, address, "documentation for developers", "the compiler gave none", |artifacts| artifacts.devdoc)
        .await
}

/// Standard JSON input that compiles to the code of a verified contract
#[utoipa::path(
    get,
    path = "/contracts/{address}/standard-json",
    tag = "contracts",
    params(AddressInPath),
    responses(
        (status = 200, description = "The input, for the compiler that `compilerVersion` of the contract names", body = wire::StandardJsonInput),
        NotModified,
        BadParameter,
        NotVerified,
        NodeOrIndexUnavailable
    )
)]
async fn get_contract_standard_json(
    State(app): State<App>,
    ValidPath(address): ValidPath<Address>,
) -> Result<JsonResponse<wire::StandardJsonInput>, ApiError> {
    let code = find_code(&app, address).await?;
    Ok(JsonResponse::new(code.into(), Freshness::UntilNextBlock))
}

async fn find_code(app: &ApiState, address: Address) -> Result<VerifiedCode, ApiError> {
    let found = app.verified.find_verified(address, code_hash(app, address).await?).await?;
    Ok(found.ok_or(ApiError::ContractNotVerified)?.code)
}

async fn artifact(
    app: &ApiState,
    address: Address,
    artifact: &'static str,
    reason: &'static str,
    pick: impl FnOnce(Artifacts) -> Option<String>,
) -> Result<JsonResponse<wire::CompilerJson>, ApiError> {
    let text = pick(find_code(app, address).await?.artifacts);
    let json = text.and_then(wire::CompilerJson::new).ok_or(ApiError::NoArtifact { artifact, reason })?;
    Ok(JsonResponse::new(json, Freshness::UntilNextBlock))
}
