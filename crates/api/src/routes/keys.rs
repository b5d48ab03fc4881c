use axum::{extract::State, http::StatusCode};
use client_address::Client;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    document::{BadBody, BadParameter, BadProof, KeyConflict, NeedsKey, NoSuchKey, NotOwner, Unavailable},
    error::ApiError,
    json_response::{Freshness, JsonResponse},
    keys::{Caller, OwnerGuard},
    node_call::NodeCall,
    params::{KeyIdParam, OwnerParams, ValidBody, ValidPath, ValidQuery},
    state::App,
    wire,
};

pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list_keys, create_key)).routes(routes!(revoke_key))
}

/// Keys of an owner
#[utoipa::path(
    get,
    path = "/keys",
    tag = "keys",
    params(OwnerParams),
    responses(
        (status = 200, description = "The keys", body = wire::ApiKeyList),
        BadParameter,
        NeedsKey,
        NotOwner
    )
)]
async fn list_keys(
    State(app): State<App>,
    guard: OwnerGuard,
    ValidQuery(params): ValidQuery<OwnerParams>,
) -> Result<JsonResponse<wire::ApiKeyList>, ApiError> {
    guard.must_be(params.owner)?;
    let keys = app.keys.list(params.owner).await?;
    Ok(JsonResponse::new(keys.into(), Freshness::Momentary))
}

/// Creates a key for a signature of the owner's wallet
#[utoipa::path(
    post,
    path = "/keys",
    tag = "keys",
    request_body = wire::NewKeyRequest,
    responses(
        (status = 201, description = "The full key, which is shown only once", body = wire::CreatedKey),
        BadBody,
        BadProof,
        KeyConflict,
        Unavailable
    )
)]
async fn create_key(
    State(app): State<App>,
    client: Client,
    ValidBody(request): ValidBody<wire::NewKeyRequest>,
) -> Result<(StatusCode, JsonResponse<wire::CreatedKey>), ApiError> {
    // Contract wallets are asked about signatures.
    let _permit = NodeCall::by(&app, client).await?;
    let proof = request.proof();
    let issued = app.issuer.issue(proof, &request.signature, request.label, unix_time::millis()).await?;
    tracing::info!(id = issued.key.id, owner = %issued.key.owner, "key issued");
    Ok((StatusCode::CREATED, JsonResponse::new(issued.into(), Freshness::Momentary)))
}

/// Revokes a key
///
/// It stays in the list, with `active` false. Revoking it again has no effect.
#[utoipa::path(
    delete,
    path = "/keys/{id}",
    tag = "keys",
    params(("id" = usize, Path, minimum = 0, example = 7)),
    responses(
        (status = 200, description = "The key is revoked", body = wire::RevokedKey),
        BadParameter,
        NeedsKey,
        NoSuchKey
    )
)]
async fn revoke_key(
    State(app): State<App>,
    caller: Caller,
    ValidPath(KeyIdParam(id)): ValidPath<KeyIdParam>,
) -> Result<JsonResponse<wire::RevokedKey>, ApiError> {
    // Also with open owner access: only the owner may revoke a key.
    let owner = caller.must_have_key()?;
    let found = app.records.find_key(id).await?.filter(|key| key.owner == owner);
    let key = found.ok_or(ApiError::KeyNotFound)?;
    app.records.revoke_key(id).await?;
    app.keys.invalidate(&key.digest);
    tracing::info!(id, %owner, "key revoked");
    Ok(JsonResponse::new(wire::RevokedKey::new(id), Freshness::Momentary))
}
