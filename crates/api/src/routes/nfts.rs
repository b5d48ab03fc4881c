use axum::extract::State;
use domain::Address;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::App;
use crate::{
    document::{BadParameter, NoSuchToken, NoSuchTokenId, NotModified, Unavailable},
    error::ApiError,
    json_response::{Freshness, JsonResponse},
    params::{AddressInPath, Paging, TokenIdPath, ValidPath, ValidQuery},
    wire,
};

pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_token_ids))
        .routes(routes!(get_token_id))
        .routes(routes!(list_token_id_holders))
        .routes(routes!(list_token_id_transfers))
        .routes(routes!(list_address_nfts))
}

/// Ids of a BEP721 or BEP1155 token
///
/// Every id that was ever transferred, also burned ones; those that were first transferred last come first. Empty for a BEP20
/// token.
#[utoipa::path(
    get,
    path = "/tokens/{address}/ids",
    tag = "chain",
    params(AddressInPath, Paging),
    responses(
        (status = 200, description = "A page of ids", body = wire::NftList),
        NotModified,
        BadParameter,
        NoSuchToken,
        Unavailable
    )
)]
async fn list_token_ids(
    State(app): State<App>,
    ValidPath(token): ValidPath<Address>,
    ValidQuery(paging): ValidQuery<Paging>,
) -> Result<JsonResponse<wire::NftList>, ApiError> {
    let page = app.chain.list_nfts(token, paging.newest_first()).await?.ok_or(ApiError::TokenNotFound)?;
    Ok(JsonResponse::new(wire::NftList::new(&page, app.token_prefix, paging), Freshness::UntilNextBlock).cacheable())
}

/// One id of a BEP721 or BEP1155 token
#[utoipa::path(
    get,
    path = "/tokens/{address}/ids/{id}",
    tag = "chain",
    params(TokenIdPath),
    responses(
        (status = 200, description = "The id", body = wire::Nft),
        NotModified,
        BadParameter,
        NoSuchTokenId,
        Unavailable
    )
)]
async fn get_token_id(State(app): State<App>, path: TokenIdPath) -> Result<JsonResponse<wire::Nft>, ApiError> {
    let nft = app.chain.find_nft(path.token, path.id).await?.ok_or(ApiError::TokenIdNotFound)?;
    Ok(JsonResponse::new(wire::Nft::new(&nft, app.token_prefix), Freshness::UntilNextBlock).cacheable())
}

/// Holders of an id, largest amount first
///
/// For a BEP721 id, its owner.
#[utoipa::path(
    get,
    path = "/tokens/{address}/ids/{id}/holders",
    tag = "chain",
    params(TokenIdPath, Paging),
    responses(
        (status = 200, description = "A page of holders", body = wire::HolderList),
        NotModified,
        BadParameter,
        NoSuchTokenId,
        Unavailable
    )
)]
async fn list_token_id_holders(
    State(app): State<App>,
    path: TokenIdPath,
    ValidQuery(paging): ValidQuery<Paging>,
) -> Result<JsonResponse<wire::HolderList>, ApiError> {
    let page = app.chain.list_nft_holders(path.token, path.id, paging.newest_first()).await?;
    let page = page.ok_or(ApiError::TokenIdNotFound)?;
    Ok(JsonResponse::new(wire::HolderList::new(page, paging), Freshness::UntilNextBlock).cacheable())
}

/// Transfers of an id, newest first
#[utoipa::path(
    get,
    path = "/tokens/{address}/ids/{id}/transfers",
    tag = "chain",
    params(TokenIdPath, Paging),
    responses(
        (status = 200, description = "A page of transfers", body = wire::NftTransferList),
        NotModified,
        BadParameter,
        NoSuchTokenId,
        Unavailable
    )
)]
async fn list_token_id_transfers(
    State(app): State<App>,
    path: TokenIdPath,
    ValidQuery(paging): ValidQuery<Paging>,
) -> Result<JsonResponse<wire::NftTransferList>, ApiError> {
    let page = app.chain.list_nft_transfers(path.token, path.id, paging.newest_first()).await?;
    let page = page.ok_or(ApiError::TokenIdNotFound)?;
    let body = wire::NftTransferList::new(page, app.token_prefix, paging);
    Ok(JsonResponse::new(body, Freshness::UntilNextBlock).cacheable())
}

/// Ids of BEP721 and BEP1155 tokens held by an address
///
/// Those that were first transferred last come first. Empty for an address without such tokens or one that is not indexed.
#[utoipa::path(
    get,
    path = "/addresses/{address}/nfts",
    tag = "chain",
    params(AddressInPath, Paging),
    responses(
        (status = 200, description = "A page of ids with amounts", body = wire::HeldNftList),
        NotModified,
        BadParameter,
        Unavailable
    )
)]
async fn list_address_nfts(
    State(app): State<App>,
    ValidPath(address): ValidPath<Address>,
    ValidQuery(paging): ValidQuery<Paging>,
) -> Result<JsonResponse<wire::HeldNftList>, ApiError> {
    let page = app.chain.list_held_nfts(address, paging.newest_first()).await?;
    Ok(JsonResponse::new(wire::HeldNftList::new(page, app.token_prefix, paging), Freshness::UntilNextBlock).cacheable())
}
