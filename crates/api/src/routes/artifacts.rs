//! Compiler output of verified contracts.

use axum::extract::State;
use domain::{Address, Artifacts, VerifiedCode};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::contracts::code_hash;
use crate::{
    ApiState,
    document::{BadParameter, NoArtifact, NotVerified, Unavailable},
    error::ApiError,
    json_response::{Freshness, JsonResponse},
    params::{AddressInPath, ValidPath},
    state::App,
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

/// Metadata of a verified contract
///
/// Byte for byte as the compiler wrote it: for an exact match, its hash is part of the code.
#[utoipa::path(
    get,
    path = "/contracts/{address}/metadata",
    tag = "contracts",
    params(AddressInPath),
    responses(
        (status = 200, description = "The metadata", body = wire::CompilerJson),
        BadParameter,
        NoArtifact,
        Unavailable
    )
)]
async fn get_contract_metadata(
    State(app): State<App>,
    ValidPath(address): ValidPath<Address>,
) -> Result<JsonResponse<wire::CompilerJson>, ApiError> {
    artifact(&app, address, "metadata", "its compiler provides none", |artifacts| Some(artifacts.metadata)).await
}

/// Storage layout of a verified contract
#[utoipa::path(
    get,
    path = "/contracts/{address}/storage-layout",
    tag = "contracts",
    params(AddressInPath),
    responses(
        (status = 200, description = "The layout", body = wire::CompilerJson),
        BadParameter,
        NoArtifact,
        Unavailable
    )
)]
async fn get_contract_storage_layout(
    State(app): State<App>,
    ValidPath(address): ValidPath<Address>,
) -> Result<JsonResponse<wire::CompilerJson>, ApiError> {
    let reason = "compilers provide it since 0.5.13";
    artifact(&app, address, "storage layout", reason, |artifacts| artifacts.storage_layout).await
}

/// User documentation of a verified contract (NatSpec)
#[utoipa::path(
    get,
    path = "/contracts/{address}/userdoc",
    tag = "contracts",
    params(AddressInPath),
    responses(
        (status = 200, description = "The documentation", body = wire::CompilerJson),
        BadParameter,
        NoArtifact,
        Unavailable
    )
)]
async fn get_contract_userdoc(
    State(app): State<App>,
    ValidPath(address): ValidPath<Address>,
) -> Result<JsonResponse<wire::CompilerJson>, ApiError> {
    artifact(&app, address, "user documentation", "its compiler provides none", |artifacts| artifacts.userdoc).await
}

/// Developer documentation of a verified contract (NatSpec)
#[utoipa::path(
    get,
    path = "/contracts/{address}/devdoc",
    tag = "contracts",
    params(AddressInPath),
    responses(
        (status = 200, description = "The documentation", body = wire::CompilerJson),
        BadParameter,
        NoArtifact,
        Unavailable
    )
)]
async fn get_contract_devdoc(
    State(app): State<App>,
    ValidPath(address): ValidPath<Address>,
) -> Result<JsonResponse<wire::CompilerJson>, ApiError> {
    artifact(&app, address, "developer documentation", "its compiler provides none", |artifacts| artifacts.devdoc).await
}

/// Standard JSON input of a verified contract
#[utoipa::path(
    get,
    path = "/contracts/{address}/standard-json",
    tag = "contracts",
    params(AddressInPath),
    responses(
        (status = 200, description = "It compiles to the code with the contract's `compilerVersion`", body = wire::StandardJsonInput),
        BadParameter,
        NotVerified,
        Unavailable
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
